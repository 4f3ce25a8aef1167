"""Linear regression: the model, its loss, its update, and the training of the chapters on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lockstep.d2l import classifying
from lockstep.d2l.loops import train_regression
from lockstep.d2l.methods import squared_loss
from lockstep.d2l.torch.primitives import PRIMITIVES

_evaluate_loss = classifying.over(PRIMITIVES).evaluate_loss


def linreg(X: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return X @ w + b


def sgd(params: Iterable[Tensor], lr: float, batch_size: int) -> None:
    """One step down the gradients of a loss that was summed over the batch; they become 0."""
    with torch.no_grad():
        for param in params:
            assert param.grad is not None
            param -= lr * param.grad / batch_size
            param.grad.zero_()


def train_ch11(
    trainer_fn: Callable[[list[Tensor], Any, Any], object], states: Any,
    hyperparams: Mapping[str, Any], data_iter: Any, feature_dim: int, num_epochs: int = 2,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Train a linear model with an update rule; times and losses of its measurements."""
    w = torch.normal(0.0, 0.01, (feature_dim, 1), requires_grad=True)
    b = torch.zeros(1, requires_grad=True)

    def net(x: Tensor) -> Tensor:
        return linreg(x, w, b)

    def step(x: Tensor, y: Tensor) -> None:
        squared_loss(net(x), y).mean().backward()
        trainer_fn([w, b], states, hyperparams)

    def evaluate() -> float:
        return _evaluate_loss(net, data_iter, squared_loss)

    return train_regression(step, evaluate, data_iter, num_epochs, len(data_iter))


def train_concise_ch11(
    trainer_fn: Callable[..., Any], hyperparams: Mapping[str, Any], data_iter: Any,
    num_epochs: int = 4,
) -> None:  # fmt: skip
    """The same with PyTorch's own layer and optimizer. Its loss has no factor 1/2."""
    net = nn.Sequential(nn.Linear(5, 1))
    nn.init.normal_(net[0].weight, std=0.01)  # type: ignore[arg-type]
    optimizer, loss = trainer_fn(net.parameters(), **hyperparams), nn.MSELoss(reduction="none")

    def step(x: Tensor, y: Tensor) -> None:
        optimizer.zero_grad()
        out = net(x)
        loss(out, y.reshape(out.shape)).mean().backward()
        optimizer.step()

    def evaluate() -> float:
        return _evaluate_loss(net, data_iter, loss) / 2

    train_regression(step, evaluate, data_iter, num_epochs, len(data_iter))
