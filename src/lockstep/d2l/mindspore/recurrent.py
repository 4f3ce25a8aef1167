"""Recurrent models of text: the two wrappers of the chapters, their training and prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn, ops

from lockstep.d2l.loops import text_epoch, train_text
from lockstep.d2l.text import Vocab, continued


def _one_hot(inputs: Any, vocab_size: int) -> Any:
    return ops.one_hot(inputs.T, vocab_size, ms.Tensor(1.0), ms.Tensor(0.0))


class RNNModelScratch:
    """A model of functions: `forward_fn(inputs, state, params)` over one-hot inputs (T, B, V)."""

    def __init__(
        self, vocab_size: int, num_hiddens: int, get_params: Callable[..., Any],
        init_state: Callable[..., Any], forward_fn: Callable[..., Any],
    ) -> None:  # fmt: skip
        self.vocab_size, self.num_hiddens = vocab_size, num_hiddens
        self.params = get_params(vocab_size, num_hiddens)
        self.init_state, self.forward_fn = init_state, forward_fn

    def __call__(self, X: Any, state: Any) -> Any:
        return self.forward_fn(_one_hot(X, self.vocab_size), state, self.params)

    def begin_state(self, batch_size: int) -> Any:
        return self.init_state(batch_size, self.num_hiddens)

    def trainable_params(self) -> Any:
        return self.params


class RNNModel(nn.Cell):
    """One of MindSpore's recurrent layers, and a dense layer to the vocabulary."""

    def __init__(self, rnn_layer: Any, vocab_size: int) -> None:
        super().__init__()
        self.rnn, self.vocab_size = rnn_layer, vocab_size
        self.num_hiddens = rnn_layer.hidden_size
        self.num_directions = 2 if rnn_layer.bidirectional else 1
        self.linear = nn.Dense(self.num_hiddens * self.num_directions, vocab_size)

    def construct(self, inputs: Any, state: Any) -> Any:
        Y, state = self.rnn(_one_hot(inputs, self.vocab_size), state)
        return self.linear(Y.reshape((-1, Y.shape[-1]))), state

    def begin_state(self, batch_size: int = 1) -> Any:
        shape = (self.num_directions * self.rnn.num_layers, batch_size, self.num_hiddens)
        if isinstance(self.rnn, nn.LSTM):
            return ops.zeros(shape, ms.float32), ops.zeros(shape, ms.float32)
        return ops.zeros(shape, ms.float32)


def predict_ch8(prefix: str, num_preds: int, net: Any, vocab: Vocab) -> str:
    """The prefix, continued by the likeliest character so many times."""
    state = net.begin_state(batch_size=1)

    def follow(last: int) -> int:
        nonlocal state
        y, state = net(ms.Tensor(np.array([[last]], np.int32)), state)
        return int(y.asnumpy().argmax())

    return continued(prefix, num_preds, vocab, follow)


def grad_clipping(grads: Sequence[Any], theta: float) -> Any:
    """The gradients, scaled so that the norm of all together is at most theta."""
    return ops.clip_by_global_norm(tuple(grads), theta)


def _gradients(net: Any, loss: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function of inputs, labels and state: (loss, the next state), gradients."""

    def forward(X: Any, y: Any, state: Any) -> tuple[Any, Any]:
        y_hat, state = net(X, state)
        return loss(y_hat, y).mean(), state

    # an argument that is a tuple counts as a constant: each batch would be compiled anew
    def forward_parts(X: Any, y: Any, *state: Any) -> tuple[Any, Any]:
        y_hat, after = net(X, state)
        return loss(y_hat, y).mean(), after

    # compiled: step by step a batch takes seconds, and its state keeps the graph of the one before
    whole, parts = (
        ms.jit(ms.value_and_grad(function, None, net.trainable_params(), has_aux=True))
        for function in (forward, forward_parts)
    )

    def found(X: Any, y: Any, state: Any) -> Any:
        return parts(X, y, *state) if isinstance(state, tuple | list) else whole(X, y, state)

    return found


def train_epoch_ch8(
    net: Any, train_iter: Iterable[Any], loss: Callable[..., Any], updater: Callable[[Any], Any],
    use_random_iter: bool, gradients: Callable[..., Any] | None = None,
) -> tuple[float, float]:  # fmt: skip
    """One epoch, gradients clipped at norm 1; perplexity, and tokens per second. `gradients` is
    what `_gradients` gives, if it was compiled before."""
    update = gradients or _gradients(net, loss)

    def step(X: Any, Y: Any, state: Any) -> tuple[Any, Any]:
        (value, state), grads = update(X, Y.T.reshape((-1,)), state)
        updater(grad_clipping(grads, 1))
        return state, value

    return text_epoch(train_iter, use_random_iter, net.begin_state, step)


def train_ch8(
    net: Any, train_iter: Iterable[Any], vocab: Vocab, lr: float, num_epochs: int,
    use_random_iter: bool = False,
) -> None:  # fmt: skip
    """Train with SGD; in the end perplexity, speed and what the model writes."""
    loss = nn.CrossEntropyLoss()
    updater: Any
    if isinstance(net, nn.Cell):
        updater = nn.SGD(net.trainable_params(), learning_rate=float(lr))
    else:

        def updater(grads: Any) -> None:
            for param, grad in zip(net.params, grads, strict=True):
                ops.assign(param, param - lr * grad)

    gradients = _gradients(net, loss)
    train_text(
        lambda: train_epoch_ch8(net, train_iter, loss, updater, use_random_iter, gradients),
        lambda prefix: predict_ch8(prefix, 50, net, vocab),
        num_epochs,
        ms.get_context("device_target"),
    )
