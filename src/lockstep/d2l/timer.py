"""Timer and Accumulator: what the chapters measure with."""

from __future__ import annotations

import itertools
import time
from typing import Any


class Timer:
    """Several durations in seconds; it starts at once.

    >>> timer = Timer()
    >>> timer.times = [1.0, 2.0]
    >>> timer.avg(), timer.sum(), timer.cumsum()
    (1.5, 3.0, [1.0, 3.0])
    """

    def __init__(self) -> None:
        self.times: list[float] = []
        self.start()

    def start(self) -> None:
        self.tik = time.time()

    def stop(self) -> float:
        """The seconds since the last start, which are kept."""
        self.times.append(time.time() - self.tik)
        return self.times[-1]

    def avg(self) -> float:
        return self.sum() / len(self.times)

    def sum(self) -> float:
        return float(sum(self.times))

    def cumsum(self) -> list[float]:
        return list(itertools.accumulate(self.times))


class Accumulator:
    """Sums of `n` quantities.

    >>> metric = Accumulator(2)
    >>> metric.add(1, 2.5)
    >>> metric.add(3, 0)
    >>> metric[0], metric[1]
    (4.0, 2.5)
    """

    def __init__(self, n: int) -> None:
        self.data = [0.0] * n

    def add(self, *values: Any) -> None:
        """Add a value to each sum: numbers, or a framework's arrays of one element."""
        self.data = [a + float(b) for a, b in zip(self.data, values, strict=False)]

    def reset(self) -> None:
        self.data = [0.0] * len(self.data)

    def __getitem__(self, place: int) -> float:
        return self.data[place]
