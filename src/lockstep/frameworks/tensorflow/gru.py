"""The symbol GRU with its gradient written out: one weight-gradient product for all time steps.

Equal to `models.recurrent.symbol_gru`, in whose loop every step would add to the gradient of the
weights; a third faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from lockstep.ops import Array, Weights

Gradient = Callable[[Array], tuple[Array, ...]]


def fused_symbol_gru(ops: Any, x: Array, h: Array, w: Weights) -> tuple[Array, Array]:
    """All states (T, B, H) and the last, from symbols x (T, B)."""
    vocab_size, width = w["w_x"].shape
    hot = ops.one_hot(tf.reshape(x, (-1,)), vocab_size)  # (T B, V)
    p = tf.reshape(hot @ w["w_x"] + w["b"], (*x.shape, width))
    states = _after(p, h, w["w_h"], w["b_h"]) if "b_h" in w else _before(p, h, w["w_h"])
    return states, states[-1]


@tf.custom_gradient
def _before(p: Array, start: Array, w_h: Array) -> tuple[Array, Gradient]:
    """C = tanh(P_h + (R H) W_h)."""
    n = start.shape[1]
    w_gates, w_cand = w_h[:, : 2 * n], w_h[:, 2 * n :]

    def forward(t: Array, h: Array) -> tuple[Array, tuple[Array, ...]]:
        now = p[t]  # whole: inside a loop XLA computes p[t, :, n:] wrongly
        gates = tf.sigmoid(now[:, : 2 * n] + h @ w_gates)
        z, r = gates[:, :n], gates[:, n:]
        c = tf.tanh(now[:, 2 * n :] + (r * h) @ w_cand)
        h = z * h + (1 - z) * c
        return h, (h, gates, c)

    states, gates, cand = _loop(range(p.shape[0]), forward, start, (n, 2 * n, n))
    before = tf.concat([start[None], states[:-1]], 0)  # H_t-1

    def gradient(d_states: Array) -> tuple[Array, ...]:
        gates_turned, cand_turned = tf.transpose(w_gates), tf.transpose(w_cand)

        def backward(t: Array, dh: Array) -> tuple[Array, tuple[Array, ...]]:
            dh, g, c, h = dh + d_states[t], gates[t], cand[t], before[t]
            z, r = g[:, :n], g[:, n:]
            d_c = dh * (1 - z) * (1 - c * c)
            d_rh = d_c @ cand_turned
            d_g = tf.concat([dh * (h - c), d_rh * h], 1) * g * (1 - g)
            dh = dh * z + d_rh * r + d_g @ gates_turned
            return dh, (tf.concat([d_g, d_c], 1), dh)

        d_p, d_h = _loop(range(p.shape[0] - 1, -1, -1), backward, start * 0, (3 * n, n))
        d_gates = _product(before, d_p[:, :, : 2 * n])
        d_cand = _product(gates[:, :, n:] * before, d_p[:, :, 2 * n :])
        return d_p, d_h[0], tf.concat([d_gates, d_cand], 1)

    return states, gradient


@tf.custom_gradient
def _after(p: Array, start: Array, w_h: Array, b_h: Array) -> tuple[Array, Gradient]:
    """C = tanh(P_h + R (H W_h + b_h)); the other gates add their parts of b_h too."""
    n = start.shape[1]

    def forward(t: Array, h: Array) -> tuple[Array, tuple[Array, ...]]:
        now, q = p[t], h @ w_h + b_h
        gates = tf.sigmoid(now[:, : 2 * n] + q[:, : 2 * n])
        z, r = gates[:, :n], gates[:, n:]
        c = tf.tanh(now[:, 2 * n :] + r * q[:, 2 * n :])
        h = z * h + (1 - z) * c
        return h, (h, gates, c, q[:, 2 * n :])

    states, gates, cand, product = _loop(range(p.shape[0]), forward, start, (n, 2 * n, n, n))
    before = tf.concat([start[None], states[:-1]], 0)  # H_t-1

    def gradient(d_states: Array) -> tuple[Array, ...]:
        turned = tf.transpose(w_h)

        def backward(t: Array, dh: Array) -> tuple[Array, tuple[Array, ...]]:
            dh, g, c, h = dh + d_states[t], gates[t], cand[t], before[t]
            z, r = g[:, :n], g[:, n:]
            d_c = dh * (1 - z) * (1 - c * c)
            d_g = tf.concat([dh * (h - c), d_c * product[t]], 1) * g * (1 - g)
            d_q = tf.concat([d_g, d_c * r], 1)
            dh = dh * z + d_q @ turned
            return dh, (tf.concat([d_g, d_c], 1), d_q, dh)

        sizes = (3 * n, 3 * n, n)
        d_p, d_q, d_h = _loop(range(p.shape[0] - 1, -1, -1), backward, start * 0, sizes)
        return d_p, d_h[0], _product(before, d_q), tf.reduce_sum(d_q, (0, 1))

    return states, gradient


def _loop(
    times: range,
    body: Callable[[Array, Array], tuple[Array, tuple[Array, ...]]],
    carry: Array,
    widths: Sequence[int],
) -> list[Array]:
    """carry, rows = body(t, carry) for each of the times: the rows (B, width) of each, by t."""
    count, batch = len(times), carry.shape[0]
    kept = [tf.TensorArray(carry.dtype, count, element_shape=(batch, w)) for w in widths]

    def step(i: Array, carry: Array, kept: list[Any]) -> tuple[Array, Array, list[Any]]:
        t = times.start + times.step * i
        carry, rows = body(t, carry)
        return i + 1, carry, [k.write(t, row) for k, row in zip(kept, rows, strict=True)]

    _, _, kept = tf.while_loop(
        lambda i, *_: i < count, step, (0, carry, kept), maximum_iterations=count
    )
    return [k.stack() for k in kept]


def _product(a: Array, b: Array) -> Array:
    """The sum over time of A_t^T B_t."""
    flat = [tf.reshape(x, (-1, x.shape[-1])) for x in (a, b)]
    return tf.matmul(*flat, transpose_a=True)
