"""Faster equivalent implementations of model parts on TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from lockstep.ops import Array, Weights

Gradient = Callable[[Array], tuple[Array, ...]]

# --- the symbol GRU -------------------------------------------------------------------------------
# Its gradient is written out: one weight-gradient product for all time steps. In the loop of
# `models.recurrent.symbol_gru` every step would add to the gradient of the weights. A third faster.


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


# --- convolution and max-pooling ------------------------------------------------------------------
# One wider convolution, three times as fast. A convolution from one channel to six takes most of
# LeNet's step on a CPU. With every 2 x 2 block of inputs as channels of one place, and the kernel
# at its four places in a pooling window as channels of one output, places are a quarter as many,
# and pooling compares four blocks of channels.


def fused_conv_max_pool(ops: Any, x: Array, w: Array, b: Array, padding: int) -> Array:
    """relu(max_pool2d(conv2d(x, w, b))) with windows of 2 x 2."""
    blocks = tf.nn.space_to_depth(_even(x, w, padding), 2)  # (B, H/2, W/2, 4C)
    y = tf.nn.conv2d(blocks, _four_places(w), 1, "VALID")  # (B, P, Q, 4O)
    first, second, third, fourth = tf.split(y, 4, axis=-1)
    # at a tie the gradient of maximum goes to its first argument
    best = tf.maximum(tf.maximum(first, second), tf.maximum(third, fourth))
    return tf.transpose(tf.nn.relu(best + b), (0, 3, 1, 2))


def _even(x: Array, w: Array, padding: int) -> Array:
    """x padded, channels last, as wide as whole windows see: 2 P + h - 1, and zeros up to even."""
    x = tf.transpose(x, (0, 2, 3, 1))
    cuts, pads = [], [[0, 0]]
    for size, k in zip(x.shape[1:3], w.shape[2:], strict=True):
        windows = (size + 2 * padding - k + 1) // 2
        after = 2 * (windows - 1) + 2 * ((k + 2) // 2) - size - padding
        cuts.append(size + min(after, 0))
        pads.append([padding, max(after, 0)])
    return tf.pad(x[:, : cuts[0], : cuts[1]], [*pads, [0, 0]])


def _four_places(w: Array) -> Array:
    """The kernel at the four places of a window: (I/2, J/2, 4C, 4O), I and J its size + 1, even."""
    channels, inputs, *sizes = w.shape
    spares = [(k + 2) // 2 * 2 - k for k in sizes]  # 1 or 2: what is left beside the kernel
    placed = tf.stack(
        [
            tf.pad(w, [[0, 0], [0, 0], [u, spares[0] - u], [v, spares[1] - v]])
            for u in (0, 1)
            for v in (0, 1)
        ]
    )  # (4, O, C, I, J)
    height, width = ((k + spare) // 2 for k, spare in zip(sizes, spares, strict=True))
    parts = tf.reshape(placed, (4 * channels, inputs, height, 2, width, 2))
    return tf.reshape(
        tf.transpose(parts, (2, 4, 3, 5, 1, 0)), (height, width, 4 * inputs, 4 * channels)
    )


PARTS: Mapping[str, Callable[..., Any]] = {
    "symbol_gru": fused_symbol_gru,
    "conv_max_pool": fused_conv_max_pool,
}
