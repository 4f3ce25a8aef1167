"""Recurrent models over one-hot symbols: tanh RNN, GRU, and the GRU with one of its two gates.

Shapes: T steps, B sequences, V symbols, H hidden units. Gate order is z, r, h throughout, side by
side in one matrix: w_x (V, 3H), w_h (H, 3H), b (3H,); with one gate that one, then h: 2H.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockstep.models.layers import Dense
from lockstep.models.model import draw_weights, gaussian
from lockstep.spec import GRU, RNN, OneGate

if TYPE_CHECKING:
    from lockstep.ops import Array, Arrays, Ops, Weights


def rnn_layer(ops: Ops, p: Array, h: Array, w_h: Array) -> tuple[Array, Array]:
    """H_t = tanh(P_t + H_{t-1} W_h): p (T, B, H), h (B, H) -> all states (T, B, H), the last."""

    def step(h: Array, p: Array) -> tuple[Array, Array]:
        h = ops.tanh(p + h @ w_h)
        return h, h

    last, states = ops.scan(step, h, p)
    return states, last


def gru_layer(
    ops: Ops, p: Array, h: Array, w_h: Array, b_h: Array | None = None
) -> tuple[Array, Array]:
    """A GRU over input projections p (T, B, 3H) from h (B, H): all states (T, B, H), the last.

    Z = sigmoid(P_z + H W_z), R = sigmoid(P_r + H W_r), H_new = Z H + (1-Z) C, where
    C = tanh(P_h + (R H) W_h) without b_h (reset before), and with it (reset after)
    C = tanh(P_h + R (H W_h + b_h)), the other gates adding their parts of b_h too.
    """
    n = h.shape[-1]
    w_gates, w_candidate = w_h[:, : 2 * n], w_h[:, 2 * n :]

    def before(h: Array, p: Array) -> tuple[Array, Array]:
        gates = ops.sigmoid(p[:, : 2 * n] + h @ w_gates)
        z, r = gates[:, :n], gates[:, n:]
        h = z * h + (1 - z) * ops.tanh(p[:, 2 * n :] + (r * h) @ w_candidate)
        return h, h

    def after(h: Array, p: Array) -> tuple[Array, Array]:
        q = h @ w_h + b_h
        gates = ops.sigmoid(p[:, : 2 * n] + q[:, : 2 * n])
        z, r = gates[:, :n], gates[:, n:]
        h = z * h + (1 - z) * ops.tanh(p[:, 2 * n :] + r * q[:, 2 * n :])
        return h, h

    last, states = ops.scan(before if b_h is None else after, h, p)
    return states, last


def one_gate_layer(ops: Ops, p: Array, h: Array, w_h: Array, gate: str) -> tuple[Array, Array]:
    """A GRU with one gate over p (T, B, 2H) from h (B, H): all states (T, B, H), the last.

    "update": Z = sigmoid(P_z + H W_z), H_new = Z H + (1-Z) tanh(P_h + H W_h);
    "reset": R = sigmoid(P_r + H W_r), H_new = tanh(P_h + (R H) W_h).
    """
    n = h.shape[-1]
    w_gate, w_candidate = w_h[:, :n], w_h[:, n:]

    def update(h: Array, p: Array) -> tuple[Array, Array]:
        q = p + h @ w_h
        z = ops.sigmoid(q[:, :n])
        h = z * h + (1 - z) * ops.tanh(q[:, n:])
        return h, h

    def reset(h: Array, p: Array) -> tuple[Array, Array]:
        r = ops.sigmoid(p[:, :n] + h @ w_gate)
        h = ops.tanh(p[:, n:] + (r * h) @ w_candidate)
        return h, h

    last, states = ops.scan(update if gate == "update" else reset, h, p)
    return states, last


def symbol_rnn(ops: Ops, x: Array, h: Array, w: Weights) -> tuple[Array, Array]:
    """An RNN over symbols x (T, B): all states (T, B, H), the last."""
    return rnn_layer(ops, _projected(ops, x, w), h, w["w_h"])


def symbol_gru(ops: Ops, x: Array, h: Array, w: Weights) -> tuple[Array, Array]:
    """A GRU over symbols x (T, B): all states (T, B, H), the last."""
    return gru_layer(ops, _projected(ops, x, w), h, w["w_h"], w.get("b_h"))


def _projected(ops: Ops, x: Array, w: Weights) -> Array:
    """One-hot X W_x + b for every step at once: (T, B, width)."""
    steps, batch = x.shape
    vocab_size, width = w["w_x"].shape
    hot = ops.one_hot(ops.reshape(x, (steps * batch,)), vocab_size)  # (T B, V)
    return ops.reshape(hot @ w["w_x"] + w["b"], (steps, batch, width))


def scores_of(ops: Ops, w: Weights, states: Array) -> Array:
    """States (T, B, H) W_out + b_out: (T, B, V)."""
    steps, batch, n = states.shape
    flat = ops.reshape(states, (steps * batch, n)) @ w["w_out"] + w["b_out"]
    return ops.reshape(flat, (steps, batch, flat.shape[-1]))


def build(
    part: RNN | GRU | OneGate, input_shape: tuple[int, ...], num_outputs: int
) -> RecurrentNet | OneGateNet:
    """The recurrent layer of the part's kind over symbols, and a dense layer to their scores."""
    if isinstance(part, OneGate):
        return OneGateNet(num_outputs, part.num_hiddens, part.gate)
    if isinstance(part, GRU):
        return RecurrentNet(num_outputs, part.num_hiddens, gates=3, reset=part.reset)
    return RecurrentNet(num_outputs, part.num_hiddens, gates=1)


@dataclass(frozen=True)
class RecurrentNet:
    """A recurrent layer and a dense layer: x (T, B) symbols -> scores (T, B, V).

    `gates` is 1 for the RNN, 3 for the GRU, which applies its reset gate before or after the
    product with w_h; only after has it a second bias, b_h.
    """

    vocab_size: int
    num_hiddens: int
    gates: int
    reset: str = "before"

    @property
    def output(self) -> Dense:
        """From the states to the scores."""
        return Dense("output", self.num_hiddens, self.vocab_size, weight="w_out", bias="b_out")

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the weights, by name."""
        v, n = self.vocab_size, self.num_hiddens
        wide = self.gates * n
        second = {"b_h": (wide,)} if self.gates == 3 and self.reset == "after" else {}
        own = {"w_x": (v, wide), "w_h": (n, wide), "b": (wide,)}
        return {**own, **second, **self.output.shapes}

    @property
    def fused_parts(self) -> tuple[str, ...]:
        return ("symbol_gru",) if self.gates == 3 else ()

    def initial_weights(self, seed: int) -> Arrays:
        return draw_weights(self.shapes, gaussian, seed)

    def carry_shapes(self, batch_size: int) -> dict[str, tuple[int, ...]]:
        return {"h": (batch_size, self.num_hiddens)}

    def apply(self, ops: Ops, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        if self.gates == 1:
            states, last = symbol_rnn(ops, x, carry["h"], w)
        else:
            layer = ops.fused.get("symbol_gru", symbol_gru)
            states, last = layer(ops, x, carry["h"], w)
        return scores_of(ops, w, states), {"h": last}


@dataclass(frozen=True)
class OneGateNet:
    """A GRU layer with one gate and a dense layer: x (T, B) symbols -> scores (T, B, V).

    No framework has such a layer of its own, so there is no concise form.
    """

    vocab_size: int
    num_hiddens: int
    gate: str
    fused_parts = ()

    def initial_weights(self, seed: int) -> Arrays:
        v, n = self.vocab_size, self.num_hiddens
        own = {"w_x": (v, 2 * n), "w_h": (n, 2 * n), "b": (2 * n,), "w_out": (n, v), "b_out": (v,)}
        return draw_weights(own, gaussian, seed)

    def carry_shapes(self, batch_size: int) -> dict[str, tuple[int, ...]]:
        return {"h": (batch_size, self.num_hiddens)}

    def apply(self, ops: Ops, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        p = _projected(ops, x, w)
        states, last = one_gate_layer(ops, p, carry["h"], w["w_h"], self.gate)
        return scores_of(ops, w, states), {"h": last}
