"""The symbol GRU with its gradient written out: one weight-gradient product for all time steps.

Equivalent to `models.recurrent.symbol_gru`, whose loop autograd would record operation by
operation. Inside, features come first, (H, B): gates are then contiguous blocks of rows, and the
products run a third faster. One matrix M = [w_h; w_x; b; 0] is multiplied with
U_t = [H_t-1; one-hot X_t; 1; 0], so that inputs and bias cost no operation of their own, forwards
or backwards. The loops write into memory that stays in the cache.
"""

from __future__ import annotations

from typing import Any

import torch

Tensor = torch.Tensor
tanh_backward = torch.ops.aten.tanh_backward.grad_input
sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input


def fused_symbol_gru(ops: Any, x: Tensor, h: Tensor, w: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """All states (T, B, H) and the last, from symbols x (T, B)."""
    if "b_h" in w:
        states = _After.apply(x, h, w["w_x"], w["w_h"], w["b"], w["b_h"])
    else:
        states = _Before.apply(x, h, w["w_x"], w["w_h"], w["b"])
    return states, states[-1]


class _Before(torch.autograd.Function):
    """C = tanh(P_h + (R H) W_h)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
        n = h.shape[1]
        inputs = _inputs(x, h, w_x)  # U: (T + 1, K, B), its first H rows filled step by step
        resets = inputs[:-1].clone()  # the same with R H in place of H
        matrix = _matrix(w_x, w_h, b, inputs.shape[1])  # (3H, K)
        w_gates, w_cand = matrix[: 2 * n], matrix[2 * n :]
        gates = h.new_empty((len(x), 2 * n, h.shape[0]))
        cand = h.new_empty((len(x), n, h.shape[0]))
        states = inputs[:, :n].unbind()
        for u, h, after, v, reset, g, z, r, c in zip(
            inputs.unbind(), states, states[1:], resets.unbind(), resets[:, :n].unbind(),
            gates.unbind(), gates[:, :n].unbind(), gates[:, n:].unbind(), cand.unbind(),
            strict=False,  # there is one more state than steps
        ):  # fmt: skip
            torch.mm(w_gates, u, out=g).sigmoid_()
            torch.mul(r, h, out=reset)
            torch.mm(w_cand, v, out=c).tanh_()
            torch.lerp(c, h, z, out=after)  # c + z (h - c)
        ctx.save_for_backward(inputs, resets, gates, cand, w_h)
        ctx.vocab_size = len(w_x)
        return inputs[1:, :n].transpose(1, 2).contiguous()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        inputs, resets, gates, cand, w_h = ctx.saved_tensors
        n = cand.shape[1]
        d_gates, d_cand = torch.empty_like(gates), torch.empty_like(cand)
        w_gates, w_cand = w_h[:, : 2 * n].contiguous(), w_h[:, 2 * n :].contiguous()
        grad = grad.transpose(1, 2).contiguous()  # (T, H, B)
        dh, room = torch.zeros_like(cand[0]), torch.empty_like(cand[0])
        gates_room = torch.empty_like(gates[0])
        dz, dr = gates_room[:n], gates_room[n:]
        for own, h, c, g, z, r, d_c, d_g in zip(
            *(_backwards(each) for each in (
                grad, inputs[:-1, :n], cand, gates, gates[:, :n], gates[:, n:], d_cand, d_gates,
            )),
            strict=True,
        ):  # fmt: skip
            dh += own
            torch.addcmul(dh, dh, z, value=-1, out=room)  # dC = dH (1 - Z)
            tanh_backward(room, c, grad_input=d_c)
            torch.sub(h, c, out=room)
            torch.mul(dh, room, out=dz)  # dZ = dH (H - C)
            torch.mm(w_cand, d_c, out=room)  # d(R H)
            torch.mul(room, h, out=dr)
            sigmoid_backward(gates_room, g, grad_input=d_g)
            dh.mul_(z).addcmul_(room, r).addmm_(w_gates, d_g)
        d_matrix = torch.cat([_product(inputs[:-1], d_gates), _product(resets, d_cand)], dim=1)
        d_w_x, d_w_h, d_b = _parts(d_matrix, n, ctx.vocab_size)
        return None, dh.t(), d_w_x, d_w_h, d_b


class _After(torch.autograd.Function):
    """C = tanh(P_h + R (H W_h + b_h)); the other gates add their parts of b_h too."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor, b_h: Tensor
    ) -> Tensor:
        n = h.shape[1]
        inputs = _inputs(x, h, w_x)
        # rows z and r see inputs and both biases; the candidate's product sees the state alone
        matrix = _matrix(w_x, w_h, b + b_h, inputs.shape[1])
        matrix[2 * n :, n : n + len(w_x)] = 0
        matrix[2 * n :, n + len(w_x)] = b_h[2 * n :]
        w_input = _matrix(w_x[:, 2 * n :], w_h[:, 2 * n :], b[2 * n :], inputs.shape[1])[:, n:]
        p_cand = torch.matmul(w_input, inputs[:-1, n:])  # (T, H, B)
        products = h.new_empty((len(x), 3 * n, h.shape[0]))
        states = inputs[:, :n].unbind()
        for u, h, after, q, g, z, r, q_c, c in zip(
            inputs.unbind(), states, states[1:], products.unbind(), products[:, : 2 * n].unbind(),
            products[:, :n].unbind(), products[:, n : 2 * n].unbind(),
            products[:, 2 * n :].unbind(), p_cand.unbind(),
            strict=False,  # there is one more state than steps
        ):  # fmt: skip
            torch.mm(matrix, u, out=q)
            g.sigmoid_()
            c.addcmul_(r, q_c).tanh_()
            torch.lerp(c, h, z, out=after)  # c + z (h - c)
        ctx.save_for_backward(inputs, products, p_cand, w_h)
        ctx.vocab_size = len(w_x)
        return inputs[1:, :n].transpose(1, 2).contiguous()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        inputs, products, cand, w_h = ctx.saved_tensors
        _, n, batch = cand.shape
        d_products, d_cand = torch.empty_like(products), torch.empty_like(cand)
        grad = grad.transpose(1, 2).contiguous()
        dh, room = torch.zeros_like(cand[0]), torch.empty_like(cand[0])
        gates_room = room.new_empty((2 * n, batch))
        dz, dr = gates_room[:n], gates_room[n:]
        for own, h, c, g, z, r, q_c, d_c, d, d_g, d_q in zip(
            *(_backwards(each) for each in (
                grad, inputs[:-1, :n], cand, products[:, : 2 * n], products[:, :n],
                products[:, n : 2 * n], products[:, 2 * n :], d_cand, d_products,
                d_products[:, : 2 * n], d_products[:, 2 * n :],
            )),
            strict=True,
        ):  # fmt: skip
            dh += own
            torch.addcmul(dh, dh, z, value=-1, out=room)  # dC = dH (1 - Z)
            tanh_backward(room, c, grad_input=d_c)
            torch.mul(d_c, r, out=d_q)
            torch.mul(d_c, q_c, out=dr)
            torch.sub(h, c, out=room)
            torch.mul(dh, room, out=dz)  # dZ = dH (H - C)
            sigmoid_backward(gates_room, g, grad_input=d_g)
            dh.mul_(z).addmm_(w_h, d)
        d_matrix = _product(inputs[:-1], d_products)
        d_b_h = d_matrix[n + ctx.vocab_size].clone()
        d_matrix[n:, 2 * n :] = _product(inputs[:-1, n:], d_cand)
        d_w_x, d_w_h, d_b = _parts(d_matrix, n, ctx.vocab_size)
        return None, dh.t(), d_w_x, d_w_h, d_b, d_b_h


def _backwards(x: Tensor) -> tuple[Tensor, ...]:
    """Views of x, last step first: all at once, for one at a time takes longer than using it."""
    return x.unbind()[::-1]


def _inputs(x: Tensor, h: Tensor, w_x: Tensor) -> Tensor:
    """U (T + 1, K, B): rows for the state, the one-hot symbol, a one, and zeros up to K."""
    steps, (batch, n), vocab_size = len(x), h.shape, len(w_x)
    width = (n + vocab_size + 1 + 15) // 16 * 16  # whole cache lines
    inputs = h.new_zeros((steps + 1, width, batch))
    inputs[0, :n] = h.t()
    inputs[:-1, n : n + vocab_size].scatter_(1, x.unsqueeze(1), 1.0)
    inputs[:-1, n + vocab_size] = 1
    return inputs


def _matrix(w_x: Tensor, w_h: Tensor, b: Tensor, width: int) -> Tensor:
    """M (rows of b, K), to be multiplied with U."""
    spare = b.new_zeros((len(b), width - len(w_h) - len(w_x) - 1))
    return torch.cat([w_h.t(), w_x.t(), b.unsqueeze(1), spare], dim=1)


def _product(inputs: Tensor, grads: Tensor) -> Tensor:
    """sum_t U_t G_t^T: the weight gradient (K, rows), as one product over all steps."""
    left = inputs.transpose(0, 1).reshape(inputs.shape[1], -1)  # (K, T B)
    right = grads.transpose(0, 1).reshape(grads.shape[1], -1)
    return left @ right.t()


def _parts(d_matrix: Tensor, num_hiddens: int, vocab_size: int) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of w_x, w_h and b out of that of M transposed (K, 3H)."""
    end = num_hiddens + vocab_size
    return d_matrix[num_hiddens:end], d_matrix[:num_hiddens], d_matrix[end]
