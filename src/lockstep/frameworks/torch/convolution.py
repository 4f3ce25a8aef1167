"""Convolution, ReLU and pooling for small images, faster than PyTorch's own on a CPU and equal."""

from __future__ import annotations

from typing import Any

import torch

from lockstep.frameworks.torch.windows import Windows, four_places, gradients, outputs
from lockstep.models.layers import conv_avg_pool, conv_max_pool

Tensor = torch.Tensor
Gradients = tuple[Tensor | None, Tensor, Tensor, None]
threshold_backward = torch.ops.aten.threshold_backward
# images that go through at once: what more of them would take, malloc gives back to the system
# every time (32 MB), and getting it again costs more than the products
LARGEST = 512


def fused_conv_max_pool(ops: Any, x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
    """relu(max_pool2d(conv2d(x, w, b))) with windows of 2 x 2."""
    if not _is_odd(w):
        pooled: Tensor = conv_max_pool(ops, x, w, b, padding)
        return pooled
    return _in_parts(_MaxPooled, x, w, b, padding)


def fused_conv_avg_pool(ops: Any, x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
    """avg_pool2d(relu(conv2d(x, w, b))) with windows of 2 x 2."""
    if not _is_odd(w):
        pooled: Tensor = conv_avg_pool(ops, x, w, b, padding)
        return pooled
    return _in_parts(_AveragePooled, x, w, b, padding)


def _is_odd(w: Tensor) -> bool:
    return w.shape[2] % 2 == 1 and w.shape[3] % 2 == 1


def _in_parts(function: Any, x: Tensor, *given: Any) -> Tensor:
    if x.shape[0] <= LARGEST:
        pooled: Tensor = function.apply(x, *given)
        return pooled
    return torch.cat([function.apply(part, *given) for part in x.split(LARGEST)])


class _MaxPooled(torch.autograd.Function):
    """The largest of a window's four outputs, if it is positive."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
        ctx.windows = Windows(x.shape, w.shape, padding)
        seen, placed = ctx.windows.seen(x), four_places(w, b)
        best, winners = _largest(*outputs(placed, seen).unbind(1))
        best.clamp_(min=0)
        ctx.save_for_backward(seen, placed, best, *winners)
        return ctx.windows.by_image(best)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Gradients:
        seen, placed, best, *winners = ctx.saved_tensors
        grad = threshold_backward(ctx.windows.by_group(grad), best, 0)  # ReLU's
        num_groups, num_outputs, num_windows = best.shape
        d_y = grad.new_empty((num_groups, 4, num_outputs, num_windows))
        _to_winners(grad, winners, *d_y.unbind(1))
        return *gradients(ctx.windows, d_y, seen, placed, ctx.needs_input_grad[0]), None


class _AveragePooled(torch.autograd.Function):
    """The mean of the positive parts of a window's four outputs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
        ctx.windows = Windows(x.shape, w.shape, padding)
        seen, placed = ctx.windows.seen(x), four_places(w, b)
        positive = outputs(placed, seen).clamp_(min=0)
        ctx.save_for_backward(seen, placed, positive)
        first, second, third, fourth = positive.unbind(1)
        mean = torch.add(first, second).add_(third).add_(fourth).mul_(0.25)
        return ctx.windows.by_image(mean)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Gradients:
        seen, placed, positive = ctx.saved_tensors
        quarter = ctx.windows.by_group(grad).mul(0.25).unsqueeze(1).expand(positive.shape)
        d_y = threshold_backward(quarter, positive, 0)
        return *gradients(ctx.windows, d_y, seen, placed, ctx.needs_input_grad[0]), None


def _largest(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The largest of four, and who won: b over a, d over c, the second pair over the first. a and c
    are lost.

    Strict comparisons: at a tie the earlier one wins, as in PyTorch's pooling.
    """
    b_over_a, d_over_c = _greater(b, a), _greater(d, c)
    top, bottom = torch.maximum(a, b, out=a), torch.maximum(c, d, out=c)
    return torch.maximum(top, bottom), (b_over_a, d_over_c, _greater(bottom, top))


def _greater(a: Tensor, b: Tensor) -> Tensor:
    """a > b as 1.0 and 0.0: made and multiplied four times as fast as booleans."""
    return torch.gt(a, b, out=torch.empty_like(a, memory_format=torch.contiguous_format))


def _to_winners(grad: Tensor, winners: Any, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> None:
    """Write the gradient of the largest of four, which is lost, into a, b, c and d."""
    b_over_a, d_over_c, second = winners
    bottom = grad * second
    for part, won, left, right in ((grad.sub_(bottom), b_over_a, a, b), (bottom, d_over_c, c, d)):
        torch.mul(part, won, out=right)
        torch.sub(part, right, out=left)
