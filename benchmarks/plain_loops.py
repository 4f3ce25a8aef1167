"""Plain training loops in PyTorch, as a reader of the chapters would write them: a DataLoader, one
update per parameter, the loss read at every step. Lockstep is measured against them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

Epoch = Callable[[], None]


def airfoil(x: np.ndarray, y: np.ndarray, batch_size: int, lr: float) -> Epoch:
    """Linear regression with squared loss and SGD."""
    data = TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))
    loader = DataLoader(data, batch_size, shuffle=True)
    w = torch.normal(0.0, 0.01, (x.shape[1], 1)).requires_grad_()
    b = torch.zeros(1, requires_grad=True)

    def epoch() -> None:
        for features, target in loader:
            loss = ((features @ w + b - target) ** 2 / 2).mean()
            loss.backward()
            update([w, b], lr)

    return epoch


def plain_images(images: np.ndarray, labels: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """The images as floats (N, 1, 28, 28) and their labels, as tensors."""
    pixels = torch.tensor(images).to(torch.float32).div(255).unsqueeze(1)
    return pixels, torch.tensor(labels).to(torch.int64)


def lenet_max() -> nn.Module:
    """LeNet with max-pooling, from the chapter on schedules."""
    return nn.Sequential(
        nn.Conv2d(1, 6, kernel_size=5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(6, 16, kernel_size=5),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )


def lenet_avg() -> nn.Module:
    """LeNet with average-pooling, from the chapter on several devices."""
    return nn.Sequential(
        nn.Conv2d(1, 20, kernel_size=3),
        nn.ReLU(),
        nn.AvgPool2d(2, 2),
        nn.Conv2d(20, 50, kernel_size=5),
        nn.ReLU(),
        nn.AvgPool2d(2, 2),
        nn.Flatten(),
        nn.Linear(800, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


LENETS = {"max": lenet_max, "avg": lenet_avg}


def lenet(
    images: np.ndarray, labels: np.ndarray, batch_size: int, lr: float, pooling: str = "max"
) -> Epoch:
    """LeNet with cross-entropy and SGD."""
    loader = DataLoader(TensorDataset(*plain_images(images, labels)), batch_size, shuffle=True)
    net = LENETS[pooling]()
    criterion = nn.CrossEntropyLoss()
    parameters = list(net.parameters())

    def epoch() -> None:
        total = 0.0
        for features, target in loader:
            loss = criterion(net(features), target)
            loss.backward()
            update(parameters, lr)
            total += loss.item() * len(target)

    return epoch


def gru_scratch(windows: list[np.ndarray], vocab_size: int, num_hiddens: int, lr: float) -> Epoch:
    """The GRU gate by gate; windows are (B, T + 1) symbols, the state is carried over."""

    def three() -> list[torch.Tensor]:
        return [
            torch.randn(vocab_size, num_hiddens) * 0.01,
            torch.randn(num_hiddens, num_hiddens) * 0.01,
            torch.zeros(num_hiddens),
        ]

    output = [torch.randn(num_hiddens, vocab_size) * 0.01, torch.zeros(vocab_size)]
    parameters = [p.requires_grad_() for p in [*three(), *three(), *three(), *output]]
    w_xz, w_hz, b_z, w_xr, w_hr, b_r, w_xh, w_hh, b_h, w_q, b_q = parameters

    def forward(symbols: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        outputs = []
        for x in nn.functional.one_hot(symbols.T, vocab_size).to(torch.float32):
            z = torch.sigmoid(x @ w_xz + h @ w_hz + b_z)
            r = torch.sigmoid(x @ w_xr + h @ w_hr + b_r)
            candidate = torch.tanh(x @ w_xh + (r * h) @ w_hh + b_h)
            h = z * h + (1 - z) * candidate
            outputs.append(h @ w_q + b_q)
        return torch.cat(outputs), h

    return _language_model(windows, num_hiddens, forward, parameters, lr)


def gru_layer(windows: list[np.ndarray], vocab_size: int, num_hiddens: int, lr: float) -> Epoch:
    """torch.nn.GRU and a linear layer."""
    layer, output = nn.GRU(vocab_size, num_hiddens), nn.Linear(num_hiddens, vocab_size)

    def forward(symbols: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hot = nn.functional.one_hot(symbols.T, vocab_size).to(torch.float32)
        states, last = layer(hot, h.unsqueeze(0))
        return output(states.reshape(-1, num_hiddens)), last[0]

    parameters = [*layer.parameters(), *output.parameters()]
    return _language_model(windows, num_hiddens, forward, parameters, lr)


def _language_model(
    windows: list[np.ndarray],
    num_hiddens: int,
    forward: Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]],
    parameters: list[torch.Tensor],
    lr: float,
) -> Epoch:
    batches = [torch.tensor(window, dtype=torch.int64) for window in windows]

    def epoch() -> None:
        h = torch.zeros(len(batches[0]), num_hiddens)
        total = 0.0
        for batch in batches:
            x, y = batch[:, :-1], batch[:, 1:]
            scores, h = forward(x, h.detach())
            loss = nn.functional.cross_entropy(scores, y.T.reshape(-1))
            loss.backward()
            with torch.no_grad():
                norm = torch.sqrt(sum((p.grad**2).sum() for p in parameters))
                if norm > 1:
                    for p in parameters:
                        p.grad[:] *= 1 / norm
            update(parameters, lr)
            total += loss.item() * y.numel()

    return epoch


def update(parameters: list[torch.Tensor], lr: float) -> None:
    """w <- w - lr g, parameter by parameter."""
    with torch.no_grad():
        for p in parameters:
            p -= lr * p.grad
            p.grad.zero_()
