"""The faster convolution and pooling: values by PyTorch's own layers, gradients by finite
differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed here")
import torch.nn.functional as F  # noqa: E402

from lockstep.frameworks.torch.fused import convolution  # noqa: E402
from lockstep.frameworks.torch.fused.convolution import (  # noqa: E402
    fused_conv_avg_pool,
    fused_conv_max_pool,
)
from lockstep.frameworks.torch.ops import TorchOps  # noqa: E402

OPS = TorchOps("float64")


def plain_max(x: Any, w: Any, b: Any, padding: int) -> Any:
    return F.max_pool2d(F.relu(F.conv2d(x, w, b, padding=padding)), 2)


def plain_avg(x: Any, w: Any, b: Any, padding: int) -> Any:
    return F.avg_pool2d(F.relu(F.conv2d(x, w, b, padding=padding)), 2)


POOLED = [(fused_conv_max_pool, plain_max), (fused_conv_avg_pool, plain_avg)]
# batch, height and width of images, kernel, padding: even and odd sizes, rows left over beside
# whole windows, batches with and without groups, and one that goes in parts
CASES = [
    (2, (6, 6), (3, 3), 0),
    (3, (7, 6), (3, 3), 0),
    (2, (6, 9), (5, 3), 1),
    (2, (4, 5), (3, 3), 2),
    (4, (6, 5), (3, 3), 0),
    (7, (5, 6), (3, 3), 0),
    (3, (6, 6), (2, 2), 0),
]


@pytest.mark.parametrize(("fused", "plain"), POOLED)
@pytest.mark.parametrize(("batch", "size", "kernel", "padding"), CASES)
def test_values_and_gradients(
    fused: Callable[..., Any],
    plain: Callable[..., Any],
    batch: int,
    size: tuple[int, int],
    kernel: tuple[int, int],
    padding: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(convolution, "FEWEST", 2)
    monkeypatch.setattr(convolution, "GROUP", 2)
    monkeypatch.setattr(convolution, "LARGEST", 4)
    chance = torch.Generator().manual_seed(0)
    shapes = (batch, 2, *size), (3, 2, *kernel), (3,)
    inputs = [torch.randn(s, generator=chance, dtype=torch.float64) for s in shapes]
    for value in inputs:
        value.requires_grad_()
    torch.testing.assert_close(fused(OPS, *inputs, padding), plain(*inputs, padding))
    assert torch.autograd.gradcheck(lambda *given: fused(OPS, *given, padding), inputs)


@pytest.mark.parametrize(("fused", "plain"), POOLED)
def test_at_ties_the_gradient_goes_where_pytorch_sends_it(
    fused: Callable[..., Any], plain: Callable[..., Any]
) -> None:
    """A blank image makes every output of a channel the same."""
    x = torch.zeros((2, 1, 6, 6), dtype=torch.float64, requires_grad=True)
    chance = torch.Generator().manual_seed(0)
    w = torch.randn((3, 1, 3, 3), generator=chance, dtype=torch.float64, requires_grad=True)
    b = torch.tensor([0.5, 0.0, -0.5], dtype=torch.float64, requires_grad=True)
    found, expected = fused(OPS, x, w, b, 1), plain(x, w, b, 1)
    torch.testing.assert_close(found, expected)
    weights = torch.randn(found.shape, generator=chance, dtype=torch.float64)
    both = (torch.autograd.grad((y * weights).sum(), (x, w, b)) for y in (found, expected))
    for own, theirs in zip(*both, strict=True):
        torch.testing.assert_close(own, theirs)
