"""Convolution, ReLU and pooling of small images, equivalent to PyTorch's and faster on a CPU.

A window of 2 x 2 outputs sees (h+1) x (w+1) inputs. With S what the P x Q windows of n images see,
and ones below for the bias, (C (h+1) (w+1) + 1, P Q n), and W the kernel at its four places in
there, (4 O, C (h+1) (w+1) + 1), Y = W S has the four outputs of all windows in four blocks. Images
lie innermost, (C, H, W, B), so that S is copied in long runs; they go in G groups of n, whose
products fit the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import gcd
from typing import Any

import torch
import torch.nn.functional as F

from lockstep.models.layers import conv_avg_pool, conv_max_pool

Tensor = torch.Tensor
Gradients = tuple[Tensor | None, Tensor, Tensor, None]
threshold_backward = torch.ops.aten.threshold_backward
# images that go through at once: what more of them would take, malloc gives back to the system
# every time (32 MB), and getting it again costs more than the products
LARGEST = 512
GROUP = 32  # images in one product: fewer make it slow, more leave the cache
FEWEST = 16  # below, all go together


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


# --- windows ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Windows:
    """Those of images (B, C, H, W) under a kernel (O, C, h, w) with odd sizes."""

    images: tuple[int, ...]
    kernel: tuple[int, ...]
    padding: int

    @property
    def group(self) -> int:
        """n."""
        divisor = gcd(self.images[0], GROUP)
        return divisor if divisor >= FEWEST else self.images[0]

    @property
    def padded(self) -> tuple[int, int]:
        return self.images[2] + 2 * self.padding, self.images[3] + 2 * self.padding

    @property
    def sight(self) -> tuple[int, int]:
        """What a window sees: h+1, w+1."""
        return self.kernel[2] + 1, self.kernel[3] + 1

    @property
    def counts(self) -> tuple[int, int]:
        """P, Q: without what is left over beside whole windows."""
        (height, width), (h, w) = self.padded, self.sight
        return (height - h) // 2 + 1, (width - w) // 2 + 1

    # --- what windows see, and its gradient
    def seen(self, x: Tensor) -> Tensor:
        """S of x (B, C, H, W): (G, C (h+1) (w+1) + 1, P Q n)."""
        innermost = x.permute(1, 2, 3, 0)  # (C, H, W, B)
        pad = (0, 0, *(self.padding,) * 4)
        innermost = F.pad(innermost, pad) if self.padding else innermost.contiguous()
        (h, w), (p, q), n = self.sight, self.counts, self.group
        views = innermost.unflatten(3, (-1, n)).unfold(1, h, 2).unfold(2, w, 2)
        views = views.permute(3, 0, 5, 6, 1, 2, 4)  # (G, C, h+1, w+1, P, Q, n)
        seen = x.new_empty((views.shape[0], self.images[1] * h * w + 1, p * q * n))
        seen[:, :-1].view(views.shape).copy_(views)
        seen[:, -1] = 1
        return seen

    def images_gradient(self, d_seen: Tensor) -> Tensor:
        """For x, from that of S without its ones. Even and odd places are added at once: inputs
        (2i + u, 2j + v) of window (p, q) are (2 (p+i) + u, 2 (q+j) + v) of the image."""
        (h, w), (p, q), n = self.sight, self.counts, self.group
        batch, channels, *sizes = self.images
        height, width = (size + size % 2 for size in self.padded)
        d_x = d_seen.new_zeros((channels, height, width, batch))
        pairs = d_x.view(channels, height // 2, 2, width // 2, 2, -1, n)
        inputs = pairs.unfold(1, p, 1).unfold(3, q, 1).permute(1, 3, 0, 7, 2, 8, 4, 5, 6)
        places = d_seen.view(-1, channels, h // 2, 2, w // 2, 2, p, q, n)
        places = places.permute(2, 4, 1, 6, 3, 7, 5, 0, 8)  # both (i, j, C, P, u, Q, v, G, n)
        for row, parts in zip(inputs, places, strict=False):  # what is left over has no part
            for own, part in zip(row, parts, strict=False):
                own.add_(part)
        inside = (slice(self.padding, self.padding + size) for size in sizes)
        return d_x[:, *inside].permute(3, 0, 1, 2)

    # --- pooled outputs
    def by_image(self, pooled: Tensor) -> Tensor:
        """(G, O, P Q n) -> (B, O, P, Q), images innermost in memory."""
        p, q = self.counts
        groups = pooled.unflatten(2, (p, q, self.group))
        return groups.permute(1, 2, 3, 0, 4).flatten(3).permute(3, 0, 1, 2)

    def by_group(self, grad: Tensor) -> Tensor:
        """(B, O, P, Q) -> (G, O, P Q n)."""
        groups = grad.permute(1, 2, 3, 0).unflatten(3, (-1, self.group))
        return groups.permute(3, 0, 1, 2, 4).flatten(2)


# --- the kernel at its four places ----------------------------------------------------------------


def four_places(w: Tensor, b: Tensor) -> Tensor:
    """W: zero where a place has no part of the kernel, and the bias: (4 O, C (h+1) (w+1) + 1)."""
    num_outputs, num_inputs, height, width = w.shape
    spread = w.reshape(num_outputs * num_inputs, -1) @ _places(height, width, w.dtype, w.device)
    spread = spread.view(num_outputs, num_inputs, 4, -1).permute(2, 0, 1, 3)
    placed = w.new_empty((4 * num_outputs, num_inputs * spread.shape[3] + 1))
    placed[:, :-1].view(spread.shape).copy_(spread)
    placed[:, -1].view(4, num_outputs).copy_(b)
    return placed


def from_four_places(d_placed: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The gradients for w of this shape and for b, from that of `four_places`."""
    num_outputs, num_inputs, height, width = shape
    spread = d_placed[:, :-1].view(4, num_outputs, num_inputs, -1).permute(1, 2, 0, 3)
    spread = spread.reshape(num_outputs * num_inputs, -1)
    d_w = (spread @ _places(height, width, spread.dtype, spread.device).t()).view(shape)
    return d_w, d_placed[:, -1].view(4, num_outputs).sum(0)


@cache
def _places(height: int, width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Ones from each entry of a kernel to where it lies at each place: (h w, 4 (h+1) (w+1))."""
    entries = torch.eye(height * width, dtype=dtype, device=device).view(-1, height, width)
    corners = [(0, 1, 0, 1), (1, 0, 0, 1), (0, 1, 1, 0), (1, 0, 1, 0)]  # in reading order
    return torch.stack([F.pad(entries, corner) for corner in corners], 1).flatten(1)


# --- products -------------------------------------------------------------------------------------


def outputs(placed: Tensor, seen: Tensor) -> Tensor:
    """Y: (G, 4, O, P Q n)."""
    y = torch.bmm(placed.expand(seen.shape[0], -1, -1), seen)
    return y.unflatten(1, (4, -1))


def gradients(
    windows: Windows, d_y: Tensor, seen: Tensor, placed: Tensor, for_images: bool
) -> tuple[Tensor | None, Tensor, Tensor]:
    """For x, if wanted, for w and for b."""
    d_y = d_y.flatten(1, 2)
    d_w, d_b = from_four_places(torch.bmm(d_y, seen.transpose(1, 2)).sum(0), windows.kernel)
    if not for_images:
        return None, d_w, d_b
    d_seen = torch.bmm(placed[:, :-1].t().expand(seen.shape[0], -1, -1), d_y)
    return windows.images_gradient(d_seen), d_w, d_b
