"""What every transport's measurement has in common: buffers whose sum is known, and fair turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lockstep.errors import LockstepError

PATTERN = 251  # values repeat after a prime number: a part in a wrong place is found


def initial_values(rank: int, length: int) -> np.ndarray:
    """A device's buffer: small whole numbers, exact in float32 whatever the order of the sum.

    >>> initial_values(2, 3).tolist()
    [2.0, 3.0, 4.0]
    """
    return (np.arange(length) % PATTERN + rank).astype(np.float32)


def check_sum(buffer: np.ndarray, num_devices: int, algorithm: str) -> None:
    """Raise unless the buffer holds the sum over all devices: k pattern + k (k-1)/2."""
    expected = num_devices * initial_values(0, len(buffer)) + num_devices * (num_devices - 1) / 2
    if not np.array_equal(buffer, expected):
        wrong = int(np.flatnonzero(buffer != expected)[0])
        raise LockstepError(
            f"algorithm = {algorithm!r}: element {wrong} is {buffer[wrong]}, not {expected[wrong]}."
        )


def turns(names: Sequence[str], repeats: int) -> Iterator[tuple[int, str]]:
    """Every algorithm once to warm up (-1), then each once per repeat, beginning with another each
    time: what disturbs the machine disturbs all of them alike.

    >>> list(turns(["a", "b"], 2))
    [(-1, 'a'), (-1, 'b'), (0, 'a'), (0, 'b'), (1, 'b'), (1, 'a')]
    """
    for repeat in range(-1, repeats):
        shift = max(repeat, 0) % max(1, len(names))
        for name in [*names[shift:], *names[:shift]]:
            yield repeat, name
