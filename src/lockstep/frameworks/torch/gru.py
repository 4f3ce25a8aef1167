"""A GRU layer with its gradient written out: one weight-gradient product for all time steps.

Equal to `models.recurrent.gru_layer`, whose loop autograd would record operation by operation. All
factors that need no earlier result are computed for every step at once; the loops keep only what
depends on the step before. Shapes as there: p (T, B, 3H), h (B, H), gates in order z, r, h.
"""

from __future__ import annotations

from typing import Any

import torch

Tensor = torch.Tensor


def fused_gru_layer(
    ops: Any, p: Tensor, h: Tensor, w_h: Tensor, b_h: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """All states (T, B, H) and the last."""
    states = _Before.apply(p, h, w_h) if b_h is None else _After.apply(p, h, w_h, b_h)
    return states, states[-1]


class _Before(torch.autograd.Function):
    """C = tanh(P_h + (R H) W_h)."""

    @staticmethod
    def forward(ctx: Any, p: Tensor, h: Tensor, w_h: Tensor) -> Tensor:
        steps, batch, n = p.shape[0], p.shape[1], h.shape[1]
        w_gates, w_cand = w_h[:, : 2 * n].contiguous(), w_h[:, 2 * n :].contiguous()
        states = p.new_empty((steps + 1, batch, n))
        states[0] = h
        gates, cand = p.new_empty((steps, batch, 2 * n)), p.new_empty((steps, batch, n))
        reset = torch.empty_like(cand)  # R H_prev
        p_gates, p_cand = p[:, :, : 2 * n], p[:, :, 2 * n :]
        for t in range(steps):
            h = states[t]
            g = torch.addmm(p_gates[t], h, w_gates, out=gates[t]).sigmoid_()
            rh = torch.mul(g[:, n:], h, out=reset[t])
            c = torch.addmm(p_cand[t], rh, w_cand, out=cand[t]).tanh_()
            torch.lerp(c, h, g[:, :n], out=states[t + 1])  # c + z (h - c)
        ctx.save_for_backward(states, gates, cand, reset, w_gates, w_cand)
        return states[1:]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        states, gates, cand, reset, w_gates, w_cand = ctx.saved_tensors
        steps, batch, n = cand.shape
        previous = states[:-1]
        z, r = gates[:, :, :n], gates[:, :, n:]
        to_cand = (1 - z) * (1 - cand * cand)  # dh -> d(pre-tanh)
        to_z = (previous - cand) * z * (1 - z)  # dh -> d(pre-sigmoid z)
        to_r = previous * r * (1 - r)  # d(R H) -> d(pre-sigmoid r)
        grad_p = cand.new_empty((steps, batch, 3 * n))
        gates_t, cand_t = w_gates.t(), w_cand.t()
        dh = torch.zeros_like(cand[0])
        for t in range(steps - 1, -1, -1):
            dh = dh + grad[t]
            out = grad_p[t]
            d_cand = torch.mul(dh, to_cand[t], out=out[:, 2 * n :])
            torch.mul(dh, to_z[t], out=out[:, :n])
            d_reset = d_cand @ cand_t
            torch.mul(d_reset, to_r[t], out=out[:, n : 2 * n])
            dh = (dh * z[t]).addcmul_(d_reset, r[t]).addmm_(out[:, : 2 * n], gates_t)
        flat = grad_p.view(steps * batch, 3 * n)
        grad_w = torch.cat(
            [
                previous.reshape(-1, n).t() @ flat[:, : 2 * n],
                reset.view(-1, n).t() @ flat[:, 2 * n :],
            ],
            dim=1,
        )
        return grad_p, dh, grad_w


class _After(torch.autograd.Function):
    """C = tanh(P_h + R (H W_h + b_h))."""

    @staticmethod
    def forward(ctx: Any, p: Tensor, h: Tensor, w_h: Tensor, b_h: Tensor) -> Tensor:
        steps, batch, n = p.shape[0], p.shape[1], h.shape[1]
        states = p.new_empty((steps + 1, batch, n))
        states[0] = h
        gates, cand = p.new_empty((steps, batch, 2 * n)), p.new_empty((steps, batch, n))
        products = p.new_empty((steps, batch, 3 * n))  # H_prev W_h + b_h
        p_gates, p_cand = p[:, :, : 2 * n], p[:, :, 2 * n :]
        for t in range(steps):
            h = states[t]
            q = torch.addmm(b_h, h, w_h, out=products[t])
            g = torch.add(p_gates[t], q[:, : 2 * n], out=gates[t]).sigmoid_()
            c = torch.addcmul(p_cand[t], g[:, n:], q[:, 2 * n :], out=cand[t]).tanh_()
            torch.lerp(c, h, g[:, :n], out=states[t + 1])  # c + z (h - c)
        ctx.save_for_backward(states, gates, cand, products, w_h)
        return states[1:]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        states, gates, cand, products, w_h = ctx.saved_tensors
        steps, batch, n = cand.shape
        previous = states[:-1]
        z, r = gates[:, :, :n], gates[:, :, n:]
        to_cand = (1 - z) * (1 - cand * cand)
        to_z = (previous - cand) * z * (1 - z)
        to_r = to_cand * products[:, :, 2 * n :] * r * (1 - r)  # dh -> d(pre-sigmoid r)
        to_product = to_cand * r  # dh -> d(H W_h), candidate's part
        grad_q = cand.new_empty((steps, batch, 3 * n))
        grad_cand = torch.empty_like(cand)
        w_t = w_h.t()
        dh = torch.zeros_like(cand[0])
        for t in range(steps - 1, -1, -1):
            dh = dh + grad[t]
            out = grad_q[t]
            torch.mul(dh, to_z[t], out=out[:, :n])
            torch.mul(dh, to_r[t], out=out[:, n : 2 * n])
            torch.mul(dh, to_product[t], out=out[:, 2 * n :])
            torch.mul(dh, to_cand[t], out=grad_cand[t])
            dh = (dh * z[t]).addmm_(out, w_t)
        flat = grad_q.view(steps * batch, 3 * n)
        grad_w = previous.reshape(-1, n).t() @ flat
        grad_p = torch.cat([grad_q[:, :, : 2 * n], grad_cand], dim=2)
        return grad_p, dh, grad_w, flat.sum(0)
