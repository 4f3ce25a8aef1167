"""Between canonical arrays and the arrays of a framework's own layers, entry by entry.

A framework's layout.py says how its layers keep their arrays; what models are made of is in
models/layers.py and models/recurrent.py. No framework is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lockstep.errors import InputError
from lockstep.models import Model
from lockstep.models.layers import Convolution, Dense, Flatten, Sequential, Weighted
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Arrays

Array = np.ndarray


class Conversion(NamedTuple):
    """How one array gets from canonical to native and back."""

    to_native: Callable[[Array], Array]
    from_native: Callable[[Array], Array]


def transpose(array: Array) -> Array:
    """(in, out) <-> (out, in)."""
    return np.ascontiguousarray(array.T)


def exchange_gates(array: Array) -> Array:
    """Gates z, r, h <-> r, z, n along the last axis: the same exchange in both directions."""
    z, r, h = np.split(array, 3, axis=-1)
    return np.concatenate([r, z, h], axis=-1)


def reorder(array: Array, axes: tuple[int, ...]) -> Array:
    """Axes in another order."""
    return np.ascontiguousarray(array.transpose(axes))


SAME = Conversion(lambda array: array, lambda array: array)
TRANSPOSED = Conversion(transpose, transpose)
# canonical (out, in, height, width), native (height, width, in, out)
KERNEL_LAST = Conversion(partial(reorder, axes=(2, 3, 1, 0)), partial(reorder, axes=(3, 2, 0, 1)))
GATES_RZN = Conversion(exchange_gates, exchange_gates)
# canonical (in, 3H) with gates z, r, h, native (3H, in) with gates r, z, n
GATES_RZN_TRANSPOSED = Conversion(
    lambda array: transpose(exchange_gates(array)), lambda array: exchange_gates(transpose(array))
)


def flattened_last(image: tuple[int, ...]) -> Conversion:
    """The rows of a dense layer after an image (C, H, W) that is flattened with channels last."""
    channels, height, width = image

    def to_native(array: Array) -> Array:
        return array.reshape(*image, -1).transpose(1, 2, 0, 3).reshape(array.shape)

    def from_native(array: Array) -> Array:
        rows = array.reshape(height, width, channels, -1)
        return rows.transpose(2, 0, 1, 3).reshape(array.shape)

    return Conversion(to_native, from_native)


@dataclass(frozen=True)
class Entry:
    """Canonical arrays that are kept in native ones: in most entries one in one.

    `to_native` takes the canonical arrays and returns the native ones, each in the order of their
    names; `from_native` does the reverse. `zeros` are further native arrays, shaped as the first:
    they stay at zero, are not trained, and have no slots.
    """

    canonical: tuple[str, ...]
    native: tuple[str, ...]
    to_native: Callable[..., tuple[Array, ...]]
    from_native: Callable[..., tuple[Array, ...]]
    zeros: tuple[str, ...] = ()


def entry(
    canonical: str, *native: str, conversion: Conversion = SAME, zeros: tuple[str, ...] = ()
) -> Entry:
    """One canonical array under one or more native names."""

    def to_native(array: Array) -> tuple[Array, ...]:
        return (conversion.to_native(array),) * len(native)

    def from_native(array: Array, *others: Array) -> tuple[Array]:
        return (conversion.from_native(array),)

    return Entry((canonical,), native, to_native, from_native, zeros)


@dataclass(frozen=True)
class Layout:
    """The entries of a module; without any, names and arrays are the module's own.

    >>> layout = Layout((entry("w", "0.weight", conversion=TRANSPOSED),))
    >>> layout.to_native({"w": np.zeros((5, 2))})["0.weight"].shape
    (2, 5)
    """

    entries: tuple[Entry, ...] = ()

    def to_native(self, arrays: Arrays) -> Arrays:
        if not self.entries:
            return dict(arrays)
        found: Arrays = {}
        for e in self.entries:
            own = e.to_native(*(arrays[name] for name in e.canonical))
            found |= dict(zip(e.native, own, strict=True))
            found |= {name: np.zeros_like(own[0]) for name in e.zeros}
        return found

    def from_native(self, arrays: Arrays) -> Arrays:
        if not self.entries:
            return dict(arrays)
        found: Arrays = {}
        for e in self.entries:
            own = e.from_native(*(arrays[name] for name in e.native))
            found |= dict(zip(e.canonical, own, strict=True))
        return found

    def slots_to_native(self, slots: Arrays) -> Arrays:
        """Optimizer slots, keyed "slot/weight": each has its weight's shape and conversion."""
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


# --- models -------------------------------------------------------------------------------------


def positions(model: Sequential) -> dict[str, str]:
    """The native names of layers in a framework that numbers all of them."""
    return {x.name: str(i) for i, x in enumerate(model.layers) if isinstance(x, Weighted)}


@dataclass(frozen=True)
class NativeLayers:
    """How a framework's own layers keep their arrays.

    `library`: what they are called ("torch.nn"). `names(model)`: the native name of each layer with
    weights. `weight` and `bias` follow that name. `dense` and `kernel` convert a dense layer's and
    a convolution's weight; `channels_last` says that images are flattened so. `recurrent(model)`
    has the entries of a recurrent layer; that of the dense layer after it is called "output".
    """

    library: str
    recurrent: Callable[[RecurrentNet], list[Entry]]
    names: Callable[[Sequential], Mapping[str, str]] = positions
    weight: str = ".weight"
    bias: str = ".bias"
    dense: Conversion = SAME
    kernel: Conversion = SAME
    channels_last: bool = False

    def layout(self, model: Model) -> Layout:
        """The layout of a model in these layers."""
        match model:
            case Sequential():
                return Layout(tuple(self._sequence(model)))
            case RecurrentNet():
                output = self.layer(model.output, model.output.name, self.dense)
                return Layout((*self.recurrent(model), *output))
        raise no_form(model, self.library)

    def layer(self, layer: Weighted, native: str, conversion: Conversion) -> list[Entry]:
        """The entries of one layer of that native name."""
        weight = entry(layer.weight, native + self.weight, conversion=conversion)
        return [weight, entry(layer.bias, native + self.bias)]

    def _sequence(self, model: Sequential) -> Iterator[Entry]:
        names, shapes = self.names(model), (model.input_shape, *model.output_shapes)
        image: tuple[int, ...] = ()  # that was flattened and not yet seen by a dense layer
        for layer, shape in zip(model.layers, shapes, strict=False):
            if isinstance(layer, Flatten) and len(shape) == 3 and self.channels_last:
                image = shape
            elif isinstance(layer, Convolution):
                yield from self.layer(layer, names[layer.name], self.kernel)
            elif isinstance(layer, Dense):
                conversion = flattened_last(image) if image else self.dense
                yield from self.layer(layer, names[layer.name], conversion)
                image = ()


CUDNN = {"w_x": "weight_ih", "w_h": "weight_hh", "b": "bias_ih", "b_h": "bias_hh"}


def cudnn_entries(
    model: RecurrentNet,
    library: str,
    *places: str,
    arrays: Mapping[str, str] = CUDNN,
) -> list[Entry]:
    """The entries of a recurrent layer as cuDNN has it: arrays (out, in), gates r, z, n, a second
    bias, reset after the product. Native names are `arrays` in each of `places` ("layer.{}_l0").

    The chapter's RNN has one bias: the layer's second stays at zero.
    """
    names = {own: tuple(place.format(n) for place in places) for own, n in arrays.items()}
    if model.gates == 3 and model.reset != "after":
        raise InputError(
            "model.reset",
            model.reset,
            f"{library}.GRU applies the reset gate after the product",
            "Use --model.reset after, or --style scratch.",
        )
    matrix = GATES_RZN_TRANSPOSED if model.gates == 3 else TRANSPOSED
    found = [entry(name, *names[name], conversion=matrix) for name in ("w_x", "w_h")]
    if model.gates == 1:
        return [*found, entry("b", *names["b"], zeros=names["b_h"])]
    return found + [entry(name, *names[name], conversion=GATES_RZN) for name in ("b", "b_h")]


def no_form(model: Any, library: str) -> InputError:
    """What to raise for a model that cannot be made of a framework's own layers."""
    problem = f"has no {library} form"
    return InputError("model", type(model).__name__, problem, "Use --style scratch.")
