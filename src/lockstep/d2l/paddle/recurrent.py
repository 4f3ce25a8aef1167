"""Recurrent models of text: the two wrappers of the chapters, their training and prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import paddle
from paddle import nn
from paddle.nn import functional as F

from lockstep.d2l.gpus import Gpus
from lockstep.d2l.loops import text_epoch, train_text
from lockstep.d2l.paddle.primitives import PRIMITIVES
from lockstep.d2l.paddle.regression import sgd
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

    def __call__(self, X: Any, state: Any) -> Any:
        return self.forward_fn(F.one_hot(X.t(), self.vocab_size), state, self.params)

    def begin_state(self, batch_size: int) -> Any:
        return self.init_state(batch_size, self.num_hiddens)


class RNNModel(nn.Layer):
    """One of Paddle's recurrent layers, and a linear layer to the vocabulary."""

    def __init__(self, rnn_layer: Any, vocab_size: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rnn, self.vocab_size = rnn_layer, vocab_size
        self.num_hiddens = rnn_layer.hidden_size
        self.num_directions = rnn_layer.num_directions
        self.linear = nn.Linear(self.num_hiddens * self.num_directions, vocab_size)

    def forward(self, inputs: Any, state: Any) -> Any:
        Y, state = self.rnn(F.one_hot(inputs.t(), self.vocab_size), state)
        return self.linear(Y.reshape((-1, Y.shape[-1]))), state

    def begin_state(self, batch_size: int = 1) -> Any:
        shape = [self.num_directions * self.rnn.num_layers, batch_size, self.num_hiddens]
        if isinstance(self.rnn, nn.LSTM):
            return paddle.zeros(shape), paddle.zeros(shape)
        return paddle.zeros(shape)


def predict_ch8(prefix: str, num_preds: int, net: Any, vocab: Vocab, device: Any = None) -> str:
    """The prefix, continued by the likeliest character so many times."""
    state = net.begin_state(batch_size=1)

    def follow(last: int) -> int:
        nonlocal state
        y, state = net(paddle.to_tensor([[last]]), state)
        return int(y.argmax(axis=1)[0])

    with paddle.no_grad():
        return continued(prefix, num_preds, vocab, follow)


def _parameters(net: Any) -> list[Any]:
    if isinstance(net, nn.Layer):
        return [param for param in net.parameters() if not param.stop_gradient]
    return list(net.params)


def grad_clipping(net: Any, theta: float) -> None:
    """Scale the gradients so that the norm of all together is at most theta."""
    params = _parameters(net)
    norm = math.sqrt(sum(float((param.grad**2).sum()) for param in params))
    if norm > theta:
        with paddle.no_grad():
            for param in params:
                param.grad.set_value(param.grad * (theta / norm))


def train_epoch_ch8(
    net: Any, train_iter: Iterable[Any], loss: Callable[..., Any], updater: Any, device: Any,
    use_random_iter: bool,
) -> tuple[float, float]:  # fmt: skip
    """One epoch, gradients clipped at norm 1; perplexity, and tokens per second."""

    def begin(batch_size: int) -> Any:
        return net.begin_state(batch_size=batch_size)

    def step(X: Any, Y: Any, state: Any) -> tuple[Any, Any]:
        y_hat, state = net(X, state)
        value = loss(y_hat, Y.t().reshape([-1])).mean()
        is_optimizer = isinstance(updater, paddle.optimizer.Optimizer)
        if is_optimizer:
            updater.clear_grad()
        value.backward()
        grad_clipping(net, 1)
        if is_optimizer:
            updater.step()
        else:
            updater(batch_size=1)  # the loss is a mean already
        return _detached(state), value.detach()

    return text_epoch(train_iter, use_random_iter, begin, step)


def _detached(state: Any) -> Any:
    return tuple(s.detach() for s in state) if isinstance(state, tuple | list) else state.detach()


def train_ch8(
    net: Any, train_iter: Iterable[Any], vocab: Vocab, lr: float, num_epochs: int,
    device: Any = None, use_random_iter: bool = False,
) -> None:  # fmt: skip
    """Train with SGD; in the end perplexity, speed and what the model writes."""
    device = device or Gpus(PRIMITIVES).try_gpu()
    loss = nn.CrossEntropyLoss()
    updater: Any
    if isinstance(net, nn.Layer):
        updater = paddle.optimizer.SGD(learning_rate=lr, parameters=net.parameters())
    else:

        def updater(batch_size: int) -> None:
            sgd(net.params, lr, batch_size)

    train_text(
        lambda: train_epoch_ch8(net, train_iter, loss, updater, device, use_random_iter),
        lambda prefix: predict_ch8(prefix, 50, net, vocab, device),
        num_epochs,
        device,
    )
