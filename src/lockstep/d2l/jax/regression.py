"""Linear regression: the model, its loss, its update, and a training that shows an update rule.

JAX's arrays never change: an update gives new parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax import numpy as jnp

from lockstep.d2l import classifying
from lockstep.d2l.jax.primitives import PRIMITIVES
from lockstep.d2l.loops import train_regression
from lockstep.d2l.methods import squared_loss


def linreg(X: Any, w: Any, b: Any) -> Any:
    return jnp.matmul(X, w) + b


def sgd(params: Any, grads: Any, lr: float, batch_size: int) -> Any:
    """The parameters after one step down the gradients of a loss summed over the batch."""
    return jax.tree.map(lambda param, grad: param - lr * grad / batch_size, params, grads)


def train_ch11(
    trainer_fn: Callable[..., Sequence[Any]], states: Any, hyperparams: Mapping[str, Any],
    data_iter: Any, feature_dim: int, num_epochs: int = 2,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Train a linear model with an update rule of parameters, gradients, states and options, which
    gives the new parameters; times and losses of its measurements."""
    params: Sequence[Any] = [PRIMITIVES.normal((feature_dim, 1)) * 0.01, jnp.zeros(1)]
    gradients = jax.jit(jax.grad(lambda params, x, y: squared_loss(linreg(x, *params), y).mean()))
    losses = jax.jit(lambda params, x, y: squared_loss(linreg(x, *params), y))

    def step(x: Any, y: Any) -> None:
        nonlocal params
        params = trainer_fn(params, gradients(params, x, y), states, hyperparams)

    def evaluate() -> float:
        # the net gives its inputs, so that model and loss are one compiled function
        found: float = classifying.over(PRIMITIVES).evaluate_loss(
            lambda x: x, data_iter, lambda x, y: losses(params, x, y)
        )
        return found

    return train_regression(step, evaluate, data_iter, num_epochs, len(data_iter))
