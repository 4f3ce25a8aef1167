"""Linear regression: the model, its loss and its update."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import paddle


def linreg(X: Any, w: Any, b: Any) -> Any:
    return paddle.matmul(X, w) + b


def squared_loss(y_hat: Any, y: Any) -> Any:
    """Half the squared error of each example."""
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2


def sgd(params: Iterable[Any], lr: float, batch_size: int) -> None:
    """One step down the gradients of a loss that was summed over the batch; they become 0."""
    with paddle.no_grad():
        for param in params:
            param.set_value(param - lr * param.grad / batch_size)
            param.clear_gradient()
