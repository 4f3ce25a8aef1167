"""The d2l names in every framework: each is there, and computes what the chapters say of it.

Run by each framework's own interpreter too (`python -m tests.in_environments`), in a process of
its own: TensorFlow's chapters need Keras 2.
"""

from __future__ import annotations

import importlib
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.d2l.test_names import JAX_LACKS, ONE_DEVICE, RELATIVES, defined

from lockstep import d2l as room
from lockstep.d2l import drawing, names, options
from lockstep.d2l.numbers import to_numpy
from lockstep.d2l.text import Vocab
from lockstep.data import airfoil, find

TESTED = os.environ.get("LOCKSTEP_TESTED")
FRAMEWORKS = [TESTED] if TESTED else ["torch", "jax"]


@pytest.fixture(scope="module", params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    pytest.importorskip(name)
    return name


@pytest.fixture(scope="module", autouse=True)
def prepared() -> None:
    if TESTED:
        room.prepare(TESTED)


@pytest.fixture
def d2l(framework: str) -> Any:
    return importlib.import_module(f"lockstep.d2l.{framework}")


@pytest.fixture
def builder(framework: str) -> Any:
    return importlib.import_module(f"tests.d2l.builders_of.{framework}")


@pytest.fixture(autouse=True)
def as_text() -> Iterator[None]:
    options.set(figures="terminal")
    random.seed(0)
    np.random.seed(0)
    yield
    drawing.finish()
    options.set(figures="auto", quick=False)
    options.current().notes.clear()


def with_images() -> None:
    if find("fashion-mnist") is None:
        pytest.skip("the data are not on this machine")
    options.set(quick=True)


def lacks(framework: str, name: str) -> bool:
    single = framework in ("tensorflow", "mindspore", "jax")
    return (single and name in ONE_DEVICE) or (framework == "jax" and name in JAX_LACKS)


def test_every_name_is_there(framework: str, d2l: Any) -> None:
    known = names.known(d2l.__name__)
    assert set(known) == defined(framework)  # what the tests of the chapters rely on
    assert [name for name in known if getattr(d2l, name, None) is None] == []
    wanted = [name for name in RELATIVES if not lacks(framework, name)]
    assert [name for name in wanted if name not in known] == []
    assert ("TrainCallback" in known) == (framework == "tensorflow")


def test_operations_on_arrays(framework: str, d2l: Any) -> None:
    x = d2l.reshape(d2l.arange(6), (2, 3))
    assert to_numpy(x).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert float(to_numpy(d2l.reduce_sum(x))) == 15
    assert to_numpy(d2l.argmax(x, 1)).tolist() == [2, 2]
    assert to_numpy(d2l.astype(x, d2l.float32)).dtype == np.float32
    assert to_numpy(d2l.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert d2l.numpy(d2l.zeros((2, 2))).tolist() == [[0.0, 0.0]] * 2
    assert d2l.numpy(d2l.ones((1, 2))).tolist() == [[1.0, 1.0]]
    assert int(d2l.size(x)) == 6
    many = {
        "torch": lambda: d2l.normal(0.0, 1.0, (4000,)),
        "mxnet": lambda: d2l.normal(0, 1, (4000,)),
        "paddle": lambda: d2l.normal(0.0, 1.0, [4000]),
        "tensorflow": lambda: d2l.normal((4000,)),
        "mindspore": lambda: d2l.normal(0, 1, (4000,)),
        "jax": lambda: d2l.normal(0, 1, (4000,)),
    }[framework]()
    assert abs(to_numpy(many).std() - 1) < 0.06  # five times its deviation


def test_a_linear_model(d2l: Any) -> None:
    x, w, b = d2l.tensor([[1.0, 2.0]]), d2l.tensor([[3.0], [4.0]]), d2l.tensor([0.5])
    out = d2l.linreg(x, w, b)
    assert to_numpy(out).tolist() == [[11.5]]
    assert to_numpy(d2l.squared_loss(out, d2l.tensor([9.5]))).tolist() == [[2.0]]
    features, labels = d2l.synthetic_data(d2l.tensor([2.0, -3.4]), 4.2, 400)
    found = np.linalg.lstsq(
        np.hstack([to_numpy(features), np.ones((400, 1))]), to_numpy(labels), rcond=None
    )[0]
    np.testing.assert_allclose(found.ravel(), [2.0, -3.4, 4.2], atol=0.005)  # noise 0.01 / sqrt(N)


def test_every_row_comes_once_in_a_pass(d2l: Any) -> None:
    rows = np.arange(7, dtype=np.float32)
    batches = d2l.load_array((rows, rows * 2), 3)
    seen = [(to_numpy(x), to_numpy(y)) for x, y in batches]
    assert [len(x) for x, _ in seen] == [3, 3, 1]
    assert sorted(np.concatenate([x for x, _ in seen])) == rows.tolist()
    assert all((y == 2 * x).all() for x, y in seen)
    orders = {tuple(x for part, _ in batches for x in to_numpy(part)) for _ in range(5)}
    assert len(orders) > 1
    in_order = [to_numpy(x).tolist() for (x,) in d2l.load_array((rows,), 3, is_train=False)]
    assert in_order == [[0, 1, 2], [3, 4, 5], [6]]


def test_training_comes_near_the_least_squares_loss(
    framework: str, d2l: Any, builder: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    data_iter, feature_dim = d2l.get_data_ch11(100)
    own = airfoil.load(dtype=np.float64)
    inputs = np.hstack([own.x, np.ones((1500, 1))])
    best = np.linalg.lstsq(inputs, own.y, rcond=None)[1][0] / 1500 / 2
    _, losses = d2l.train_ch11(builder.sgd_rule, None, {"lr": 0.4}, data_iter, feature_dim, 4)
    assert best <= losses[-1] < 1.05 * best
    if framework == "jax":
        return
    capsys.readouterr()
    d2l.train_concise_ch11(*builder.concise(), data_iter, 4)
    found = re.findall(r"loss: ([\d.]+)", capsys.readouterr().out)
    assert best - 1e-3 <= float(found[0]) < 1.05 * best  # printed with three digits


def test_images(framework: str, d2l: Any) -> None:
    with_images()
    train, test = d2l.load_data_fashion_mnist(64, resize=14)
    x, y = next(iter(test))
    shape = (64, 14, 14, 1) if framework in ("tensorflow", "jax") else (64, 1, 14, 14)
    assert tuple(x.shape) == shape
    assert to_numpy(y)[:4].tolist() == [9, 2, 1, 1]
    assert 0 <= to_numpy(x).min() < 0.1
    assert 0.9 < to_numpy(x).max() <= 1
    assert len(list(train)) == options.current().train_batches


def test_a_classifier_of_images(
    framework: str, d2l: Any, builder: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    if framework == "jax":
        pytest.skip("the book's chapters in JAX train otherwise")
    with_images()
    train, test = d2l.load_data_fashion_mnist(256)
    net, loss, trainer = builder.linear()
    first, _ = d2l.train_epoch_ch3(net, train, loss, trainer)
    assert 1.5 < first < 2.6  # log 10 = 2.3 before anything is learnt
    d2l.train_ch3(net, train, test, loss, 10, trainer)
    last, trained = d2l.train_epoch_ch3(net, train, loss, trainer)
    assert last < first - 0.3
    assert trained > 0.4
    assert d2l.evaluate_accuracy(net, test) == d2l.evaluate_accuracy_gpu(net, test) > 0.4
    d2l.predict_ch3(net, test)
    drawing.finish()
    assert "ankle boot" in capsys.readouterr().out
    builder.train_ch6(d2l, train, test)
    said = capsys.readouterr().out
    assert float(re.findall(r"test acc ([\d.]+)", said)[0]) > 0.15
    assert "examples/sec on" in said


def test_text_that_repeats_itself_is_learnt(
    d2l: Any, builder: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    vocab = Vocab(list("abcd"))
    corpus = vocab[list("abcd" * 40)]
    for windows in (d2l.seq_data_iter_random, d2l.seq_data_iter_sequential):
        x, y = next(iter(windows(corpus, 4, 8)))
        assert tuple(x.shape) == (4, 8)
        assert (to_numpy(x)[:, 1:] == to_numpy(y)[:, :-1]).all()
    batches = list(d2l.seq_data_iter_sequential(corpus, 4, 8))
    vocab.token_to_idx |= dict.fromkeys("time rvl", 0)  # of the prefixes that it continues
    assert builder.train_ch8(d2l, batches, vocab) == "abcdabcd"
    perplexity = float(re.findall(r"perplexity ([\d.]+)", capsys.readouterr().out)[0])
    assert 1.0 <= perplexity < 2


def test_several_devices(
    framework: str, d2l: Any, builder: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    if lacks(framework, "train_ch13"):
        pytest.skip("its book has no chapter on several devices")
    with_images()
    images, labels = next(iter(d2l.load_data_fashion_mnist(6)[1]))
    assert tuple(builder.resnet(d2l, images).shape) == (6, 10)
    parts, others = d2l.split_batch(images, labels, [d2l.cpu(), d2l.cpu()])
    assert [part.shape[0] for part in parts] == [part.shape[0] for part in others] == [3, 3]
    np.testing.assert_array_equal(
        np.concatenate([to_numpy(part) for part in parts]), to_numpy(images)
    )
    train, test = d2l.load_data_fashion_mnist(64)
    builder.train_ch13(d2l, train, test)
    trained = float(re.findall(r"loss ([\d.]+)", capsys.readouterr().out)[0])
    assert trained < 2.0  # log 10 = 2.3 before anything is learnt


@pytest.mark.skipif(TESTED != "mindspore", reason="MindSpore takes a tuple for a constant")
def test_scratch_models_in_mindspore_are_compiled_once(d2l: Any, builder: Any) -> None:
    """A state that is a tuple made it compile each batch anew: 60 batches took a minute."""
    import time

    vocab = Vocab(list("abcd"))
    batches = list(d2l.seq_data_iter_sequential(vocab[list("abcd" * 60)], 4, 8))
    net = builder.scratch(d2l, len(vocab))
    vocab.token_to_idx |= dict.fromkeys("time rvl", 0)
    begin = time.monotonic()
    d2l.train_ch8(net, batches[:1], vocab, 1.0, 1)
    once = time.monotonic() - begin  # compilation included
    begin = time.monotonic()
    d2l.train_ch8(net, batches, vocab, 1.0, 20)
    assert time.monotonic() - begin < 6 * once + 5
    assert d2l.predict_ch8("ab", 6, net, vocab) == "abcdabcd"  # its parameters moved


@pytest.mark.skipif(TESTED != "tensorflow", reason="only TensorFlow has two versions of Keras")
def test_importing_the_names_is_enough_for_keras_2() -> None:
    """In a process of its own: in this one `prepare` was called."""
    code = "{}\nprint(tf.keras.layers.RNN(tf.keras.layers.GRUCell(2), time_major=True).time_major)"
    names, framework = "from lockstep.d2l import tensorflow as d2l", "import tensorflow as tf"
    for order in ((names, framework), (framework, names)):
        done = subprocess.run(
            [sys.executable, "-c", code.format("\n".join(order))],
            capture_output=True, text=True, timeout=100,
        )  # fmt: skip
        assert done.stdout == "True\n", done.stderr


@pytest.mark.skipif(TESTED not in ("mxnet", "paddle"), reason="torch's are in test_virtual.py")
@pytest.mark.filterwarnings("ignore:To copy construct")  # Paddle's advice on what the chapters do
def test_virtual_devices(d2l: Any, builder: Any) -> None:
    """The last test of this file: they stay for the whole process."""
    assert room.virtual_devices(TESTED, 2)
    assert d2l.num_gpus() == len(d2l.try_all_gpus()) == 2
    assert str(d2l.try_gpu(2)) == str(d2l.cpu())  # Paddle's places are not compared by value
    with pytest.raises(builder.REFUSAL, match="there are 2 virtual devices"):
        d2l.gpu(2)
    own = d2l.ones((1, 2))
    first, second = (builder.sent(own, device) for device in d2l.try_all_gpus())
    first[:] = 7.0
    assert [to_numpy(array).tolist() for array in (own, first, second)] == [
        [[1.0, 1.0]], [[7.0, 7.0]], [[1.0, 1.0]],
    ]  # fmt: skip
