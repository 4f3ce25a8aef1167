"""Named arrays as safetensors, in the order they were given. Nothing is ever unpickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import safetensors
from safetensors.numpy import save

from lockstep.ops import Arrays


def to_bytes(arrays: Arrays, facts: Mapping[str, str]) -> bytes:
    """The content of a file; `facts` and the order of the names stand in its header."""
    # a sum over all weights, such as the gradient's norm, has other last bits in another order
    order = json.dumps(list(arrays))
    # ascontiguousarray alone would give a number without axes one of length 1
    whole = {n: np.ascontiguousarray(v).reshape(np.shape(v)) for n, v in arrays.items()}
    content: bytes = save(whole, metadata={**facts, "order": order})
    return content


def from_file(path: Path) -> tuple[Arrays, dict[str, str]]:
    """The arrays and facts of a file; raises OSError, ValueError or SafetensorError."""
    with safetensors.safe_open(path, framework="numpy") as file:
        facts: dict[str, str] = file.metadata() or {}
        names = json.loads(facts["order"]) if "order" in facts else list(file.keys())
        return {name: file.get_tensor(name) for name in names}, facts


def grouped(arrays: Arrays) -> dict[str, Arrays]:
    """Arrays keyed "group/name" by group.

    >>> list(grouped({"weights/w": np.zeros(1), "slots/velocity/w": np.zeros(1)})["slots"])
    ['velocity/w']
    """
    groups: dict[str, Arrays] = {}
    for key, value in arrays.items():
        group, _, name = key.partition("/")
        groups.setdefault(group, {})[name] = value
    return groups
