"""Between canonical arrays and the layout of a framework's own layers, entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lockstep.frameworks.protocol import Arrays

Convert = Callable[[np.ndarray], np.ndarray]


def same(array: np.ndarray) -> np.ndarray:
    """No change."""
    return array


def turned(array: np.ndarray) -> np.ndarray:
    """(in, out) <-> (out, in)."""
    return np.ascontiguousarray(array.T)


@dataclass(frozen=True)
class Entry:
    """One array's two names, and how it gets from canonical to native and back."""

    canonical: str
    native: str
    there: Convert = same
    back: Convert = same


@dataclass(frozen=True)
class Layout:
    """The entries of a module; without any, names and arrays are the module's own.

    `frozen` are native arrays without a canonical one, which stay at zero.

    >>> layout = Layout((Entry("w", "0.weight", turned, turned),))
    >>> layout.to_native({"w": np.zeros((5, 2))})["0.weight"].shape
    (2, 5)
    """

    entries: tuple[Entry, ...] = ()
    frozen: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def to_native(self, arrays: Arrays) -> Arrays:
        if not self.entries:
            return dict(arrays)
        native = {e.native: e.there(arrays[e.canonical]) for e in self.entries}
        kind = next(iter(native.values())).dtype
        return native | {name: np.zeros(shape, kind) for name, shape in self.frozen}

    def from_native(self, arrays: Arrays) -> Arrays:
        if not self.entries:
            return dict(arrays)
        return {e.canonical: e.back(arrays[e.native]) for e in self.entries}

    def slots_to_native(self, slots: Arrays) -> Arrays:
        """Optimizer slots, keyed "slot/weight": each has its weight's shape and goes its way."""
        return _each_slot(slots, self.to_native)

    def slots_from_native(self, slots: Arrays) -> Arrays:
        return _each_slot(slots, self.from_native)


def _each_slot(slots: Arrays, convert: Callable[[Arrays], Arrays]) -> Arrays:
    groups: dict[str, Arrays] = {}
    for key, value in slots.items():
        slot, _, name = key.partition("/")
        groups.setdefault(slot, {})[name] = value
    return {
        f"{slot}/{name}": value
        for slot, group in groups.items()
        for name, value in convert(group).items()
    }
