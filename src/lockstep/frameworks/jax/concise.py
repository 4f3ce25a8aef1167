"""The models as Flax layers, and Optax's optimizers. layout.py has their arrays.

Flax's GRUCell has no recurrent bias for two of the gates, so the GRU is built from Dense layers,
which have all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

from lockstep.errors import InputError
from lockstep.models import Model
from lockstep.models.feedforward import LinearNet, MLPNet
from lockstep.models.lenet import LeNetModel
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Array, Weights
from lockstep.spec.parts import Adam, AdamW, OptimizerPart


class Layers(nn.Module):
    """Dense layers fc1, fc2 ... with ReLU between them."""

    sizes: tuple[int, ...]

    @nn.compact
    def __call__(self, x: Array) -> Array:
        x = x.reshape(x.shape[0], -1)
        for i, size in enumerate(self.sizes, 1):
            x = nn.Dense(size, name=f"fc{i}", param_dtype=x.dtype)(x)
            x = nn.relu(x) if i < len(self.sizes) else x
        return x


class LeNet(nn.Module):
    """Two convolutions with pooling, then dense layers."""

    pooling: str

    @nn.compact
    def __call__(self, x: Array) -> Array:
        if self.pooling == "max":
            convolutions, pool = ((6, 5, 2), (16, 5, 0)), nn.max_pool
        else:
            convolutions, pool = ((20, 3, 0), (50, 5, 0)), nn.avg_pool
        x = x[..., None]  # (B, 28, 28, 1)
        for i, (channels, width, padding) in enumerate(convolutions, 1):
            size = (width, width)
            x = nn.Conv(channels, size, padding=padding, name=f"conv{i}", param_dtype=x.dtype)(x)
            x = pool(nn.relu(x), (2, 2), strides=(2, 2))
        x = x.transpose(0, 3, 1, 2)  # channels first, as the dense weights expect
        return Layers((120, 84, 10) if self.pooling == "max" else (128, 10), name="dense")(x)


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


@dataclass(frozen=True)
class Built:
    """A Flax module; `recurrent` modules take and return a state."""

    module: nn.Module
    recurrent: bool = False

    def call(self, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        params = {"params": nested(w)}
        if not self.recurrent:
            return self.module.apply(params, x), carry
        scores, h = self.module.apply(params, x, carry["h"])
        return scores, {"h": h}


def build(model: Model) -> Built:
    """The Flax module that is the same model as `model`."""
    match model:
        case LinearNet(_, num_outputs):
            return Built(Layers((num_outputs,)))
        case MLPNet(sizes):
            return Built(Layers(sizes[1:]))
        case LeNetModel(pooling):
            return Built(LeNet(pooling))
        case RecurrentNet():
            return Built(LanguageModel(model), recurrent=True)
    raise InputError("model", type(model).__name__, "has no Flax form", "Use --style scratch.")


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


def optimizer(part: OptimizerPart) -> optax.GradientTransformation:
    """Optax's optimizer at rate 1: every one is linear in the rate, which is applied after it."""
    o: Any = part
    if isinstance(part, AdamW):
        return optax.adamw(1.0, o.beta1, o.beta2, o.eps, weight_decay=o.weight_decay)
    match part:
        case Adam():
            rule = optax.adam(1.0, o.beta1, o.beta2, o.eps)
        case _ if part.kind in ("momentum", "nesterov"):
            rule = optax.sgd(1.0, momentum=o.momentum, nesterov=part.kind == "nesterov")
        case _ if part.kind == "adagrad":
            # Optax adds eps under the root: its square there bounds the difference by eps
            rule = optax.adagrad(1.0, initial_accumulator_value=0.0, eps=o.eps**2)
        case _ if part.kind == "rmsprop":
            rule = optax.rmsprop(1.0, decay=o.decay, eps=o.eps, eps_in_sqrt=False)
        case _ if part.kind == "adadelta":
            rule = optax.adadelta(1.0, rho=o.decay, eps=o.eps)
        case _:
            rule = optax.sgd(1.0)
    if part.weight_decay:
        rule = optax.chain(optax.add_decayed_weights(part.weight_decay), rule)
    return rule


def with_slots(state: Any, slots: Weights, count: Array) -> Any:
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
                values[name] = with_slots(own, slots, count)
        return type(state)(**values)
    return tuple(with_slots(s, slots, count) for s in state) if isinstance(state, tuple) else state


def slots_of(state: Any) -> Weights:
    """Our slots out of Optax's state."""
    slots: Weights = {}
    if hasattr(state, "_fields"):
        for name in state._fields:
            own = getattr(state, name)
            if name in _FIELDS:
                slots |= {f"{_FIELDS[name]}/{n}": value for n, value in own.items()}
            else:
                slots |= slots_of(own)
    elif isinstance(state, tuple):
        for part in state:
            slots |= slots_of(part)
    return slots
