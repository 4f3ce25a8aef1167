"""What a case is, and the numbers that cases are made of.

Inputs are drawn once, seeded, in float64 with all its digits: in numbers that float32 can hold, a
kernel that computes in float32 on the way would go unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Inputs = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """One call: `call(ops, **inputs)` must return `expect(**inputs)`.

    Gradients follow the inputs named in `grad`. At a kink (a tie, relu at 0) finite differences say
    nothing about the convention: those cases are left to the tests that state it.
    """

    op: str
    note: str
    inputs: Inputs
    call: Callable[..., Any]
    expect: Callable[..., Any]
    grad: tuple[str, ...] = ()
    kink: bool = False

    @property
    def id(self) -> str:
        return f"{self.op}:{self.note}".replace(" ", "_")


def exact(value: Any) -> np.ndarray:
    """Rounded to float32, held in float64."""
    return np.asarray(value, np.float32).astype(np.float64)


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal numbers."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers in [0.5, 2)."""
    return np.random.default_rng([seed, *shape]).uniform(0.5, 2, size=shape)


def whole(*values: Any, dtype: str = "int32") -> np.ndarray:
    return np.asarray(values, dtype)


def method(op: str, *options: Any, **named: Any) -> Callable[..., Any]:
    """ops.op(x, options); or of a and b, or x, w and b: whatever the inputs are, in their order."""
    return lambda ops, **inputs: getattr(ops, op)(*inputs.values(), *options, **named)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A call that needs no Ops: operators on the inputs alone."""
    return lambda ops, **inputs: function(*inputs.values())


BROADCAST = {
    "same": ((3, 4), (3, 4)),
    "row": ((3, 4), (4,)),
    "column": ((3, 4), (3, 1)),
    "both": ((2, 1, 4), (3, 1)),
    "scalar": ((3, 4), ()),
}
TIES = exact([[2, 0, 2, -1], [0, 0, 0, 0], [-3, -1, -1, -3]])
TIED_WINDOWS = exact([[1, 3, 2, 2], [3, 0, 2, 2], [0, 0, 5, 1], [0, 0, 1, 5]])  # of 2 x 2
HUGE = exact([[-1000, -90, 0, 90, 1000]])
