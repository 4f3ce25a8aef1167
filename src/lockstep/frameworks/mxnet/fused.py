"""Faster equivalent implementations on MXNet: the symbol GRU in fewer and larger operations, and
pooling by oneDNN where its gradient is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mxnet as mx
from mxnet import npx

from lockstep.ops import Array, Weights


def fused_symbol_gru(ops: Any, x: Array, h: Array, w: Weights) -> tuple[Array, Array]:
    """All states (T, B, H) and the last, from symbols x (T, B)."""
    if "b_h" in w:
        return _after(ops.one_hot(x, w["w_x"].shape[0]), h, w)
    return _before(w["w_x"] + w["b"], x, h, w["w_h"])  # a symbol's row of w_x, with b


def _after(hot: Array, h: Array, w: Weights) -> tuple[Array, Array]:
    """MXNet's own operator, which resets after the product."""
    arrays = [_native_gates(w[name]).reshape((-1,)) for name in ("w_x", "w_h", "b", "b_h")]
    states, last = npx.rnn(
        hot,
        mx.np.concatenate(arrays),
        h.reshape((1, *h.shape)),
        mode="gru",
        state_size=h.shape[1],
        num_layers=1,
        state_outputs=True,
    )
    return states, last.reshape(h.shape)


def _native_gates(array: Array) -> Array:
    """z, r, h along the last axis -> r, z, n along the first: (in, 3H) -> (3H, in)."""
    z, r, n = mx.np.split(array, 3, axis=-1)
    return mx.np.concatenate([r, z, n], axis=-1).T


def _before(table: Array, x: Array, h: Array, w_h: Array) -> tuple[Array, Array]:
    """C = tanh(P_h + (R H) W_h)."""
    n = h.shape[1]
    w_gates, w_cand = mx.np.split(w_h, [2 * n], axis=1)
    p_gates, p_cand = (
        unstacked(mx.np.take(part, x, axis=0, mode="clip"))
        for part in mx.np.split(table, [2 * n], axis=1)
    )
    states = []
    for t in range(x.shape[0]):
        gates = npx.sigmoid(p_gates[t] + mx.np.dot(h, w_gates))
        z, r = _halves(gates)
        c = mx.np.tanh(p_cand[t] + mx.np.dot(r * h, w_cand))
        h = c + z * (h - c)
        states.append(h)
    return mx.np.stack(states), h


def _halves(x: Array) -> list[Array]:
    return [part.as_np_ndarray() for part in mx.nd.SliceChannel(x.as_nd_ndarray(), num_outputs=2)]


def unstacked(x: Array) -> list[Array]:
    """x[0], x[1] ...: the gradient of such a slice would fill and add a whole x each time."""
    if x.shape[0] == 1:
        return [x.reshape(x.shape[1:])]
    parts = mx.nd.SliceChannel(x.as_nd_ndarray(), num_outputs=x.shape[0], axis=0, squeeze_axis=True)
    return [part.as_np_ndarray() for part in parts]


# --- convolution and pooling --------------------------------------------------------------------
# oneDNN's pooling keeps the layout in memory that its convolution chose; MXNet's own would have it
# changed. Its gradient is wrong where its input is a view, which a convolution's output never is.


def fused_conv_max_pool(ops: Any, x: Array, w: Array, b: Array, padding: int) -> Array:
    """relu(max_pool2d(conv2d(x, w, b))) with windows of 2 x 2: ReLU on a quarter of the outputs."""
    return npx.relu(_pooled(ops.conv2d(x, w, b, padding), "max"))


def fused_conv_avg_pool(ops: Any, x: Array, w: Array, b: Array, padding: int) -> Array:
    """avg_pool2d(relu(conv2d(x, w, b))) with windows of 2 x 2."""
    return _pooled(npx.relu(ops.conv2d(x, w, b, padding)), "avg")


def _pooled(x: Array, kind: str) -> Array:
    return npx.pooling(x, pool_type=kind, kernel=(2, 2), stride=(2, 2))


PARTS: Mapping[str, Callable[..., Any]] = {
    "conv_max_pool": fused_conv_max_pool,
    "conv_avg_pool": fused_conv_avg_pool,
    "symbol_gru": fused_symbol_gru,
}
