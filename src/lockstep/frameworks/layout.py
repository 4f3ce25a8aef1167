"""Between canonical arrays and the layout of a framework's own layers, entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lockstep.errors import InputError
from lockstep.models import Model
from lockstep.models.feedforward import LinearNet, MLPNet
from lockstep.models.lenet import Convolution, LeNetModel
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Arrays

Convert = Callable[[np.ndarray], np.ndarray]
LayerEntries = Callable[[str, str, str], "list[Entry]"]  # of weights, bias and native name


def same(array: np.ndarray) -> np.ndarray:
    """No change."""
    return array


def turned(array: np.ndarray) -> np.ndarray:
    """(in, out) <-> (out, in)."""
    return np.ascontiguousarray(array.T)


def gates_exchanged(array: np.ndarray) -> np.ndarray:
    """z, r, h <-> r, z, n along the last axis: the same exchange in both directions."""
    z, r, h = np.split(array, 3, axis=-1)
    return np.concatenate([r, z, h], axis=-1)


def gates_turned(array: np.ndarray) -> np.ndarray:
    """Canonical (in, 3H), gates z, r, h -> native (3H, in), gates r, z, n."""
    return turned(gates_exchanged(array))


def turned_gates(array: np.ndarray) -> np.ndarray:
    """Native (3H, in), gates r, z, n -> canonical (in, 3H), gates z, r, h."""
    return gates_exchanged(turned(array))


def kernel_last(array: np.ndarray) -> np.ndarray:
    """Canonical (out, in, height, width) -> native (height, width, in, out)."""
    return np.ascontiguousarray(array.transpose(2, 3, 1, 0))


def kernel_first(array: np.ndarray) -> np.ndarray:
    """Native (height, width, in, out) -> canonical (out, in, height, width)."""
    return np.ascontiguousarray(array.transpose(3, 2, 0, 1))


@dataclass(frozen=True)
class Entry:
    """One array's two names, and how it gets from canonical to native and back."""

    canonical: str
    native: str
    there: Convert = same
    back: Convert = same


def same_entries(w: str, b: str, native: str) -> list[Entry]:
    """A layer with arrays as ours, `weight` and `bias`."""
    return [Entry(w, f"{native}.weight"), Entry(b, f"{native}.bias")]


def turned_entries(w: str, b: str, native: str) -> list[Entry]:
    """A dense layer with `weight` (out, in), and `bias`."""
    return [Entry(w, f"{native}.weight", turned, turned), Entry(b, f"{native}.bias")]


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

    def with_entries(self, *entries: Entry) -> Layout:
        return replace(self, entries=(*self.entries, *entries))

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


def model_layout(
    model: Model,
    form: str,
    *,
    dense: LayerEntries,
    convolution: LayerEntries = same_entries,
    nth: Callable[[int], str],
    lenet: Mapping[str, str],
    recurrent: Callable[[RecurrentNet], Layout],
) -> Layout:
    """The layout of a model in the `form` of a framework: torch.nn, Keras ...

    `dense(w, b, native)` gives the entries of a dense layer, `convolution` those of a convolution;
    `nth(i)` is the native name of the i-th dense layer (from 1), `lenet` has those of LeNet's
    layers, and `recurrent(model)` is the layout of the rest.
    """
    match model:
        case LinearNet():
            return Layout(tuple(dense("w", "b", nth(1))))
        case MLPNet(sizes):
            numbers = range(1, len(sizes))
            return Layout(tuple(e for i in numbers for e in dense(f"w{i}", f"b{i}", nth(i))))
        case LeNetModel():
            parts = [
                (convolution if isinstance(layer, Convolution) else dense)(
                    f"{layer.name}_w", f"{layer.name}_b", lenet[layer.name]
                )
                for layer in model.layers
            ]
            return Layout(tuple(entry for part in parts for entry in part))
        case RecurrentNet():
            return recurrent(model)
    raise InputError("model", type(model).__name__, f"has no {form} form", "Use --style scratch.")


def recurrent_layout(model: RecurrentNet, names: Mapping[str, Sequence[str]]) -> Layout:
    """The layout of a recurrent layer as cuDNN has it: arrays (out, in), gates r, z, n, a second
    bias, reset after the product. `names` gives the native names of w_x, w_h, b and b_h.

    The chapter's RNN has one bias: the layer's second stays at zero.
    """
    gated = model.gates == 3
    matrix = (gates_turned, turned_gates) if gated else (turned, turned)
    vector = (gates_exchanged, gates_exchanged) if gated else (same, same)
    ways = {"w_x": matrix, "w_h": matrix, "b": vector} | ({"b_h": vector} if gated else {})
    entries = [Entry(own, n, *way) for own, way in ways.items() for n in names[own]]
    frozen = () if gated else tuple((n, (model.num_hiddens,)) for n in names["b_h"])
    return Layout(tuple(entries), frozen)


def refuse_reset_before(model: RecurrentNet, layer: str) -> None:
    """Raise for a GRU that resets before the product, which `layer` cannot be."""
    if model.gates == 3 and model.reset != "after":
        raise InputError(
            "model.reset",
            model.reset,
            f"{layer} applies the reset gate after the product",
            "Use --model.reset after, or --style scratch.",
        )
