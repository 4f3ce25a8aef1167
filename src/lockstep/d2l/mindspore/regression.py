"""Linear regression: the model, its loss, its update, and the training of the chapters on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.common.initializer import Normal

from lockstep.d2l import classifying
from lockstep.d2l.loops import train_regression
from lockstep.d2l.methods import squared_loss
from lockstep.d2l.mindspore.primitives import PRIMITIVES

_evaluate_loss = classifying.over(PRIMITIVES).evaluate_loss


def linreg(X: Any, w: Any, b: Any) -> Any:
    return ops.matmul(X, w) + b


def sgd(params: Iterable[Any], grads: Iterable[Any], lr: float, batch_size: int) -> None:
    """One step down the gradients of a loss that was summed over the batch."""
    for param, grad in zip(params, grads, strict=True):
        ops.assign(param, param - lr * grad / batch_size)


def train_ch11(
    trainer_fn: Callable[..., object], states: Any, hyperparams: Mapping[str, Any], data_iter: Any,
    feature_dim: int, num_epochs: int = 2,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Train a linear model with an update rule, which is given parameters and gradients; times and
    losses of its measurements."""
    first = np.random.normal(0, 0.01, (feature_dim, 1)).astype(np.float32)
    w = ms.Parameter(ms.Tensor(first), name="w")
    b = ms.Parameter(ops.zeros((1,), ms.float32), name="b")

    def net(x: Any) -> Any:
        return linreg(x, w, b)

    def forward(x: Any, y: Any) -> Any:
        return squared_loss(net(x), y).mean()

    gradients = ms.grad(forward, None, ms.ParameterTuple((w, b)))

    def step(x: Any, y: Any) -> None:
        trainer_fn([w, b], gradients(x, y), states, hyperparams)

    def evaluate() -> float:
        return _evaluate_loss(net, data_iter, squared_loss)

    return train_regression(step, evaluate, data_iter, num_epochs, len(data_iter))


def train_concise_ch11(
    trainer_fn: Callable[..., Any], hyperparams: Mapping[str, Any], data_iter: Any,
    num_epochs: int = 2,
) -> None:  # fmt: skip
    """The same with MindSpore's own layer and optimizer. Its loss has no factor 1/2."""
    net = nn.SequentialCell([nn.Dense(5, 1, weight_init=Normal(0.01))])
    optimizer = trainer_fn(net.trainable_params(), **hyperparams)
    loss = nn.MSELoss(reduction="none")

    def forward(x: Any, y: Any) -> Any:
        out = net(x)
        return loss(out, y.reshape(out.shape)).mean()

    gradients = ms.grad(forward, None, optimizer.parameters)

    def step(x: Any, y: Any) -> None:
        optimizer(gradients(x, y))

    def evaluate() -> float:
        return _evaluate_loss(net, data_iter, loss) / 2

    train_regression(step, evaluate, data_iter, num_epochs, len(data_iter))
