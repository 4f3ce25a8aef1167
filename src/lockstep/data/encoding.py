"""What reading a file settled: the shape of examples, and how values became numbers.

A run keeps its own, so that new examples are read as those it learned from: with the figures of the
training part, its classes and its symbols. Nothing here reads data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.checks import store


@dataclass(frozen=True)
class Encoding:
    """Shape and loss of a data set; of a file, also what its training part settled.

    `input_shape` is that of one example, () for sequences of symbols. A feature is standardised as
    (value - means[i]) / stds[i], a target that is a number as (value - target_mean) / target_std;
    label i is `classes[i]`, symbol i is `symbols[i]`. `fills` replace missing features. Pictures
    that are bytes have one of `stds`, 255.
    """

    input_shape: tuple[int, ...]
    num_outputs: int
    loss: str
    columns: tuple[str, ...] = ()
    means: tuple[float, ...] = ()
    stds: tuple[float, ...] = ()
    fills: tuple[float, ...] = ()
    target: str = ""
    target_mean: float = 0.0
    target_std: float = 1.0
    classes: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if isinstance(value, list):  # as JSON holds it
                store(self, item.name, tuple(value))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, which JSON holds exactly."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Encoding:
        """The encoding that `to_dict` gave.

        >>> one = Encoding((2,), 1, "squared", columns=("a", "b"), means=(0.1, 3.0))
        >>> Encoding.from_dict(one.to_dict()) == one
        True
        """
        return cls(**values)
