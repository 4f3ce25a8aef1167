"""Convolution and max-pooling for small images, faster than PyTorch's own on a CPU and equal.

PyTorch's weight gradient for a one-channel image and its pooling of contiguous images take most of
LeNet's step; as matrix products over patches, and as comparisons of slices, both take a quarter.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

Tensor = torch.Tensor
MAX_PATCH = 32  # entries of a patch up to which copying patches is cheaper than a convolution


def conv2d(x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
    """Cross-correlation: by patches where they are small, else PyTorch's."""
    if w[0].numel() <= MAX_PATCH and not x.requires_grad:
        return _PatchConvolution.apply(x, w, b, padding)
    return F.conv2d(x, w, b, padding=padding)


class _PatchConvolution(torch.autograd.Function):
    """y = w P + b with P the patches of x (B, C h w, H' W'). No gradient for x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
        patches, (height, width) = _patches(x, w.shape[2], w.shape[3], padding)
        ctx.save_for_backward(patches)
        ctx.shape = w.shape
        kernel = w.reshape(1, w.shape[0], -1).expand(x.shape[0], -1, -1)
        y = torch.baddbmm(b.view(1, -1, 1), kernel, patches)
        return y.view(x.shape[0], w.shape[0], height, width)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor, None]:
        (patches,) = ctx.saved_tensors
        flat = grad.reshape(*grad.shape[:2], -1)  # (B, O, H' W')
        grad_w = torch.bmm(flat, patches.transpose(1, 2)).sum(0).view(ctx.shape)
        return None, grad_w, flat.sum((0, 2)), None


def _patches(x: Tensor, h: int, w: int, padding: int) -> tuple[Tensor, tuple[int, int]]:
    x = F.pad(x, (padding,) * 4).contiguous()
    batch, channels, height, width = x.shape
    out = (height - h + 1, width - w + 1)
    sb, sc, sh, sw = x.stride()
    view = x.as_strided((batch, channels, h, w, *out), (sb, sc, sh, sw, sh, sw))
    return view.reshape(batch, channels * h * w, out[0] * out[1]), out


def max_pool2d(x: Tensor) -> Tensor:
    """Windows of 2 x 2; the first largest of each gets the gradient."""
    height, width = x.shape[2] // 2 * 2, x.shape[3] // 2 * 2
    return _SlicePool.apply(x[:, :, :height, :width])


class _SlicePool(torch.autograd.Function):
    """The larger of the larger of each row of a window, with who won remembered."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        a, b = x[:, :, ::2, ::2], x[:, :, ::2, 1::2]
        c, d = x[:, :, 1::2, ::2], x[:, :, 1::2, 1::2]
        top, bottom = torch.maximum(a, b), torch.maximum(c, d)
        # strict comparisons: at a tie the earlier position wins, as in PyTorch
        ctx.save_for_backward(b > a, d > c, bottom > top)
        return torch.maximum(top, bottom)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        right_top, right_bottom, below = ctx.saved_tensors
        batch, channels, height, width = grad.shape
        out = grad.new_empty((batch, channels, 2 * height, 2 * width))
        bottom = grad * below
        for row, part, right in ((0, grad - bottom, right_top), (1, bottom, right_bottom)):
            moved = part * right
            out[:, :, row::2, 1::2] = moved
            torch.sub(part, moved, out=out[:, :, row::2, ::2])
        return out
