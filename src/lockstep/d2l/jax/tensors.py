"""The chapters' names for operations on arrays, and JAX's keys of random numbers."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from flax import linen
from jax import numpy as jnp

from lockstep.d2l.methods import argmax, astype, reduce_mean, reduce_sum, reshape, size, transpose

nn_Module = linen.Module
ones, ones_like, zeros, zeros_like = jnp.ones, jnp.ones_like, jnp.zeros, jnp.zeros_like
tensor, arange, linspace, eye, meshgrid = (
    jnp.array, jnp.arange, jnp.linspace, jnp.eye, jnp.meshgrid,
)  # fmt: skip
sin, sinh, cos, cosh, tanh = jnp.sin, jnp.sinh, jnp.cos, jnp.cosh, jnp.tanh
exp, log, abs, sigmoid = jnp.exp, jnp.log, jnp.abs, jax.nn.sigmoid
matmul, batch_matmul, concat, stack = jnp.matmul, jnp.matmul, jnp.concatenate, jnp.stack
expand_dims, swapaxes, repeat = jnp.expand_dims, jnp.swapaxes, jnp.repeat
int32, int64, float32 = jnp.int32, jnp.int64, jnp.float32
rand, randn = jax.random.uniform, jax.random.normal


def get_seed() -> int:
    """A seed by NumPy's random numbers, so that np.random.seed decides all that follows."""
    return int(np.random.randint(2**31))


def get_key() -> Any:
    """A new key, for the functions of jax.random."""
    return jax.random.key(get_seed())


def normal(mean: float = 0.0, std: float = 1.0, size: Any = (), key: Any = None) -> Any:
    return mean + std * jax.random.normal(get_key() if key is None else key, size)


def numpy(x: Any) -> Any:
    return np.asarray(x)


def to(x: Any, device: Any) -> Any:
    return jax.device_put(x, device)


__all__ = [
    "abs", "arange", "argmax", "astype", "batch_matmul", "concat", "cos", "cosh", "exp",
    "expand_dims", "eye", "float32", "get_key", "get_seed", "int32", "int64", "linspace", "log",
    "matmul", "meshgrid", "nn_Module", "normal", "numpy", "ones", "ones_like", "rand", "randn",
    "reduce_mean", "reduce_sum", "repeat", "reshape", "sigmoid", "sin", "sinh", "size", "stack",
    "swapaxes", "tanh", "tensor", "to", "transpose", "zeros", "zeros_like",
]  # fmt: skip
