"""What commands print besides their results: JSON for programs, notes for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from lockstep.files import spelled


def print_json(value: Any) -> None:
    """One line of JSON. It has no infinity: such numbers are spelled, as in a run's log.

    >>> print_json({"loss": 0.5, "perplexity": float("inf")})
    {"loss": 0.5, "perplexity": "inf"}
    """
    print(json.dumps(spelled(value), allow_nan=False))


def print_notes(notes: Iterable[str]) -> None:
    """What a person should know about a result, on stderr."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
