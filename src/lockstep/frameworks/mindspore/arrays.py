"""Arrays with the operators of the contract, over MindSpore tensors.

A number beside a float64 tensor would be rounded to float32 by MindSpore, in every operator: it
becomes a tensor first (see MindSporeOps.apply).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from mindspore import Tensor

from lockstep import trees

if TYPE_CHECKING:
    from lockstep.frameworks.mindspore.ops import MindSporeOps


class Array:
    """A tensor, with its name where it is part of a recorded function."""

    __array_ufunc__ = None  # NumPy's numbers leave operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ops: MindSporeOps, tensor: Tensor, name: str = "") -> None:
        self.ops, self.tensor, self.name = ops, tensor, name

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return self.tensor.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if self.name or self.tensor.is_floating_point():
            return (self[i] for i in range(len(self)))
        return map(self.ops.asarray, self.tensor.asnumpy())  # an index costs more than a copy

    def __float__(self) -> float:
        return float(self.tensor.asnumpy())

    def __repr__(self) -> str:
        return repr(self.tensor)

    def __getitem__(self, key: Any) -> Array:
        x, key = _without_steps(self, key if isinstance(key, tuple) else (key,))
        return x.ops.apply(f"{{}}[{_text(key)}]", lambda tensor: tensor[key], x)

    def __neg__(self) -> Array:
        return self.ops.apply("-{}", operator.neg, self)

    def __add__(self, other: Any) -> Array:
        return self.ops.apply("{} + {}", operator.add, self, other)

    def __radd__(self, other: Any) -> Array:
        return self.ops.apply("{} + {}", operator.add, other, self)

    def __sub__(self, other: Any) -> Array:
        return self.ops.apply("{} - {}", operator.sub, self, other)

    def __rsub__(self, other: Any) -> Array:
        return self.ops.apply("{} - {}", operator.sub, other, self)

    def __mul__(self, other: Any) -> Array:
        return self.ops.apply("{} * {}", operator.mul, self, other)

    def __rmul__(self, other: Any) -> Array:
        return self.ops.apply("{} * {}", operator.mul, other, self)

    def __truediv__(self, other: Any) -> Array:
        return self.ops.apply("{} / {}", operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Array:
        return self.ops.apply("{} / {}", operator.truediv, other, self)

    def __pow__(self, other: Any) -> Array:
        if isinstance(other, int | float) and other == 0:
            return self.ops.ones_like(self)  # MindSpore's gradient of x ** 0 is nan at 0
        return self.ops.apply("{} ** {}", operator.pow, self, other)

    def __rpow__(self, other: Any) -> Array:
        return self.ops.apply("{} ** {}", operator.pow, other, self)

    def __matmul__(self, other: Array) -> Array:
        return self.ops.apply("{} @ {}", operator.matmul, self, other)

    def __lt__(self, other: Any) -> Array:
        return self.ops.apply("{} < {}", operator.lt, self, other)

    def __le__(self, other: Any) -> Array:
        return self.ops.apply("{} <= {}", operator.le, self, other)

    def __gt__(self, other: Any) -> Array:
        return self.ops.apply("{} > {}", operator.gt, self, other)

    def __ge__(self, other: Any) -> Array:
        return self.ops.apply("{} >= {}", operator.ge, self, other)

    def __eq__(self, other: Any) -> Array:  # type: ignore[override]
        return self.ops.apply("{} == {}", operator.eq, self, other)

    def __ne__(self, other: Any) -> Array:  # type: ignore[override]
        return self.ops.apply("{} != {}", operator.ne, self, other)


def _without_steps(x: Array, key: tuple[Any, ...]) -> tuple[Array, tuple[Any, ...]]:
    """The array and key with every `start:stop:step` taken out: MindSpore's gradient of such a
    slice fails, unless it is of the first or last axis."""
    own = sum(part is not None and part is not ... for part in key)
    axis, rest = 0, []
    for part in key:
        if isinstance(part, slice) and part.step not in (None, 1):
            rows = np.arange(x.shape[axis])[part]
            x, part = x.ops.take(x, x.ops.asarray(rows), axis), slice(None)
        rest.append(part)
        axis += x.ndim - own if part is ... else part is not None
    return x, tuple(rest)


def _text(key: tuple[Any, ...]) -> str:
    """A key as it stands between brackets."""
    return ", ".join(_part_text(part) for part in key)


def _part_text(part: Any) -> str:
    if isinstance(part, slice):
        return ":".join("" if end is None else repr(end) for end in (part.start, part.stop))
    return "..." if part is ... else repr(part)


def mapped(function: Callable[[Array], Any], tree: Any) -> Any:
    """Dicts, lists and tuples with function(array) in the place of each array."""
    return trees.mapped(function, Array, tree)
