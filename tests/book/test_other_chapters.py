"""Chapters of our own on the subjects of others in the book: the d2l names carry them too."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.book.chapters import Cells, as_markdown, as_notebook, as_restructured

from lockstep.book import chapter, running
from lockstep.data import find

IMPORTS = """\
%matplotlib inline
import math
import torch
from torch import nn
from d2l import torch as d2l"""

OPTIMIZERS: Cells = [
    (("pytorch",), IMPORTS),
    (
        ("pytorch",),
        """\
def heavy_ball(params, states, hyperparams):
    lr, beta = hyperparams['lr'], hyperparams['momentum']
    for place, param in enumerate(params):
        states[place].mul_(beta).add_(param.grad)
        param.data.add_(states[place], alpha=-lr)
        param.grad = None

data_iter, dim = d2l.get_data_ch11(batch_size=100)
states = [torch.zeros(dim, 1), torch.zeros(1)]
times, losses = d2l.train_ch11(heavy_ball, states, {'lr': 0.06, 'momentum': 0.4}, data_iter, dim)
assert losses[-1] < 0.27""",
    ),
    *(
        (
            ("pytorch",),
            f"d2l.train_concise_ch11(torch.optim.{name}, {options}, data_iter, num_epochs=1)",
        )
        for name, options in (
            ("Adagrad", {"lr": 0.1}),
            ("RMSprop", {"lr": 0.01, "alpha": 0.9}),
            ("Adadelta", {"rho": 0.9}),
            ("Adam", {"lr": 0.01}),
        )
    ),
    (
        ("pytorch",),
        """\
def step(a, b, s, t):
    return 0.8 * a, -0.5 * b, s, t

d2l.show_trace_2d(lambda a, b: a * a + 3 * b * b, d2l.train_2d(step))""",
    ),
    (
        ("pytorch",),
        """\
w, b = torch.tensor([1.5, -2.5]), 0.5
features, labels = d2l.synthetic_data(w, b, 200)
d2l.set_figsize()
d2l.plt.scatter(d2l.numpy(features[:, 1]), d2l.numpy(labels), 1);""",
    ),
]

MODELS: Cells = [
    (("pytorch",), IMPORTS),
    (
        ("pytorch",),
        """\
train_iter, test_iter = d2l.load_data_fashion_mnist(256)
net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
loss = nn.CrossEntropyLoss(reduction='none')
d2l.train_ch3(net, train_iter, test_iter, loss, 10, torch.optim.SGD(net.parameters(), lr=0.1))
d2l.predict_ch3(net, test_iter)""",
    ),
    (
        ("pytorch",),
        """\
lenet = nn.Sequential(
    nn.Conv2d(1, 6, kernel_size=5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2, stride=2),
    nn.Flatten(), nn.Linear(6 * 14 * 14, 10))
d2l.train_ch6(lenet, train_iter, test_iter, 10, 0.9, d2l.try_gpu())""",
    ),
    (
        ("pytorch",),
        """\
mlp = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
trainer = torch.optim.SGD(mlp.parameters(), lr=0.1)
d2l.train_ch3(mlp, train_iter, test_iter, loss, 10, trainer)
train_loss, train_acc = d2l.train_epoch_ch3(mlp, train_iter, loss, trainer)
assert train_loss < 2.2 and train_acc > 0.3""",
    ),
]

TEXT: Cells = [
    (("pytorch",), IMPORTS),
    (
        ("pytorch",),
        """\
train_iter, vocab = d2l.load_data_time_machine(32, 35)

def params_of(vocab_size, num_hiddens, device):
    shapes = (vocab_size, num_hiddens), (num_hiddens, num_hiddens), (num_hiddens, vocab_size)
    weights = [torch.randn(shape, device=device) * 0.01 for shape in shapes]
    biases = [torch.zeros(size, device=device) for size in (num_hiddens, vocab_size)]
    return [param.requires_grad_() for param in (*weights, *biases)]

def first_state(batch_size, num_hiddens, device):
    return (torch.zeros(batch_size, num_hiddens, device=device),)

def rnn(inputs, state, params):
    w_xh, w_hh, w_hq, b_h, b_q = params
    (h,), out = state, []
    for x in inputs:
        h = torch.tanh(x @ w_xh + h @ w_hh + b_h)
        out.append(h @ w_hq + b_q)
    return torch.cat(out), (h,)

device = d2l.try_gpu()
net = d2l.RNNModelScratch(len(vocab), 32, device, params_of, first_state, rnn)
d2l.train_ch8(net, train_iter, vocab, 1, 500, device)
d2l.predict_ch8('time ', 5, net, vocab, device)""",
    ),
    *(
        (
            ("pytorch",),
            f"""\
model = d2l.RNNModel(nn.{layer}(len(vocab), 32), len(vocab))
d2l.train_ch8(model, train_iter, vocab, 1, 500, device, use_random_iter={layer == "RNN"})""",
        )
        for layer in ("RNN", "LSTM")
    ),
]

SEVERAL: Cells = [
    (("pytorch",), IMPORTS),
    (
        ("pytorch",),
        """\
devices = d2l.try_all_gpus()
net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
train_iter, test_iter = d2l.load_data_fashion_mnist(256)
loss = nn.CrossEntropyLoss(reduction='none')
trainer = torch.optim.SGD(net.parameters(), 1e-3)
d2l.train_ch13(net, train_iter, test_iter, loss, trainer, 2, devices)
assert str(devices) == "[device(type='cuda', index=0), device(type='cuda', index=1)]"
assert net[1].weight.device == devices[0]""",
    ),
]


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (OPTIMIZERS, as_markdown(OPTIMIZERS)),
        (MODELS, as_restructured(MODELS)),
        (TEXT, as_notebook(TEXT)),
        (SEVERAL, as_markdown(SEVERAL, "%%tab")),
    ],
    ids=["optimizers", "models", "text", "several devices"],
)
def test_it_runs_quickly(cells: Cells, text: str, tmp_path: Path) -> None:
    if find("fashion-mnist") is None or find("timemachine") is None:
        pytest.skip("the data are not on this machine")
    found = chapter.parse(text, tmp_path / "own.md")
    settings = running.settings_for(found, "pytorch", quick=True)
    done = running.run(found, settings, tmp_path)
    assert [item.executed.problem for item in done.cells] == [""] * len(cells)
