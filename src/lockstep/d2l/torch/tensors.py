"""The chapters' names for operations on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import Module as nn_Module

ones_like = torch.ones_like
ones = torch.ones
zeros_like = torch.zeros_like
zeros = torch.zeros
tensor = torch.tensor
arange = torch.arange
meshgrid = torch.meshgrid
sin = torch.sin
sinh = torch.sinh
cos = torch.cos
cosh = torch.cosh
tanh = torch.tanh
linspace = torch.linspace
exp = torch.exp
log = torch.log
normal = torch.normal
rand = torch.rand
randn = torch.randn
matmul = torch.matmul
int32 = torch.int32
int64 = torch.int64
float32 = torch.float32
stack = torch.stack
abs = torch.abs
eye = torch.eye
sigmoid = torch.sigmoid
concat = torch.cat
batch_matmul = torch.bmm

# as methods of a tensor
size = Tensor.numel
reshape = Tensor.reshape
to = Tensor.to
reduce_sum = Tensor.sum
reduce_mean = Tensor.mean
argmax = Tensor.argmax
astype = Tensor.type
transpose = Tensor.t
expand_dims = Tensor.unsqueeze
swapaxes = Tensor.swapaxes
repeat = Tensor.repeat


def numpy(x: Tensor, *args: Any, **options: Any) -> np.ndarray:
    """The values of a tensor, without its gradient.

    >>> numpy(torch.ones(2, requires_grad=True)).tolist()
    [1.0, 1.0]
    """
    return x.detach().numpy(*args, **options)


__all__ = [
    "abs",
    "arange",
    "argmax",
    "astype",
    "batch_matmul",
    "concat",
    "cos",
    "cosh",
    "exp",
    "expand_dims",
    "eye",
    "float32",
    "int32",
    "int64",
    "linspace",
    "log",
    "matmul",
    "meshgrid",
    "nn_Module",
    "normal",
    "numpy",
    "ones",
    "ones_like",
    "rand",
    "randn",
    "reduce_mean",
    "reduce_sum",
    "repeat",
    "reshape",
    "sigmoid",
    "sin",
    "sinh",
    "size",
    "stack",
    "swapaxes",
    "tanh",
    "tensor",
    "to",
    "transpose",
    "zeros",
    "zeros_like",
]
