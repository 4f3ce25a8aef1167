"""Examples: arrays with one row for each, where they came from, and batches of them.

Arrays are NumPy's, in the type they are stored in; a batch is made on the device, over Ops.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lockstep.ops import Array, Ops, Weights

# (ops, arrays of a split, row numbers) -> (x, y) on the device
Batch = Callable[[Ops, Weights, Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Origin:
    """Where data came from, for the record of a run. Generated data always says so."""

    name: str
    edition: str
    place: str
    digest: str

    @property
    def generated(self) -> bool:
        return self.place == "generated"


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs `x` and targets `y` with one row per example: len(x) == len(y)."""

    x: NDArray[np.generic]
    y: NDArray[np.generic]
    origin: Origin

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, eq=False)
class NewExamples:
    """Inputs `x` as a trained model takes them, and the name of each, where they have names."""

    x: NDArray[np.generic]
    names: tuple[str, ...] = ()


def origin_generated(name: str, seed: int, *contents: bytes) -> Origin:
    """The record of data that was generated: the seed, and the digest of what came out.

    >>> origin = origin_generated("text", 7, b"abc")
    >>> origin.edition, origin.generated, origin.digest[:15]
    ('generated, seed 7', True, 'sha256:ba7816bf')
    """
    digest = hashlib.sha256(b"".join(contents)).hexdigest()
    return Origin(name, f"generated, seed {seed}", "generated", f"sha256:{digest}")


def example_batch(ops: Ops, data: Weights, rows: Array) -> tuple[Array, Array]:
    """Rows of x and y as they are."""
    return ops.take(data["x"], rows), ops.take(data["y"], rows)


def one_by_one(batch: Batch) -> Batch:
    """The same batch, collected one example after another as a plain data loader does it: slow,
    and slower the larger the batch is."""

    def collected(ops: Ops, data: Weights, rows: Array) -> tuple[Array, Array]:
        single = [batch(ops, data, rows[i : i + 1]) for i in range(rows.shape[0])]
        return ops.concat([x for x, _ in single]), ops.concat([y for _, y in single])

    return collected
