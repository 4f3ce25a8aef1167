"""How commands print for programs."""

from __future__ import annotations

import json
import math
from typing import Any


def print_json(value: Any) -> None:
    """One line of JSON. It has no infinity: such numbers are spelled, as in a run's log.

    >>> print_json({"loss": 0.5, "perplexity": math.inf})
    {"loss": 0.5, "perplexity": "inf"}
    """
    print(json.dumps(_spelled(value), allow_nan=False))


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _spelled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
