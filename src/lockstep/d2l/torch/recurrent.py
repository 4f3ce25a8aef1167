"""Recurrent models of text: the two wrappers of the chapters, their training and prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from lockstep.d2l.gpus import Gpus
from lockstep.d2l.loops import text_epoch, train_text
from lockstep.d2l.text import Vocab, continued
from lockstep.d2l.torch.primitives import PRIMITIVES
from lockstep.d2l.torch.regression import sgd


class RNNModelScratch:
    """A model of functions: `forward_fn(inputs, state, params)` over one-hot inputs (T, B, V)."""

    def __init__(
        self, vocab_size: int, num_hiddens: int, device: Any, get_params: Callable[..., Any],
        init_state: Callable[..., Any], forward_fn: Callable[..., Any],
    ) -> None:  # fmt: skip
        self.vocab_size, self.num_hiddens = vocab_size, num_hiddens
        self.params = get_params(vocab_size, num_hiddens, device)
        self.init_state, self.forward_fn = init_state, forward_fn

    def __call__(self, X: Tensor, state: Any) -> Any:
        inputs = one_hot(X.T, self.vocab_size).to(torch.float32)
        return self.forward_fn(inputs, state, self.params)

    def begin_state(self, batch_size: int, device: Any) -> Any:
        return self.init_state(batch_size, self.num_hiddens, device)


class RNNModel(nn.Module):
    """One of PyTorch's recurrent layers, and a linear layer to the vocabulary."""

    def __init__(self, rnn_layer: Any, vocab_size: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rnn, self.vocab_size = rnn_layer, vocab_size
        self.num_hiddens: int = rnn_layer.hidden_size
        self.num_directions = 2 if rnn_layer.bidirectional else 1
        self.linear = nn.Linear(self.num_hiddens * self.num_directions, vocab_size)

    def forward(self, inputs: Tensor, state: Any) -> Any:
        X = one_hot(inputs.T.long(), self.vocab_size).to(torch.float32)
        Y, state = self.rnn(X, state)
        return self.linear(Y.reshape(-1, Y.shape[-1])), state

    def begin_state(self, device: Any, batch_size: int = 1) -> Any:
        shape = (self.num_directions * self.rnn.num_layers, batch_size, self.num_hiddens)
        if isinstance(self.rnn, nn.LSTM):
            return torch.zeros(shape, device=device), torch.zeros(shape, device=device)
        return torch.zeros(shape, device=device)


def predict_ch8(prefix: str, num_preds: int, net: Any, vocab: Vocab, device: Any) -> str:
    """The prefix, continued by the likeliest character so many times."""
    state = net.begin_state(batch_size=1, device=device)

    def follow(last: int) -> int:
        nonlocal state
        y, state = net(torch.tensor([[last]], device=device), state)
        return int(y.argmax(dim=1)[0])

    return continued(prefix, num_preds, vocab, follow)


def grad_clipping(net: Any, theta: float) -> None:
    """Scale the gradients so that the norm of all together is at most theta."""
    params = _parameters(net)
    grads: list[Any] = [param.grad for param in params]
    norm = torch.sqrt(torch.stack([(grad**2).sum() for grad in grads]).sum())
    if norm > theta:
        for grad in grads:
            grad *= theta / norm


def _parameters(net: Any) -> list[Tensor]:
    if isinstance(net, nn.Module):
        return [param for param in net.parameters() if param.requires_grad]
    return list(net.params)


def train_epoch_ch8(
    net: Any, train_iter: Iterable[Any], loss: Callable[..., Tensor], updater: Any, device: Any,
    use_random_iter: bool,
) -> tuple[float, float]:  # fmt: skip
    """One epoch, gradients clipped at norm 1; perplexity, and tokens per second."""

    def begin(batch_size: int) -> Any:
        return net.begin_state(batch_size=batch_size, device=device)

    def step(X: Tensor, Y: Tensor, state: Any) -> tuple[Any, Tensor]:
        y = Y.T.reshape(-1).to(device)
        y_hat, state = net(X.to(device), state)
        value = loss(y_hat, y.long()).mean()
        is_optimizer = isinstance(updater, torch.optim.Optimizer)
        if is_optimizer:
            updater.zero_grad()
        value.backward()
        grad_clipping(net, 1)
        if is_optimizer:
            updater.step()
        else:
            updater(batch_size=1)  # the loss is a mean already
        return _detached(state), value.detach()

    return text_epoch(train_iter, use_random_iter, begin, step)


def _detached(state: Any) -> Any:
    return state.detach() if isinstance(state, Tensor) else tuple(s.detach() for s in state)


def train_ch8(
    net: Any, train_iter: Iterable[Any], vocab: Vocab, lr: float, num_epochs: int,
    device: Any = None, use_random_iter: bool = False,
) -> None:  # fmt: skip
    """Train with SGD; in the end perplexity, speed and what the model writes."""
    device = device or Gpus(PRIMITIVES).try_gpu()
    loss = nn.CrossEntropyLoss()
    updater: Any
    if isinstance(net, nn.Module):
        updater = torch.optim.SGD(net.parameters(), lr)
    else:

        def updater(batch_size: int) -> None:
            sgd(net.params, lr, batch_size)

    def run_epoch() -> tuple[float, float]:
        return train_epoch_ch8(net, train_iter, loss, updater, device, use_random_iter)

    def predict(prefix: str) -> str:
        with torch.no_grad():
            return predict_ch8(prefix, 50, net, vocab, device)

    train_text(run_epoch, predict, num_epochs, device)
