"""Bytes to arrays: airfoil's whitening, idx files, and Fashion-MNIST where it is here."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from lockstep.data import airfoil, fashion_mnist, find
from lockstep.data.idx import parse_idx
from lockstep.errors import InputError


def test_airfoil_is_whitened_over_all_rows():
    examples = airfoil.load(max_examples=1503, dtype=np.float64)
    table = np.hstack([examples.x, examples.y])
    # 1,503 numbers near 1 summed in float64: rounding stays below 1e-12
    np.testing.assert_allclose(table.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose((table**2).mean(axis=0), 1, atol=1e-12)


def test_airfoil_values_against_the_table_itself():
    """Undoing the whitening by statistics from np.genfromtxt gives the printed numbers."""
    table = np.genfromtxt(find("airfoil").paths[0], delimiter="\t")
    assert table.shape == (1503, 6)
    assert table[0].tolist() == [800, 0, 0.3048, 71.3, 0.00266337, 126.201]
    examples = airfoil.load(dtype=np.float64)
    assert len(examples) == 1500
    expected = (table[:1500] - np.mean(table, 0)) / np.sqrt(np.var(table, 0))
    np.testing.assert_allclose(examples.x, expected[:, :5], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(examples.y, expected[:, 5:], rtol=1e-12, atol=1e-12)
    single = airfoil.load()
    np.testing.assert_array_equal(single.x, examples.x.astype(np.float32))
    assert single.origin.edition == "d2l"
    assert not single.origin.generated


@pytest.mark.parametrize("count", [0, -1, 1504])
def test_airfoil_refuses_more_rows_than_there_are(count):
    with pytest.raises(InputError, match=r"data\.max_examples"):
        airfoil.load(max_examples=count)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def test_idx_round_trip():
    array = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    np.testing.assert_array_equal(parse_idx(idx(array)), array)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda good: good[:-1], "its header says"),
        (lambda good: good[:9], "ends within its header"),
        (lambda good: b"\x1f\x8b" + good, "does not begin as an idx file"),
        (lambda good: b"", "does not begin as an idx file"),
    ],
)
def test_damaged_idx_files_are_refused(damage, problem):
    with pytest.raises(InputError, match=problem):
        parse_idx(damage(idx(np.zeros((2, 3), np.uint8))))


def test_fashion_mnist(chapter_data):
    chapter_data("fashion-mnist/train-images-idx3-ubyte.gz")
    train, test = fashion_mnist.load(remote=False)
    assert (train.x.shape, test.x.shape) == ((60000, 28, 28), (10000, 28, 28))
    assert (train.x.dtype, train.y.dtype) == (np.uint8, np.int32)
    # the data set's authors: every class equally often; the first is an ankle boot
    assert np.bincount(train.y).tolist() == [6000] * 10
    assert np.bincount(test.y).tolist() == [1000] * 10
    assert train.y[0] == 9  # an ankle boot
    # the mean grey value everyone normalises with, 0.2860
    assert abs(train.x.mean() / 255 - 0.2860) < 5e-5
    assert train.x.flags.writeable
