"""Batch plans: which rows each update uses, epoch by epoch.

Pure and by direct access: `plan.epoch(7)` is the same whether or not epochs 0 to 6 were asked for.
Nothing here holds data or remembers a position.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lockstep.checks import one_of, whole
from lockstep.data.random import generator
from lockstep.errors import InputError
from lockstep.spec.data_parts import ORDERS, SAMPLINGS

Block = NDArray[np.int32]
LARGEST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class ExamplePlan:
    """Batches of example rows.

    `shuffled` permutes anew each epoch, `in_order` never does, `with_replacement` draws
    `num_examples` rows independently. `drop_last` leaves a smaller last batch out.

    >>> plan = ExamplePlan(num_examples=5, batch_size=2, order="in_order")
    >>> plan.num_batches, [block.tolist() for block in plan.epoch(0)]
    (3, [[[0, 1], [2, 3]], [[4]]])
    """

    num_examples: int
    batch_size: int
    order: str = "shuffled"
    drop_last: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        whole("num_examples", self.num_examples, most=LARGEST)
        whole("batch_size", self.batch_size, most=LARGEST)
        one_of("data.order", self.order, ORDERS)
        if self.batch_size > self.num_examples:
            problem = f"is larger than the data ({self.num_examples} examples)"
            remedy = f"Give at most {self.num_examples}."
            raise InputError("batch_size", self.batch_size, problem, remedy)

    @property
    def num_batches(self) -> int:
        """Updates per epoch: the same in every epoch."""
        full, rest = divmod(self.num_examples, self.batch_size)
        return full + bool(rest and not self.drop_last)

    def epoch(self, epoch: int) -> list[Block]:
        """The rows of one epoch: the full batches as one int32 block (n, batch_size), then, if
        one is left over and kept, the smaller last batch as a block (1, rest).

        >>> first = ExamplePlan(6, 3).epoch(0)[0]
        >>> sorted(first.ravel().tolist())
        [0, 1, 2, 3, 4, 5]
        """
        rows = self._rows(epoch).astype(np.int32)
        full = self.num_examples // self.batch_size * self.batch_size
        blocks = [rows[:full].reshape(-1, self.batch_size)]
        if full < self.num_examples and not self.drop_last:
            blocks.append(rows[full:].reshape(1, -1))
        return blocks

    def _rows(self, epoch: int) -> NDArray[np.integer]:
        if self.order == "in_order":
            return np.arange(self.num_examples)
        rng = generator(self.seed, "batch order", epoch)
        if self.order == "shuffled":
            return rng.permutation(self.num_examples)
        return rng.integers(0, self.num_examples, size=self.num_examples)


@dataclass(frozen=True)
class WindowPlan:
    """Batches of windows on a stream of tokens; a row is the offset where a window starts:
    x = tokens[row : row + num_steps], y = tokens[row + 1 : row + num_steps + 1].

    Each epoch starts at a random offset in [0, num_steps). `sequential` cuts the stream into
    `batch_size` strips and batch i holds the i-th window of each, so a hidden state may be
    carried from batch to batch (`carries_state`). `random` shuffles windows that do not overlap.
    Batches are always full, and their number is that of the largest offset in every epoch.

    >>> plan = WindowPlan(num_tokens=30, batch_size=2, num_steps=5)
    >>> offset = plan.epoch(0)[0][0, 0]
    >>> [(block - offset).tolist() for block in plan.epoch(0)]
    [[[0, 13], [5, 18]]]
    """

    num_tokens: int
    batch_size: int
    num_steps: int
    sampling: str = "sequential"
    seed: int = 0

    def __post_init__(self) -> None:
        whole("num_tokens", self.num_tokens, most=LARGEST)
        whole("batch_size", self.batch_size, most=LARGEST)
        whole("data.window", self.num_steps, most=LARGEST)
        one_of("data.sampling", self.sampling, SAMPLINGS)
        if self.num_steps > self.num_tokens // 2:
            problem = f"is too long for {self.num_tokens} tokens"
            remedy = f"Give at most {self.num_tokens // 2}, or more text."
            raise InputError("data.window", self.num_steps, problem, remedy)
        if self.num_batches < 1:
            most = self._usable // self.num_steps
            problem = f"needs more than {self.num_tokens} tokens for windows of {self.num_steps}"
            remedy = f"Give at most {most}, a shorter data.window, or more text."
            raise InputError("batch_size", self.batch_size, problem, remedy)

    @property
    def carries_state(self) -> bool:
        """Whether row j of a batch continues row j of the batch before."""
        return self.sampling == "sequential"

    @property
    def num_batches(self) -> int:
        """Updates per epoch: the same in every epoch."""
        return self._usable // (self.num_steps * self.batch_size)

    @property
    def _usable(self) -> int:
        # tokens that have a successor, at the largest offset
        return self.num_tokens - self.num_steps

    def epoch(self, epoch: int) -> list[Block]:
        """The window offsets of one epoch: one int32 block (num_batches, batch_size).

        >>> plan = WindowPlan(num_tokens=30, batch_size=2, num_steps=5, sampling="random")
        >>> sorted({row % 5 for row in plan.epoch(3)[0].ravel().tolist()}) == [
        ...     int(plan.epoch(3)[0][0, 0]) % 5]
        True
        """
        offset = int(generator(self.seed, "window offset", epoch).integers(self.num_steps))
        if self.sampling == "sequential":
            rows = self._sequential(offset)
        else:
            rows = self._random(offset, epoch)
        return [rows.astype(np.int32)]

    def _sequential(self, offset: int) -> NDArray[np.integer]:
        strip = (self.num_tokens - offset - 1) // self.batch_size
        windows = np.arange(self.num_batches)[:, None] * self.num_steps  # (n, 1)
        return offset + windows + np.arange(self.batch_size)[None, :] * strip  # (n, B)

    def _random(self, offset: int, epoch: int) -> NDArray[np.integer]:
        num_windows = (self.num_tokens - offset - 1) // self.num_steps
        order = generator(self.seed, "batch order", epoch).permutation(num_windows)
        kept = order[: self.num_batches * self.batch_size]
        return offset + kept.reshape(-1, self.batch_size) * self.num_steps


def batch_numbers(rows: np.ndarray) -> np.ndarray:
    """A number below 2^53 for each batch of rows (n, b): sum_i rows[i] m_i mod 2^64, shortened.

    Every place has a multiplier of its own, so other rows, or the same in another order, have
    another number. Two runs that took the same batches have the same numbers.

    >>> a, b, c = batch_numbers(np.array([[3, 1], [1, 3], [3, 1]], np.int32)).tolist()
    >>> a == c, a == b
    (True, False)
    """
    sums: np.ndarray = rows.astype(np.uint64) @ _multipliers(rows.shape[1])
    return (sums >> np.uint64(11)).astype(np.int64)


@cache
def _multipliers(count: int) -> np.ndarray:
    """Odd numbers with well spread bits: multiples of the golden ratio's 64 bits, stirred."""
    places = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    stirred = (places ^ (places >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return stirred | np.uint64(1)
