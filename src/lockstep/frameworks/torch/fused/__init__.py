"""Faster equivalent implementations of model parts on PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lockstep.frameworks.torch.fused.convolution import fused_conv_avg_pool, fused_conv_max_pool
from lockstep.frameworks.torch.fused.gru import fused_symbol_gru

PARTS: Mapping[str, Callable[..., Any]] = {
    "symbol_gru": fused_symbol_gru,
    "conv_max_pool": fused_conv_max_pool,
    "conv_avg_pool": fused_conv_avg_pool,
}
