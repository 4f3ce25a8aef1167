"""The chapters' names for operations on tensors."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

ones, ones_like, zeros, zeros_like = tf.ones, tf.ones_like, tf.zeros, tf.zeros_like
tensor, arange, linspace, eye, meshgrid = tf.constant, tf.range, tf.linspace, tf.eye, tf.meshgrid
sin, sinh, cos, cosh, tanh = tf.sin, tf.sinh, tf.cos, tf.cosh, tf.tanh
exp, log, abs, sigmoid = tf.exp, tf.math.log, tf.abs, tf.sigmoid
normal, randn, rand = tf.random.normal, tf.random.normal, tf.random.uniform
matmul, batch_matmul, concat, stack = tf.matmul, tf.matmul, tf.concat, tf.stack
expand_dims, reshape, transpose, repeat = tf.expand_dims, tf.reshape, tf.transpose, tf.repeat
reduce_sum, reduce_mean, argmax, astype = tf.reduce_sum, tf.reduce_mean, tf.argmax, tf.cast
int32, int64, float32 = tf.int32, tf.int64, tf.float32


def numpy(x: Any) -> Any:
    return x.numpy()


def size(x: Any) -> Any:
    return tf.size(x).numpy()


def to(x: Any, device: Any) -> Any:
    """A copy of a tensor, made on the device."""
    with device:
        return tf.identity(x)


__all__ = [
    "abs", "arange", "argmax", "astype", "batch_matmul", "concat", "cos", "cosh", "exp",
    "expand_dims", "eye", "float32", "int32", "int64", "linspace", "log", "matmul", "meshgrid",
    "normal", "numpy", "ones", "ones_like", "rand", "randn", "reduce_mean", "reduce_sum", "repeat",
    "reshape", "sigmoid", "sin", "sinh", "size", "stack", "tanh", "tensor", "to", "transpose",
    "zeros", "zeros_like",
]  # fmt: skip
