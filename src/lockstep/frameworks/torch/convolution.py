"""Convolution and max-pooling for small images, faster than PyTorch's own on a CPU and equal.

PyTorch's weight gradient for a one-channel image and its pooling of contiguous images take most of
LeNet's step; as matrix products over patches, and as comparisons of slices, both take a quarter.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.grad import conv2d_input

Tensor = torch.Tensor
threshold_backward = torch.ops.aten.threshold_backward
MAX_PLANES = 64  # planes of patches up to which copying them is cheaper than a convolution
MAX_OUTPUTS = 256  # of a plane: as a kernel larger ones would be slow
GROUP = 4  # images in one product: fewer are too small to be fast, more leave the cache


def fused_conv_max_pool(ops: Any, x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
    """relu(max_pool2d(conv2d(x, w, b))) with windows of 2 x 2."""
    if patches_pay(x, w, padding):
        return _PatchConvolution.apply(x, w, b, padding)
    return F.relu(_SlicePool.apply(whole_windows(_conv2d(x, w, b, padding))))


def patches_pay(x: Tensor, w: Tensor, padding: int) -> bool:
    """Whether a product over shared patches can take the convolution's place, and is faster."""
    planes = w.shape[1] * (w.shape[2] + 1) * (w.shape[3] + 1)
    even = not any(size % 2 for size in output_sizes(x, w, padding))
    return planes <= MAX_PLANES and not x.requires_grad and even


def output_sizes(x: Tensor, w: Tensor, padding: int) -> tuple[int, int]:
    """Height and width of the convolution's outputs."""
    return x.shape[2] + 2 * padding - w.shape[2] + 1, x.shape[3] + 2 * padding - w.shape[3] + 1


def _conv2d(x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
    """A convolution, with the weight gradient that is faster where its outputs are small."""
    height, width = output_sizes(x, w, padding)
    if x.dtype != torch.float32 or height * width > MAX_OUTPUTS:
        return F.conv2d(x, w, b, padding=padding)
    return _SwappedConvolution.apply(x, w, b, padding)


class _SwappedConvolution(torch.autograd.Function):
    """conv2d whose weight gradient is a convolution too: of x by the gradient of the outputs, with
    examples in the place of channels, dW[o, c] = sum_n x[n, c] * dY[n, o]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
        ctx.save_for_backward(x, w)
        ctx.padding = padding
        return F.conv2d(x, w, b, padding=padding)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None]:
        x, w = ctx.saved_tensors
        d_x = None
        if ctx.needs_input_grad[0]:
            d_x = conv2d_input(list(x.shape), w, grad, padding=ctx.padding)
        by_channel = x.transpose(0, 1).contiguous(), grad.transpose(0, 1).contiguous()
        d_w = F.conv2d(*by_channel, padding=ctx.padding).transpose(0, 1)
        return d_x, d_w, grad.sum((0, 2, 3)), None


def whole_windows(y: Tensor) -> Tensor:
    """y without what is left over of its height and width beside windows of 2 x 2."""
    return y[:, :, : y.shape[2] // 2 * 2, : y.shape[3] // 2 * 2]


def window_outputs(
    x: Tensor, w: Tensor, b: Tensor, padding: int
) -> tuple[Tensor, Tensor, tuple[int, int]]:
    """S, the four outputs of every window Y = W S + b: (B/g, 4, O, g windows), and how many windows
    there are down and across. W is the kernel at its four places, S what each window sees."""
    patches, shape = window_patches(x, w.shape[2], w.shape[3], padding)
    kernel = four_places(w).flatten(0, 2).flatten(1)  # (4 O, C (h+1) (w+1))
    groups = len(patches)
    y = torch.baddbmm(b.repeat(4).view(1, -1, 1), kernel.expand(groups, -1, -1), patches)
    return patches, y.view(groups, 4, len(w), -1), shape


class _PatchConvolution(torch.autograd.Function):
    """The four convolution outputs of every pooling window as one product over shared patches.

    A window of 2 x 2 outputs sees (h+1) x (w+1) inputs. With S those inputs for all windows of g
    images, (B/g, C (h+1) (w+1), g windows), and W the kernel at its four places in them,
    Y = W S + b is (B/g, 4, O, g windows), and pooling compares four contiguous blocks. No gradient
    for x.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor, padding: int) -> Tensor:
        patches, y, shape = window_outputs(x, w, b, padding)
        groups, channels = len(patches), len(w)
        best, winners = _largest(*y.unbind(1))
        best.clamp_(min=0)
        ctx.save_for_backward(patches, best, *winners)
        ctx.shape = w.shape
        by_image = best.view(groups, channels, len(x) // groups, -1).transpose(1, 2)
        return by_image.reshape(len(x), channels, *shape)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor, None]:
        patches, best, *winners = ctx.saved_tensors
        groups, channels, windows = best.shape
        by_group = grad.reshape(groups, len(grad) // groups, channels, -1).transpose(1, 2)
        grad = threshold_backward(by_group.reshape(best.shape), best, 0)  # ReLU's
        d_y = grad.new_empty((groups, 4, channels, windows))
        _to_winners(grad, winners, *d_y.unbind(1))
        d_y = d_y.view(groups, 4 * channels, windows)
        d_kernel = torch.bmm(d_y, patches.transpose(1, 2)).sum(0)
        return None, from_four_places(d_kernel, ctx.shape), grad.sum((0, 2)), None


def window_patches(x: Tensor, h: int, w: int, padding: int) -> tuple[Tensor, tuple[int, int]]:
    """S: input (2p + i, 2q + j) for every window (p, q) and place (i, j) in what it sees."""
    group = GROUP if len(x) % GROUP == 0 else 1
    x = F.pad(x, (padding,) * 4)
    height, width = (x.shape[2] - h + 1) // 2, (x.shape[3] - w + 1) // 2
    # even and odd rows and columns apart: every plane is then made of contiguous runs
    even_odd = x[:, :, : x.shape[2] // 2 * 2, : x.shape[3] // 2 * 2]
    even_odd = even_odd.unflatten(3, (-1, 2)).unflatten(2, (-1, 2)).unflatten(0, (-1, group))
    even_odd = even_odd.permute(0, 2, 4, 6, 1, 3, 5).contiguous()  # (B/g, C, 2, 2, g, H/2, W/2)
    planes = even_odd.unfold(5, height, 1).unfold(6, width, 1)  # (..., g, I/2, J/2, h, w)
    planes = planes.permute(0, 1, 5, 2, 6, 3, 4, 7, 8).flatten(4, 5).flatten(2, 3)
    planes = planes[:, :, : h + 1, : w + 1]  # (B/g, C, h+1, w+1, g, h, w)
    return planes.reshape(len(x) // group, -1, group * height * width), (height, width)


def four_places(w: Tensor) -> Tensor:
    """The kernel at the four places of a window: (2, 2, O, C, h+1, w+1), zero elsewhere."""
    channels, inputs, height, width = w.shape
    placed = w.new_zeros((2, 2, channels, inputs, height + 1, width + 1))
    for u in (0, 1):
        for v in (0, 1):
            placed[u, v, :, :, u : u + height, v : v + width] = w
    return placed


def from_four_places(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    channels, inputs, height, width = shape
    placed = grad.view(2, 2, channels, inputs, height + 1, width + 1)
    parts = [placed[u, v, :, :, u : u + height, v : v + width] for u in (0, 1) for v in (0, 1)]
    return torch.stack(parts).sum(0)


class _SlicePool(torch.autograd.Function):
    """Pooling of 2 x 2 windows by comparing slices; height and width are even."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        best, winners = _largest(*slices(x))
        ctx.save_for_backward(*winners)
        return best

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        batch, channels, height, width = grad.shape
        out = grad.new_empty((batch, channels, 2 * height, 2 * width))
        _to_winners(grad, ctx.saved_tensors, *slices(out))
        return out


def slices(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The four corners of every window, in reading order."""
    return x[:, :, ::2, ::2], x[:, :, ::2, 1::2], x[:, :, 1::2, ::2], x[:, :, 1::2, 1::2]


def _largest(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The largest of four, and who won: b over a, d over c, the second pair over the first.

    Strict comparisons: at a tie the earlier one wins, as in PyTorch's pooling.
    """
    top, bottom = torch.maximum(a, b), torch.maximum(c, d)
    return torch.maximum(top, bottom), (_greater(b, a), _greater(d, c), _greater(bottom, top))


def _greater(a: Tensor, b: Tensor) -> Tensor:
    """a > b as 1.0 and 0.0: made and multiplied four times as fast as booleans."""
    return torch.gt(a, b, out=torch.empty_like(a, memory_format=torch.contiguous_format))


def _to_winners(grad: Tensor, winners: Any, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> None:
    """Write the gradient of the largest of four into a, b, c and d."""
    b_over_a, d_over_c, second = winners
    bottom = grad * second
    for part, won, left, right in ((grad - bottom, b_over_a, a, b), (bottom, d_over_c, c, d)):
        torch.mul(part, won, out=right)
        torch.sub(part, right, out=left)
