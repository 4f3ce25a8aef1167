"""How commands print for programs."""

from __future__ import annotations

import json
from typing import Any

from lockstep.files import spelled


def print_json(value: Any) -> None:
    """One line of JSON. It has no infinity: such numbers are spelled, as in a run's log.

    >>> print_json({"loss": 0.5, "perplexity": float("inf")})
    {"loss": 0.5, "perplexity": "inf"}
    """
    print(json.dumps(spelled(value), allow_nan=False))
