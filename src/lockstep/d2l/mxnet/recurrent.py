"""Recurrent models of text: the two wrappers of the chapters, their training and prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

from lockstep.d2l.loops import text_epoch, train_text
from lockstep.d2l.mxnet.regression import sgd
from lockstep.d2l.text import Vocab, continued


class RNNModelScratch:
    """A model of functions: `forward_fn(inputs, state, params)` over one-hot inputs (T, B, V)."""

    def __init__(
        self, vocab_size: int, num_hiddens: int, device: Any, get_params: Callable[..., Any],
        init_state: Callable[..., Any], forward_fn: Callable[..., Any],
    ) -> None:  # fmt: skip
        self.vocab_size, self.num_hiddens = vocab_size, num_hiddens
        self.params = get_params(vocab_size, num_hiddens, device)
        self.init_state, self.forward_fn = init_state, forward_fn

    def __call__(self, X: Any, state: Any) -> Any:
        return self.forward_fn(npx.one_hot(X.T, self.vocab_size), state, self.params)

    def begin_state(self, batch_size: int, ctx: Any) -> Any:
        return self.init_state(batch_size, self.num_hiddens, ctx)


class RNNModel(nn.Block):
    """One of Gluon's recurrent layers, and a dense layer to the vocabulary."""

    def __init__(self, rnn_layer: Any, vocab_size: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rnn, self.vocab_size = rnn_layer, vocab_size
        self.dense = nn.Dense(vocab_size)

    def forward(self, inputs: Any, state: Any) -> Any:
        Y, state = self.rnn(npx.one_hot(inputs.T, self.vocab_size), state)
        return self.dense(Y.reshape((-1, Y.shape[-1]))), state

    def begin_state(self, *args: Any, **kwargs: Any) -> Any:
        return self.rnn.begin_state(*args, **kwargs)


def predict_ch8(prefix: str, num_preds: int, net: Any, vocab: Vocab, device: Any) -> str:
    """The prefix, continued by the likeliest character so many times."""
    state = net.begin_state(batch_size=1, ctx=device)

    def follow(last: int) -> int:
        nonlocal state
        y, state = net(np.array([[last]], ctx=device), state)
        return int(y.argmax(axis=1)[0])

    return continued(prefix, num_preds, vocab, follow)


def grad_clipping(net: Any, theta: float) -> None:
    """Scale the gradients so that the norm of all together is at most theta."""
    blocks = isinstance(net, gluon.Block)
    params = [p.data() for p in net.collect_params().values()] if blocks else net.params
    norm = math.sqrt(sum(float((param.grad**2).sum()) for param in params))
    if norm > theta:
        for param in params:
            param.grad[:] *= theta / norm


def train_epoch_ch8(
    net: Any, train_iter: Iterable[Any], loss: Callable[..., Any], updater: Callable[..., Any],
    device: Any, use_random_iter: bool,
) -> tuple[float, float]:  # fmt: skip
    """One epoch, gradients clipped at norm 1; perplexity, and tokens per second."""

    def begin(batch_size: int) -> Any:
        return net.begin_state(batch_size=batch_size, ctx=device)

    def step(X: Any, Y: Any, state: Any) -> tuple[Any, Any]:
        y = Y.T.reshape(-1).as_in_ctx(device)
        with autograd.record():
            y_hat, state = net(X.as_in_ctx(device), state)
            value = loss(y_hat, y).mean()
        value.backward()
        grad_clipping(net, 1)
        updater(batch_size=1)  # the loss is a mean already
        return [part.detach() for part in state], value

    return text_epoch(train_iter, use_random_iter, begin, step)


def train_ch8(
    net: Any, train_iter: Iterable[Any], vocab: Vocab, lr: float, num_epochs: int, device: Any,
    use_random_iter: bool = False,
) -> None:  # fmt: skip
    """Train with SGD; in the end perplexity, speed and what the model writes."""
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    if isinstance(net, gluon.Block):
        net.initialize(ctx=device, force_reinit=True, init=init.Normal(0.01))
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": lr})

        def updater(batch_size: int) -> None:
            trainer.step(batch_size)
    else:

        def updater(batch_size: int) -> None:
            sgd(net.params, lr, batch_size)

    train_text(
        lambda: train_epoch_ch8(net, train_iter, loss, updater, device, use_random_iter),
        lambda prefix: predict_ch8(prefix, 50, net, vocab, device),
        num_epochs,
        device,
    )
