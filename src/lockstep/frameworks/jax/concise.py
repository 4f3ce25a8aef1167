"""Models as Flax layers, and Optax's optimizers. layout.py has their arrays.

Flax's GRUCell has no recurrent bias for two of the gates, so the GRU is built from Dense layers,
which have all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

from lockstep.frameworks.concise import native_maker
from lockstep.frameworks.layout import no_form
from lockstep.frameworks.step import Call
from lockstep.models import Model
from lockstep.models.layers import (
    AvgPool,
    Convolution,
    Dense,
    Flatten,
    Layer,
    MaxPool,
    ReLU,
    Sequential,
)
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Array, Weights
from lockstep.optimizers import RULES
from lockstep.spec.parts import OptimizerPart


class Layers(nn.Module):
    """A model's layers; Flax has channels last. Those from Flatten on are a module of their own
    where there is an image. `convolution` is lax.conv_general_dilated, or a faster equal."""

    layers: tuple[Layer, ...]
    convolution: Callable[..., Array] | None = None

    @nn.compact
    def __call__(self, x: Array) -> Array:
        for i, layer in enumerate(self.layers):
            match layer:
                case Flatten() if x.ndim == 4:
                    x = x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)  # channels first
                    return Layers(self.layers[i + 1 :], self.convolution, name="dense")(x)
                case Flatten():
                    x = x.reshape(x.shape[0], -1)
                case ReLU():
                    x = nn.relu(x)
                case MaxPool(size):
                    x = nn.max_pool(x, (size, size), strides=(size, size))
                case AvgPool(size):
                    x = nn.avg_pool(x, (size, size), strides=(size, size))
                case Dense():
                    x = nn.Dense(layer.outputs, name=layer.name, param_dtype=x.dtype)(x)
                case Convolution():
                    x = nn.Conv(
                        layer.outputs,
                        (layer.kernel, layer.kernel),
                        padding=layer.padding,
                        name=layer.name,
                        param_dtype=x.dtype,
                        conv_general_dilated=self.convolution,
                    )(x)
        return x


class GRUCell(nn.RNNCellBase):
    """A GRU cell over projected inputs (B, 3H), gates in order z, r, h."""

    num_hiddens: int
    reset: str

    @nn.compact
    def __call__(self, h: Array, p: Array) -> tuple[Array, Array]:
        n, dtype = self.num_hiddens, p.dtype
        if self.reset == "after":
            q = nn.Dense(3 * n, name="hidden", param_dtype=dtype)(h)
            gates = nn.sigmoid(p[:, : 2 * n] + q[:, : 2 * n])
            z, r = gates[:, :n], gates[:, n:]
            candidate = jnp.tanh(p[:, 2 * n :] + r * q[:, 2 * n :])
        else:
            q = nn.Dense(2 * n, use_bias=False, name="gates", param_dtype=dtype)(h)
            gates = nn.sigmoid(p[:, : 2 * n] + q)
            z, r = gates[:, :n], gates[:, n:]
            product = nn.Dense(n, use_bias=False, name="candidate", param_dtype=dtype)(r * h)
            candidate = jnp.tanh(p[:, 2 * n :] + product)
        h = z * h + (1 - z) * candidate
        return h, h

    @property
    def num_feature_axes(self) -> int:
        return 1


class LanguageModel(nn.Module):
    """One-hot symbols (T, B), a recurrent layer, and scores (T, B, V)."""

    model: RecurrentNet

    @nn.compact
    def __call__(self, x: Array, h: Array) -> tuple[Array, Array]:
        m = self.model
        hot = jax.nn.one_hot(x, m.vocab_size, dtype=h.dtype)
        if m.gates == 1:
            cell: Any = nn.SimpleCell(m.num_hiddens, param_dtype=h.dtype, name="cell")
        else:
            hot = nn.Dense(3 * m.num_hiddens, name="input", param_dtype=h.dtype)(hot)
            cell = GRUCell(m.num_hiddens, m.reset, name="cell")
        layer = nn.RNN(cell, time_major=True, return_carry=True)
        h, states = layer(hot, initial_carry=h)
        return nn.Dense(m.vocab_size, name="output", param_dtype=h.dtype)(states), h


def build(model: Model, convolution: Callable[..., Array] | None = None) -> tuple[nn.Module, Call]:
    """The Flax module that is the same model as `model`, and its call of weights, x and carry."""
    match model:
        case Sequential():
            return _sequential(model, convolution)
        case RecurrentNet():
            module = LanguageModel(model)

            def call(w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
                scores, h = module.apply({"params": nested(w)}, x, carry["h"])
                return scores, {"h": h}

            return module, call
    raise no_form(model, "Flax")


def _sequential(
    model: Sequential, convolution: Callable[..., Array] | None
) -> tuple[nn.Module, Call]:
    module = Layers(model.layers, convolution)

    def call(w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        if len(model.input_shape) == 3:  # (B, C, H, W) -> (B, H, W, C)
            x = x.reshape(x.shape[0], *model.input_shape).transpose(0, 2, 3, 1)
        return module.apply({"params": nested(w)}, x), carry

    return module, call


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    """{"a/b": x} -> {"a": {"b": x}}, as Flax keeps parameters."""
    tree: dict[str, Any] = {}
    for path, value in flat.items():
        *parents, name = path.split("/")
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = value
    return tree


# --- optimizers ---------------------------------------------------------------------------------

_FIELDS = {  # fields of Optax's states -> our slots
    "trace": "velocity",
    "sum_of_squares": "sum_squares",
    "mu": "mean",
    "nu": "mean_squares",
    "e_g": "mean_squares",
    "e_x": "mean_deltas",
}


# Each at rate 1: every one is linear in the rate, which is applied after it.
MAKERS = {
    "sgd": lambda o: optax.sgd(1.0),
    "momentum": lambda o: optax.sgd(1.0, momentum=o.momentum),
    "nesterov": lambda o: optax.sgd(1.0, momentum=o.momentum, nesterov=True),
    # Optax adds eps under the root: its square there bounds the difference by eps
    "adagrad": lambda o: optax.adagrad(1.0, initial_accumulator_value=0.0, eps=o.eps**2),
    "rmsprop": lambda o: optax.rmsprop(1.0, decay=o.decay, eps=o.eps, eps_in_sqrt=False),
    "adadelta": lambda o: optax.adadelta(1.0, rho=o.decay, eps=o.eps),
    "adam": lambda o: optax.adam(1.0, o.beta1, o.beta2, o.eps),
    "adamw": lambda o: optax.adamw(1.0, o.beta1, o.beta2, o.eps, weight_decay=o.weight_decay),
}


def optimizer(part: OptimizerPart) -> optax.GradientTransformation:
    """Optax's optimizer of that kind, at rate 1."""
    rule = native_maker(MAKERS, part, "optax")(part)
    if part.weight_decay and RULES[part.kind].decays_gradient:
        rule = optax.chain(optax.add_decayed_weights(part.weight_decay), rule)
    return rule


def optimizer_state(state: Any, slots: Weights, count: Array) -> Any:
    """Optax's state with our slots and the number of updates so far put into it."""
    if hasattr(state, "_fields"):
        values: dict[str, Any] = {}
        for name in state._fields:
            own = getattr(state, name)
            if name == "count":
                values[name] = jnp.asarray(count, own.dtype)
            elif name in _FIELDS:
                values[name] = {n: slots[f"{_FIELDS[name]}/{n}"] for n in own}
            else:
                values[name] = optimizer_state(own, slots, count)
        return type(state)(**values)
    return (
        tuple(optimizer_state(s, slots, count) for s in state)
        if isinstance(state, tuple)
        else state
    )


def optimizer_slots(state: Any) -> Weights:
    """Our slots out of Optax's state."""
    slots: Weights = {}
    if hasattr(state, "_fields"):
        for name in state._fields:
            own = getattr(state, name)
            if name in _FIELDS:
                slots |= {f"{_FIELDS[name]}/{n}": value for n, value in own.items()}
            else:
                slots |= optimizer_slots(own)
    elif isinstance(state, tuple):
        for part in state:
            slots |= optimizer_slots(part)
    return slots
