"""PyTorch's faster convolution: its gradients by finite differences."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed here")
from lockstep.frameworks.torch.convolution import _SwappedConvolution  # noqa: E402


@pytest.mark.parametrize(("padding", "size"), [(0, (6, 6)), (2, (4, 5)), (1, (5, 3))])
def test_gradients_of_the_swapped_convolution(padding: int, size: tuple[int, int]) -> None:
    chance = torch.Generator().manual_seed(0)
    shapes = (2, 3, *size), (4, 3, 3, 3), (4,)
    inputs = [torch.randn(s, generator=chance, dtype=torch.float64) for s in shapes]
    for value in inputs:
        value.requires_grad_()
    y = _SwappedConvolution.apply(*inputs, padding)
    torch.testing.assert_close(y, torch.conv2d(*inputs, padding=padding))
    assert torch.autograd.gradcheck(lambda *xs: _SwappedConvolution.apply(*xs, padding), inputs)
