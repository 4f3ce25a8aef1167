"""The d2l names in PyTorch compute what the chapters say, against closed forms."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn

from lockstep.d2l import drawing, options
from lockstep.d2l import torch as d2l
from lockstep.d2l.text import Vocab
from lockstep.data import airfoil


@pytest.fixture(autouse=True)
def as_text() -> Iterator[None]:
    torch.manual_seed(0)
    options.set(figures="terminal")
    yield
    drawing.finish()
    options.set(figures="auto", quick=False)
    options.current().notes.clear()


def test_sgd_divides_by_the_batch_size_and_clears_gradients() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w * torch.tensor([3.0, -1.0])).sum().backward()
    d2l.sgd([w], lr=0.5, batch_size=2)
    assert w.tolist() == [1.0 - 0.5 * 3 / 2, 2.0 + 0.5 / 2]
    assert w.grad is not None
    assert w.grad.tolist() == [0.0, 0.0]


def test_squared_loss_is_half_the_square_whatever_the_shape_of_y() -> None:
    found = d2l.squared_loss(torch.tensor([[3.0], [1.0]]), torch.tensor([1.0, 1.0]))
    assert found.tolist() == [[2.0], [0.0]]


def test_gradients_are_clipped_together() -> None:
    a, b = (torch.zeros(2, requires_grad=True) for _ in range(2))
    a.grad, b.grad = torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0])

    class Net:
        params = (a, b)

    d2l.grad_clipping(Net, 10)
    assert a.grad.tolist() == [3.0, 0.0]
    d2l.grad_clipping(Net, 1)  # the norm was 5
    np.testing.assert_allclose(a.grad, [0.6, 0.0], rtol=1e-6)
    np.testing.assert_allclose(b.grad, [0.0, 0.8], rtol=1e-6)


def test_every_row_comes_once_in_a_pass() -> None:
    rows = torch.arange(7)
    batches = d2l.load_array((rows, rows * 2), 3)
    assert len(batches) == 3
    seen = list(batches)
    assert [len(x) for x, _ in seen] == [3, 3, 1]
    assert sorted(torch.cat([x for x, _ in seen]).tolist()) == rows.tolist()
    assert all(torch.equal(y, 2 * x) for x, y in seen)
    in_order = d2l.load_array((rows,), 3, is_train=False)
    assert [x.tolist() for (x,) in in_order] == [[0, 1, 2], [3, 4, 5], [6]]
    for (x,) in in_order:
        x += 1  # a batch is one's own
    assert rows.tolist() == list(range(7))


def test_airfoil_as_the_room_of_data_has_it() -> None:
    batches, num_features = d2l.get_data_ch11(batch_size=1500)
    assert num_features == 5
    own = airfoil.load()
    # both are whitened in other precisions; rows are compared sorted, because they are shuffled
    ((x, y),) = list(batches)
    np.testing.assert_allclose(np.sort(x.numpy(), axis=0), np.sort(own.x, axis=0), atol=2e-5)
    np.testing.assert_allclose(np.sort(y.numpy()), np.sort(own.y[:, 0]), atol=2e-5)


def test_train_ch11_comes_near_the_least_squares_loss(capsys: pytest.CaptureFixture[str]) -> None:
    def sgd(params: list[torch.Tensor], states: None, hyperparams: dict[str, float]) -> None:
        for param in params:
            assert param.grad is not None
            param.data -= hyperparams["lr"] * param.grad
            param.grad.zero_()

    data_iter, feature_dim = d2l.get_data_ch11(100)
    times, losses = d2l.train_ch11(sgd, None, {"lr": 0.4}, data_iter, feature_dim, 4)
    own = airfoil.load(dtype=np.float64)
    inputs = np.hstack([own.x, np.ones((1500, 1))])
    best = np.linalg.lstsq(inputs, own.y, rcond=None)[1][0] / 1500 / 2
    assert len(times) == len(losses) == 4 * 15 // 2
    assert times == sorted(times)
    assert best <= losses[-1] < 1.05 * best  # SGD stays a little above the best
    assert re.search(r"loss: 0\.2\d\d, ", capsys.readouterr().out)


def test_accuracy_counts_every_example() -> None:
    net = nn.Linear(2, 2, bias=False)
    net.weight.data = torch.eye(2)
    x = torch.tensor([[2.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    batches = d2l.load_array((x, torch.tensor([0, 1, 1])), 2, is_train=False)
    assert d2l.evaluate_accuracy(net, batches) == pytest.approx(2 / 3)
    assert d2l.evaluate_accuracy_gpu(net, batches) == pytest.approx(2 / 3)


def test_predict_ch3_shows_as_many_images_as_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    batches = d2l.load_array((torch.zeros(3, 1, 28, 28), torch.tensor([9, 0, 1])), 3, False)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    for n, shown in ((1, 1), (2, 2), (6, 3)):
        d2l.predict_ch3(net, batches, n)
        drawing.finish()
        assert capsys.readouterr().out.count("[an image: ") == shown


def text_batches(num_steps: int = 8) -> tuple[list[tuple[torch.Tensor, torch.Tensor]], Vocab]:
    """A text that repeats itself: "abcd" again and again."""
    vocab = Vocab(list("abcd"))
    corpus = vocab[list("abcd" * 40)]
    return list(d2l.seq_data_iter_sequential(corpus, 4, num_steps)), vocab


@pytest.mark.parametrize("layer", [nn.RNN, nn.GRU, nn.LSTM])
def test_text_that_repeats_itself_is_learnt(
    layer: type[nn.RNN], capsys: pytest.CaptureFixture[str]
) -> None:
    batches, vocab = text_batches()
    net = d2l.RNNModel(layer(len(vocab), 16), len(vocab))
    loss, updater = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), 1.0)
    begin, _ = d2l.train_epoch_ch8(net, batches, loss, updater, "cpu", False)
    assert 2 < begin < 1.2 * len(vocab)  # at first all symbols are equally likely
    for _ in range(150):
        end, _ = d2l.train_epoch_ch8(net, batches, loss, updater, "cpu", False)
    assert 1.0 < end < 1.3
    assert d2l.predict_ch8("ab", 6, net, vocab, "cpu") == "abcdabcd"


def test_scratch_and_concise_models_are_the_same() -> None:
    """An RNN of functions with the layer's own weights: the same outputs and perplexity."""
    batches, vocab = text_batches()
    size, hidden = len(vocab), 6
    layer = nn.RNN(size, hidden)
    concise = d2l.RNNModel(layer, size)

    def get_params(vocab_size: int, num_hiddens: int, device: str) -> list[torch.Tensor]:
        both = layer.bias_ih_l0 + layer.bias_hh_l0
        linear = concise.linear
        weights = (layer.weight_ih_l0.T, layer.weight_hh_l0.T, both, linear.weight.T, linear.bias)
        return [weight.detach().clone().requires_grad_() for weight in weights]

    def init_state(batch_size: int, num_hiddens: int, device: str) -> tuple[torch.Tensor]:
        return (torch.zeros(batch_size, num_hiddens),)

    def forward(inputs: torch.Tensor, state: tuple[torch.Tensor], params: list[torch.Tensor]):  # type: ignore[no-untyped-def]
        w_xh, w_hh, b_h, w_hq, b_q = params
        (h,) = state
        out = []
        for x in inputs:
            h = torch.tanh(x @ w_xh + h @ w_hh + b_h)
            out.append(h @ w_hq + b_q)
        return torch.cat(out), (h,)

    scratch = d2l.RNNModelScratch(size, hidden, "cpu", get_params, init_state, forward)
    x = batches[0][0]
    ours, _ = scratch(x, scratch.begin_state(4, "cpu"))
    theirs, _ = concise(x, concise.begin_state("cpu", 4))
    np.testing.assert_allclose(ours.detach(), theirs.detach(), atol=1e-6)  # float32


def test_quick_training_is_shorter_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    options.set(quick=True)
    batches, vocab = text_batches()
    net = d2l.RNNModel(nn.GRU(len(vocab), 8), len(vocab))
    d2l.train_ch8(net, batches, vocab, 1, 500, "cpu")
    assert options.current().notes == ["epochs of a training: 10 of 500"]
    said = capsys.readouterr().out
    assert "perplexity" in said
    assert math.isfinite(float(re.findall(r"perplexity ([\d.]+)", said)[0]))


def test_resnet_and_training_on_one_device(capsys: pytest.CaptureFixture[str]) -> None:
    net = d2l.resnet18(10)
    # the number of parameters that the layers of the ResNet-18 for one channel have
    wanted = sum(
        (9 * a * b + b) + (9 * b * b + b) + 4 * b + ((a * b + b) if a != b else 0)
        for a, b in [(64, 64)] * 2 + [(64, 128), (128, 128), (128, 256), (256, 256)]
        + [(256, 512), (512, 512)]
    )  # fmt: skip
    wanted += (9 * 64 + 64) + 2 * 64 + (512 * 10 + 10)
    assert sum(param.numel() for param in net.parameters()) == wanted
    assert net(torch.rand(2, 1, 28, 28)).shape == (2, 10)
