"""One device's share of every batch, and how the results of all devices are put together.

A step is written over a Share, so that it does not ask how many devices there are. The state that
a program keeps is whole on every device: weights, slots, and the carried state of the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lockstep.ops import Array, Ops, Weights

# f(weights, ...) -> (loss, carry), and the same with gradients: (loss, carry), grads
Function = Callable[..., tuple[Array, Weights]]
WithGradient = Callable[..., tuple[tuple[Array, Weights], Weights]]


@dataclass(frozen=True)
class Part:
    """The rows of a batch of `count` that one device computes: (m,).

    `mask` (m,) is 0 for rows that only fill up, where all devices must compute as many or where
    there is none left; None if all count.
    """

    rows: Array
    count: int
    mask: Array | None = None

    def weights(self, ops: Ops) -> tuple[Array, ...]:
        """The factor of each row in the mean over the batch: (m,); none for the whole batch."""
        size = self.rows.shape[0]
        if self.mask is not None:
            return (self.mask / self.count,)
        return () if size == self.count else (ops.zeros((size,)) + 1 / self.count,)

    def sum(self, ops: Ops, values: Array, factors: Array | None = None) -> Array:
        """The sum over the rows that count: values (T * m,), time first, times factors (T, m)."""
        if factors is not None:
            values = ops.reshape(_by_row(ops, values, factors) * factors, values.shape)
        return ops.sum(values if self.mask is None else _by_row(ops, values, self.mask) * self.mask)


def mean(ops: Ops, losses: Array, weights: Sequence[Array]) -> Array:
    """What a part adds to the mean over the batch: losses (T * m,), time first; weights (m,), or
    (T, m) where labels have their own."""
    if not weights:
        return ops.mean(losses)
    times = _by_row(ops, losses, weights[0])
    return ops.sum(times * weights[0]) / times.shape[0]


def _by_row(ops: Ops, values: Array, row: Array) -> Array:
    """(T * m,) -> (T, m)."""
    size = row.shape[-1]
    return ops.reshape(values, (values.shape[0] // size, size))


class Share(Protocol):
    """What a step asks about the devices."""

    def split(self, rows: Array) -> Part:
        """This device's part of a batch of rows (b,)."""

    def carry(self, carry: Weights) -> Weights:
        """This device's part of the state carried so far: arrays (b, ...)."""

    def value_and_grad(self, function: Function) -> WithGradient:
        """As that of Ops, its loss and gradients summed over all devices, its carry whole."""

    def sum(self, loss: Array, carry: Weights, grads: Weights) -> tuple[Array, Weights, Weights]:
        """The same of a loss and gradients that are computed already."""

    def total(self, sums: Sequence[float]) -> list[float]:
        """Sums on the host, over all devices."""


class WholeBatch:
    """The share of the only device: everything."""

    def __init__(self, ops: Ops) -> None:
        self._ops = ops

    def split(self, rows: Array) -> Part:
        return Part(rows, rows.shape[0])

    def carry(self, carry: Weights) -> Weights:
        return carry

    def value_and_grad(self, function: Function) -> WithGradient:
        found: Any = self._ops.value_and_grad(function)
        return found

    def sum(self, loss: Array, carry: Weights, grads: Weights) -> tuple[Array, Weights, Weights]:
        return loss, carry, grads

    def total(self, sums: Sequence[float]) -> list[float]:
        return list(sums)
