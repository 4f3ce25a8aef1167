"""Linear regression: the model, its loss, its update, and the training of the chapters on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mxnet import autograd, gluon, init, np
from mxnet.gluon import nn

from lockstep.d2l import classifying
from lockstep.d2l.loops import train_regression
from lockstep.d2l.methods import squared_loss
from lockstep.d2l.mxnet.primitives import PRIMITIVES

_evaluate_loss = classifying.over(PRIMITIVES).evaluate_loss


def linreg(X: Any, w: Any, b: Any) -> Any:
    return np.dot(X, w) + b


def sgd(params: Iterable[Any], lr: float, batch_size: int) -> None:
    """One step down the gradients of a loss that was summed over the batch."""
    for param in params:
        param[:] = param - lr * param.grad / batch_size


def train_ch11(
    trainer_fn: Callable[[list[Any], Any, Any], object], states: Any,
    hyperparams: Mapping[str, Any], data_iter: Any, feature_dim: int, num_epochs: int = 2,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Train a linear model with an update rule; times and losses of its measurements."""
    w, b = np.random.normal(scale=0.01, size=(feature_dim, 1)), np.zeros(1)
    w.attach_grad()
    b.attach_grad()

    def net(x: Any) -> Any:
        return linreg(x, w, b)

    def step(x: Any, y: Any) -> None:
        with autograd.record():
            value = squared_loss(net(x), y).mean()
        value.backward()
        trainer_fn([w, b], states, hyperparams)

    def evaluate() -> float:
        return _evaluate_loss(net, data_iter, squared_loss)

    return train_regression(step, evaluate, data_iter, num_epochs, len(data_iter))


def train_concise_ch11(
    tr_name: str, hyperparams: Mapping[str, Any], data_iter: Any, num_epochs: int = 2
) -> None:
    """The same with Gluon's layer and optimizer; its loss has the factor 1/2."""
    net = nn.Sequential()
    net.add(nn.Dense(1))
    net.initialize(init.Normal(sigma=0.01))
    trainer = gluon.Trainer(net.collect_params(), tr_name, dict(hyperparams))
    loss = gluon.loss.L2Loss()

    def step(x: Any, y: Any) -> None:
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(x.shape[0])

    def evaluate() -> float:
        return _evaluate_loss(net, data_iter, loss)

    train_regression(step, evaluate, data_iter, num_epochs, len(data_iter))
