"""Those of the chapters' operations that are methods of the arrays, whatever the framework."""

from __future__ import annotations

from typing import Any


def reshape(x: Any, *shape: Any) -> Any:
    return x.reshape(*shape)


def reduce_sum(x: Any, *args: Any, **options: Any) -> Any:
    return x.sum(*args, **options)


def reduce_mean(x: Any, *args: Any, **options: Any) -> Any:
    return x.mean(*args, **options)


def argmax(x: Any, *args: Any, **options: Any) -> Any:
    return x.argmax(*args, **options)


def astype(x: Any, dtype: Any) -> Any:
    return x.astype(dtype)


def numpy(x: Any) -> Any:
    return x.asnumpy()


def size(x: Any) -> int:
    return int(x.size)


def transpose(x: Any) -> Any:
    return x.T


def squared_loss(y_hat: Any, y: Any) -> Any:
    """Half the squared error of each example."""
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2
