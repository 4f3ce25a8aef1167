"""As MindSpore's cells do it."""

from __future__ import annotations

from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn, ops


def sgd_rule(params: Any, grads: Any, states: Any, hyperparams: Any) -> None:
    for param, grad in zip(params, grads, strict=True):
        param.set_data(param - hyperparams["lr"] * grad)


def concise() -> tuple[Any, dict[str, float]]:
    return nn.SGD, {"learning_rate": 0.1}


def linear() -> tuple[Any, Any, Any]:
    net = nn.SequentialCell([nn.Flatten(), nn.Dense(784, 10)])
    loss = nn.CrossEntropyLoss(reduction="none")
    return net, loss, nn.SGD(net.trainable_params(), learning_rate=0.1)


def train_ch6(d2l: Any, train: Any, test: Any) -> None:
    parts = [nn.Conv2d(1, 6, 5, pad_mode="same", has_bias=True), nn.ReLU(), nn.AvgPool2d(4, 4)]
    net = nn.SequentialCell([*parts, nn.Flatten(), nn.Dense(294, 10)])
    d2l.train_ch6(net, train, test, 2, 0.3)


def train_ch8(d2l: Any, batches: Any, vocab: Any) -> str:
    net = d2l.RNNModel(nn.GRU(len(vocab), 16), len(vocab))
    d2l.train_ch8(net, batches, vocab, 1.0, 60)
    return str(d2l.predict_ch8("ab", 6, net, vocab))


def scratch(d2l: Any, vocab_size: int) -> Any:
    """A recurrent net of functions; its state is a tuple."""

    def get_params(vocab_size: int, num_hiddens: int) -> Any:
        shapes = {"xh": (vocab_size, num_hiddens), "hh": (num_hiddens, num_hiddens),
                  "hq": (num_hiddens, vocab_size)}  # fmt: skip
        return ms.ParameterTuple(
            ms.Parameter(d2l.tensor((np.random.randn(*shape) * 0.3).astype("float32")), name=name)
            for name, shape in shapes.items()
        )

    def init_state(batch_size: int, num_hiddens: int) -> tuple[Any]:
        return (d2l.zeros((batch_size, num_hiddens)),)

    def forward(inputs: Any, state: Any, params: Any) -> Any:
        w_xh, w_hh, w_hq = params
        (h,) = state
        out = []
        for x in inputs:
            h = ops.tanh(ops.matmul(x, w_xh) + ops.matmul(h, w_hh))
            out.append(ops.matmul(h, w_hq))
        return ops.concat(out, axis=0), (h,)

    return d2l.RNNModelScratch(vocab_size, 8, get_params, init_state, forward)
