"""Faster equivalent implementations on Paddle: the symbol GRU, the convolution, and linear
regression by SGD."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import paddle
from paddle import Tensor

from lockstep.ops import Ops, Weights

sigmoid = paddle.nn.functional.sigmoid

# --- the symbol GRU -------------------------------------------------------------------------------
# Its gradient is written out: one weight-gradient product for all time steps, where autograd would
# record the loop of `models.recurrent.symbol_gru` operation by operation. Features come first,
# (H, B): gates are then contiguous blocks of rows. One matrix M = [w_h; w_x; b] is multiplied with
# U_t = [H_t-1; one-hot X_t; 1], so that inputs and bias cost no operation of their own, forwards or
# backwards. The loops use small arrays of equal shapes: broadcasting, and memory beyond the cache,
# cost Paddle more than a few operations.


def fused_symbol_gru(ops: Any, x: Tensor, h: Tensor, w: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """All states (T, B, H) and the last, from symbols x (T, B)."""
    if "b_h" in w:
        states = _After.apply(x, h, w["w_x"], w["w_h"], w["b"], w["b_h"])
    else:
        states = _Before.apply(x, h, w["w_x"], w["w_h"], w["b"])
    return states, states[-1]


class _Before(paddle.autograd.PyLayer):
    """C = tanh(P_h + (R H) W_h)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
        ctx.asked = [not given.stop_gradient for given in (x, h, w_x, w_h, b)]
        ctx.w_h, ctx.kept, states = w_h, [], []
        n, h = h.shape[1], h.t()
        matrix = paddle.concat([w_h, w_x, b.unsqueeze(0)]).t().contiguous()  # (3H, K)
        w_gates, w_cand = matrix[: 2 * n], matrix[2 * n :]
        for symbols in _inputs(x, w_x):
            u = paddle.concat([h, symbols])  # (K, B)
            g = sigmoid(w_gates @ u)
            z, r = g[:n], g[n:]
            v = paddle.concat([r * h, symbols])
            c = paddle.tanh(w_cand @ v)
            ctx.kept.append((u, v, z, r, c))
            h = c + z * (h - c)
            states.append(h)
        return _time_first(states)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        n = len(ctx.w_h)
        w_gates, w_cand = paddle.split(ctx.w_h, [2 * n, n], 1)
        d_gates, d_cands, dh = [], [], paddle.zeros_like(ctx.kept[0][2])
        for (u, _, z, r, c), own in zip(ctx.kept[::-1], _features_first(grad)[::-1], strict=True):
            h, dh = u[:n], dh + own
            d_cands.append(dh * (1 - z) * (1 - c * c))
            d_reset = w_cand @ d_cands[-1]  # d(R H)
            d_z, d_r = dh * (h - c) * z * (1 - z), d_reset * h * r * (1 - r)
            d_gates.append(paddle.concat([d_z, d_r]))
            dh = w_gates @ d_gates[-1] + dh * z + d_reset * r
        us, vs = ([kept[i] for kept in ctx.kept] for i in (0, 1))
        d_matrix = paddle.concat([_product(us, d_gates), _product(vs, d_cands)], 1)
        return _asked(ctx, None, dh.t(), d_matrix[n:-1], d_matrix[:n], d_matrix[-1])


class _After(paddle.autograd.PyLayer):
    """C = tanh(P_h + R (H W_h + b_h)); the other gates add their parts of b_h too."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor, b_h: Tensor
    ) -> Tensor:
        ctx.asked = [not given.stop_gradient for given in (x, h, w_x, w_h, b, b_h)]
        ctx.w_h, ctx.kept, states = w_h, [], []
        n, h = h.shape[1], h.t()
        w_input = paddle.concat([w_x, b.unsqueeze(0)])  # (V + 1, 3H)
        w_cand = w_input[:, 2 * n :].t().contiguous()
        # rows z and r see inputs and both biases; the candidate's product sees the state alone
        seen = paddle.concat([w_input[:, : 2 * n], paddle.zeros_like(w_input[:, 2 * n :])], 1)
        seen = paddle.concat([seen[:-1], (seen[-1] + b_h).unsqueeze(0)])
        matrix = paddle.concat([w_h, seen]).t().contiguous()  # (3H, K)
        for symbols in _inputs(x, w_x):
            u = paddle.concat([h, symbols])  # (K, B)
            q = matrix @ u
            g, product = sigmoid(q[: 2 * n]), q[2 * n :]
            z, r = g[:n], g[n:]
            c = paddle.tanh(w_cand @ symbols + r * product)
            ctx.kept.append((u, product, z, r, c))
            h = c + z * (h - c)
            states.append(h)
        return _time_first(states)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        n = len(ctx.w_h)
        d_products, d_cands, dh = [], [], paddle.zeros_like(ctx.kept[0][2])
        for (u, product, z, r, c), own in zip(
            ctx.kept[::-1], _features_first(grad)[::-1], strict=True
        ):
            dh = dh + own
            d_cand = dh * (1 - z) * (1 - c * c)
            d_z, d_reset = dh * (u[:n] - c) * z * (1 - z), d_cand * r
            d_products.append(paddle.concat([d_z, d_reset * product * (1 - r), d_reset]))
            d_cands.append(d_cand)
            dh = ctx.w_h @ d_products[-1] + dh * z
        us = [kept[0] for kept in ctx.kept]
        d_matrix = _product(us, d_products)  # (K, 3H)
        d_input = paddle.concat([d_matrix[n:, : 2 * n], _product([u[n:] for u in us], d_cands)], 1)
        return _asked(ctx, None, dh.t(), d_input[:-1], d_matrix[:n], d_input[-1], d_matrix[-1])


def _inputs(x: Tensor, w_x: Tensor) -> list[Tensor]:
    """[one-hot X_t; 1] of each step: (V + 1, B)."""
    hot = paddle.nn.functional.one_hot(x, len(w_x)).astype(w_x.dtype)  # (T, B, V)
    ones = paddle.ones([*x.shape, 1], w_x.dtype)
    return list(_features_first(paddle.concat([hot, ones], 2)))


def _features_first(x: Tensor) -> list[Tensor]:
    """(T, B, N) -> (N, B) for each step."""
    return list(paddle.transpose(x, [0, 2, 1]).contiguous().unbind(0))


def _time_first(states: list[Tensor]) -> Tensor:
    """(H, B) for each step -> (T, B, H)."""
    return paddle.transpose(paddle.stack(states), [0, 2, 1]).contiguous()


def _product(inputs: list[Tensor], grads: list[Tensor]) -> Tensor:
    """sum_t U_t G_t^T, as one product over all steps; gradients come last step first."""
    return paddle.matmul(paddle.concat(inputs, 1), paddle.concat(grads[::-1], 1), transpose_y=True)


def _asked(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
    """Paddle refuses the gradient of an argument that stops gradients."""
    return tuple(grad if asked else None for grad, asked in zip(grads, ctx.asked, strict=True))


def convolved(x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
    """A convolution. Its own bias, added with four axes, takes longer than all the rest."""
    y = paddle.nn.functional.conv2d(x, w, padding=padding)
    return (y.flatten(2) + b.unsqueeze(1)).reshape(y.shape)


PARTS: Mapping[str, Callable[..., Any]] = {
    "symbol_gru": fused_symbol_gru,
    "layer_convolution": convolved,
}

# --- linear regression by plain SGD ---------------------------------------------------------------


class PaddleLinearSGD:
    """Two matrix-vector products per step; theta: (I + 1, 1)."""

    def __init__(self, ops: Ops, data: Weights) -> None:
        flat = ops.floating(data["x"].flatten(1))
        self._ops = ops
        self._x = paddle.concat([flat, paddle.ones_like(flat[:, :1])], 1)  # (N, I + 1)
        self._minus_y = -data["y"]

    def pack(self, weights: Weights) -> Tensor:
        return paddle.concat([weights["w"], weights["b"].unsqueeze(1)])

    def unpack(self, theta: Tensor) -> Weights:
        return {"w": theta[:-1].clone(), "b": theta[-1].clone()}

    def block(
        self, theta: Tensor, rows: np.ndarray, rates: np.ndarray
    ) -> tuple[Tensor, tuple[np.ndarray, np.ndarray]]:
        index = self._ops.asarray(rows)
        x, minus_y = self._ops.take(self._x, index), self._ops.take(self._minus_y, index)
        # addmm has its factors in float32: the rate goes into the matrix
        scaled = x.transpose([0, 2, 1]) * self._ops.asarray(rates.reshape(-1, 1, 1))
        residuals = []
        for own, turned, r in zip(x.unbind(), scaled.unbind(), minus_y.unbind(), strict=True):
            residuals.append(paddle.addmm(r, own, theta))  # (B, 1)
            theta = paddle.addmm(theta, turned, residuals[-1])
        return theta, _quantities(x.numpy(), paddle.concat(residuals, 1).numpy().T)


def _quantities(x: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses and gradient norms, (n,) each, from x (n, B, I + 1) and r (n, B).

    By NumPy: what Paddle's sums and roots round to depends on how many steps there are.
    """
    r = np.ascontiguousarray(r)
    grads = (r[:, None] @ x)[:, 0] / r.shape[1]  # (n, I + 1)
    return (r * r).mean(1) / 2, np.sqrt((grads * grads).sum(1))
