"""The models as mindspore.nn has them. layout.py has their arrays, updates.py their optimizers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mindspore import Tensor, nn

from lockstep.errors import InputError
from lockstep.frameworks.mindspore.kernels import kernels
from lockstep.models import Model
from lockstep.models.feedforward import LinearNet, MLPNet
from lockstep.models.lenet import LeNetModel
from lockstep.models.recurrent import RecurrentNet

Tensors = dict[str, Tensor]
Forward = Callable[..., Any]  # a cell, or a graph of it
Call = Callable[[Forward, Tensor, Tensors], tuple[Tensor, Tensors]]


def build(model: Model, precision: str) -> tuple[nn.Cell, Call]:
    """The cell that is the same model as `model`, and how it is called."""
    match model:
        case LinearNet(num_inputs, num_outputs):
            return nn.SequentialCell(nn.Flatten(), nn.Dense(num_inputs, num_outputs)), _plain_call
        case MLPNet(sizes):
            return nn.SequentialCell(nn.Flatten(), *_dense(sizes)), _plain_call
        case LeNetModel(pooling):
            _refuse_float64(precision, "Conv2d has no float64 kernel")
            return _lenet(pooling), _image_call
        case RecurrentNet():
            _refuse_float64(precision, "RNN and GRU take no float64 state")
            return LanguageModel(model), partial(_text_call, model.vocab_size)
    problem = "has no mindspore.nn form"
    raise InputError("model", type(model).__name__, problem, "Use --style scratch.")


def _refuse_float64(precision: str, problem: str) -> None:
    if precision == "float64":
        remedy = "Use --style scratch, or --precision float32."
        raise InputError("precision", precision, f"mindspore.nn.{problem}", remedy)


def _dense(sizes: tuple[int, ...]) -> list[nn.Cell]:
    """Dense layers with ReLU between them."""
    cells: list[nn.Cell] = []
    for i in range(1, len(sizes)):
        cells += [nn.ReLU(), nn.Dense(sizes[i - 1], sizes[i])]
    return cells[1:]


def _lenet(pooling: str) -> nn.Cell:
    if pooling == "max":
        cells = [_conv(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2, 2)]
        cells += [_conv(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()]
        return nn.SequentialCell(*cells, *_dense((400, 120, 84, 10)))
    cells = [_conv(1, 20, 3), nn.ReLU(), nn.AvgPool2d(2, 2)]
    cells += [_conv(20, 50, 5), nn.ReLU(), nn.AvgPool2d(2, 2), nn.Flatten()]
    return nn.SequentialCell(*cells, *_dense((800, 128, 10)))


def _conv(inputs: int, outputs: int, size: int, padding: int = 0) -> nn.Cell:
    return nn.Conv2d(inputs, outputs, size, pad_mode="pad", padding=padding, has_bias=True)


class LanguageModel(nn.Cell):
    """One-hot symbols (T, B, V), a recurrent layer, and scores (T, B, V)."""

    def __init__(self, model: RecurrentNet) -> None:
        super().__init__()
        v, n = model.vocab_size, model.num_hiddens
        self.layer = nn.RNN(v, n) if model.gates == 1 else nn.GRU(v, n)
        self.output = nn.Dense(n, v)
        if model.gates == 1:
            self.layer.b_hh_list[0].requires_grad = False

    def construct(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        states, last = self.layer(x, h)
        return self.output(states), last


def _plain_call(cell: Forward, x: Tensor, carry: Tensors) -> tuple[Tensor, Tensors]:
    return cell(x), carry


def _image_call(cell: Forward, x: Tensor, carry: Tensors) -> tuple[Tensor, Tensors]:
    return cell(x.expand_dims(1)), carry  # (B, 1, 28, 28)


def _text_call(vocab_size: int, cell: Forward, x: Tensor, carry: Tensors) -> tuple[Tensor, Tensors]:
    hot = kernels("float32").one_hot(x, vocab_size)  # (T, B, V)
    scores, last = cell(hot, carry["h"].expand_dims(0))
    return scores, {"h": last[0]}
