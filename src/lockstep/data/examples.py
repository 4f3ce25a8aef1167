"""What every data set becomes: arrays of examples, and where they came from.

Arrays are NumPy's, in the type they are stored in; scaling and casting belong to the model.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lockstep.data.fetch import Found


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


def origin_of(found: Found) -> Origin:
    """The record of data that was found or fetched."""
    return Origin(found.name, found.edition, found.place, found.digest)


def origin_generated(name: str, seed: int, *contents: bytes) -> Origin:
    """The record of data that was made up: the seed, and the digest of what came out.

    >>> origin = origin_generated("text", 7, b"abc")
    >>> origin.edition, origin.generated, origin.digest[:15]
    ('generated, seed 7', True, 'sha256:ba7816bf')
    """
    digest = hashlib.sha256(b"".join(contents)).hexdigest()
    return Origin(name, f"generated, seed {seed}", "generated", f"sha256:{digest}")
