"""Recurrent models of text: the scratch wrapper of the chapters, its training and prediction.

JAX's functions have no state, so `net.params` is replaced by each update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
from jax import numpy as jnp

from lockstep.d2l.gpus import Gpus
from lockstep.d2l.jax.primitives import PRIMITIVES
from lockstep.d2l.jax.regression import sgd
from lockstep.d2l.loops import text_epoch, train_text
from lockstep.d2l.text import Vocab, continued


class RNNModelScratch:
    """A model of functions: `forward_fn(inputs, state, params)` over one-hot inputs (T, B, V)."""

    def __init__(
        self, vocab_size: int, num_hiddens: int, get_params: Callable[..., Any],
        init_state: Callable[..., Any], forward_fn: Callable[..., Any],
    ) -> None:  # fmt: skip
        self.vocab_size, self.num_hiddens = vocab_size, num_hiddens
        self.params = get_params(vocab_size, num_hiddens)
        self.init_state, self.forward_fn = init_state, forward_fn

    def apply(self, params: Any, X: Any, state: Any) -> Any:
        """The outputs and the next state with other parameters than the model's own."""
        return self.forward_fn(jax.nn.one_hot(X.T, self.vocab_size), state, params)

    def __call__(self, X: Any, state: Any) -> Any:
        return self.apply(self.params, X, state)

    def begin_state(self, batch_size: int) -> Any:
        return self.init_state(batch_size, self.num_hiddens)


def predict_ch8(prefix: str, num_preds: int, net: Any, vocab: Vocab, device: Any = None) -> str:
    """The prefix, continued by the likeliest character so many times."""
    state = net.begin_state(batch_size=1)
    forward = jax.jit(net.apply)

    def follow(last: int) -> int:
        nonlocal state
        y, state = forward(net.params, jnp.array([[last]]), state)
        return int(y.argmax())

    return continued(prefix, num_preds, vocab, follow)


def grad_clipping(grads: Any, theta: float) -> Any:
    """The gradients, scaled so that the norm of all together is at most theta."""
    norm = jnp.sqrt(sum((grad**2).sum() for grad in jax.tree.leaves(grads)))
    return jax.tree.map(lambda grad: grad * jnp.minimum(1.0, theta / norm), grads)


def train_epoch_ch8(
    net: Any, train_iter: Iterable[Any], loss: Callable[..., Any], updater: Callable[..., Any],
    use_random_iter: bool, update: Callable[..., Any] | None = None,
) -> tuple[float, float]:  # fmt: skip
    """One epoch, gradients clipped at norm 1; perplexity, and tokens per second. `updater(params,
    grads)` gives the new parameters; `update` is what `_compiled` gives, if that was done before.
    """
    found = update or _compiled(net, loss, updater)

    def step(X: Any, Y: Any, state: Any) -> tuple[Any, Any]:
        net.params, state, value = found(net.params, X, Y, state)
        return state, value

    return text_epoch(train_iter, use_random_iter, net.begin_state, step)


def _compiled(net: Any, loss: Callable[..., Any], updater: Callable[..., Any]) -> Any:
    def update(params: Any, X: Any, Y: Any, state: Any) -> tuple[Any, Any, Any]:
        def forward(params: Any) -> tuple[Any, Any]:
            y_hat, after = net.apply(params, X, state)
            return loss(y_hat, Y.T.reshape(-1)).mean(), after

        (value, after), grads = jax.value_and_grad(forward, has_aux=True)(params)
        return updater(params, grad_clipping(grads, 1)), after, value

    return jax.jit(update)


def train_ch8(
    net: Any, train_iter: Iterable[Any], vocab: Vocab, lr: float, num_epochs: int,
    device: Any = None, use_random_iter: bool = False,
) -> None:  # fmt: skip
    """Train with SGD; in the end perplexity, speed and what the model writes."""

    def loss(y_hat: Any, y: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(y_hat), y[:, None], axis=1)

    def updater(params: Any, grads: Any) -> Any:
        return sgd(params, grads, lr, batch_size=1)  # the loss is a mean already

    update = _compiled(net, loss, updater)
    train_text(
        lambda: train_epoch_ch8(net, train_iter, loss, updater, use_random_iter, update),
        lambda prefix: predict_ch8(prefix, 50, net, vocab),
        num_epochs,
        device or Gpus(PRIMITIVES).try_gpu(),
    )
