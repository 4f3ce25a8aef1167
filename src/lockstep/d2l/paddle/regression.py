"""Linear regression: the model, its loss, its update, and the training of the chapters on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import paddle
from paddle import nn

from lockstep.d2l import classifying
from lockstep.d2l.loops import train_regression
from lockstep.d2l.methods import squared_loss
from lockstep.d2l.paddle.primitives import PRIMITIVES

_evaluate_loss = classifying.over(PRIMITIVES).evaluate_loss


def linreg(X: Any, w: Any, b: Any) -> Any:
    return paddle.matmul(X, w) + b


def sgd(params: Iterable[Any], lr: float, batch_size: int) -> None:
    """One step down the gradients of a loss that was summed over the batch; they become 0."""
    with paddle.no_grad():
        for param in params:
            param.set_value(param - lr * param.grad / batch_size)
            param.clear_gradient()


def train_ch11(
    trainer_fn: Callable[[list[Any], Any, Any], Any], states: Any,
    hyperparams: Mapping[str, Any], data_iter: Any, feature_dim: int, num_epochs: int = 2,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Train a linear model with an update rule; times and losses of its measurements. The rule may
    change the parameters, or give new ones."""
    w, b = paddle.randn((feature_dim, 1)) * 0.01, paddle.zeros((1,))
    w.stop_gradient = b.stop_gradient = False

    def net(x: Any) -> Any:
        return linreg(x, w, b)

    def step(x: Any, y: Any) -> None:
        nonlocal w, b
        squared_loss(net(x), y).mean().backward()
        w, b = trainer_fn([w, b], states, hyperparams) or (w, b)

    def evaluate() -> float:
        return _evaluate_loss(net, data_iter, squared_loss)

    return train_regression(step, evaluate, data_iter, num_epochs, len(data_iter))


def train_concise_ch11(
    trainer_fn: Callable[..., Any], hyperparams: Mapping[str, Any], data_iter: Any,
    num_epochs: int = 4,
) -> None:  # fmt: skip
    """The same with Paddle's own layer and optimizer. Its loss has no factor 1/2."""
    initial = paddle.ParamAttr(initializer=nn.initializer.Normal(std=0.01))
    net, loss = nn.Sequential(nn.Linear(5, 1, weight_attr=initial)), nn.MSELoss(reduction="none")
    optimizer = trainer_fn(parameters=net.parameters(), **hyperparams)

    def step(x: Any, y: Any) -> None:
        optimizer.clear_grad()
        out = net(x)
        loss(out, y.reshape(out.shape)).mean().backward()
        optimizer.step()

    def evaluate() -> float:
        return _evaluate_loss(net, data_iter, loss) / 2

    train_regression(step, evaluate, data_iter, num_epochs, len(data_iter))
