"""Convolution, ReLU and average-pooling for small images, faster than PyTorch's own and equal.

One-channel images go through a product over shared patches (convolution.py); others through
PyTorch's convolution with channels last, where pooling by slices reads contiguous channels.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from lockstep.frameworks.torch.convolution import (
    from_four_places,
    patches_pay,
    slices,
    threshold_backward,
    whole_windows,
    window_outputs,
)

Tensor = torch.Tensor


def fused_conv_avg_pool(ops: Any, x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
    """avg_pool2d(relu(conv2d(x, w, b))) with windows of 2 x 2."""
    if patches_pay(x, w, padding):
        return _PatchConvolution.apply(x, w, b, padding)
    y = F.conv2d(_channels_last(x), _channels_last(w), b, padding=padding)
    return _SliceAverage.apply(y)


def _channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last)


class _PatchConvolution(torch.autograd.Function):
    """The four outputs of every window as one product, Y = W S + b: (B/g, 4, O, g windows); their
    positive parts are averaged. The result has its channels last. No gradient for x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
        patches, y, shape = window_outputs(x, w, b, padding)
        groups, channels = len(patches), len(w)
        y.clamp_(min=0)
        ctx.save_for_backward(patches, y)
        ctx.shape = w.shape
        mean = y.sum(1).mul_(0.25)  # (B/g, O, g windows)
        by_image = mean.view(groups, channels, len(x) // groups, -1).permute(0, 2, 3, 1)
        return by_image.reshape(len(x), *shape, channels).permute(0, 3, 1, 2)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor, None]:
        patches, y = ctx.saved_tensors
        groups, _, channels, windows = y.shape
        quarter = grad.permute(0, 2, 3, 1).reshape(groups, -1, channels).transpose(1, 2)
        quarter = (quarter * 0.25).unsqueeze(1).expand(groups, 4, channels, windows)
        d_y = threshold_backward(quarter.contiguous(), y, 0).view(groups, 4 * channels, windows)
        d_kernel = torch.bmm(d_y, patches.transpose(1, 2)).sum(0)
        d_b = d_y.sum((0, 2)).view(4, channels).sum(0)
        return None, from_four_places(d_kernel, ctx.shape), d_b, None


class _SliceAverage(torch.autograd.Function):
    """The mean of the positive parts of the four corners of every window; what is left over in
    height and width is dropped."""

    @staticmethod
    def forward(ctx: Any, y: Tensor) -> Tensor:
        a, b, c, d = slices(whole_windows(y))
        ctx.save_for_backward(y)
        return F.relu(a).add_(F.relu(b)).add_(F.relu(c)).add_(F.relu(d)).mul_(0.25)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        quarter = grad * 0.25
        even = y.shape[2] % 2 == 0 and y.shape[3] % 2 == 0
        d_y = torch.empty_like(y) if even else torch.zeros_like(y)
        for out, part in zip(slices(whole_windows(d_y)), slices(whole_windows(y)), strict=True):
            out.copy_(threshold_backward(quarter, part, 0))
        return d_y
