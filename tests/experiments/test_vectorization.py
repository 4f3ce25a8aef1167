"""Rates of a product: the more is done in a call, the faster; every way computes the product."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lockstep.errors import InputError, LockstepError
from lockstep.experiments import vectorization
from lockstep.experiments.vectorization import Question, Rate, Rates
from lockstep.experiments.vectorization.product_worker import (
    _check,
    by_block,
    by_column,
    by_element,
)
from lockstep.frameworks.numpy.ops import NumpyOps


def test_the_whole_product_is_far_faster_than_its_elements() -> None:
    found = vectorization.run(Question(("numpy",), size=128, block=32, seconds=0.05))
    rates = {rate.way: rate for rate in found.rates}
    assert list(rates) == ["element", "column", "block", "whole"]
    assert [rate.calls for rate in rates.values()] == [128 * 128, 128, 4, 1]
    assert rates["whole"].median > 3 * rates["element"].median
    assert all(rate.low <= rate.median <= rate.high for rate in rates.values())
    assert found.peak >= rates["whole"].median
    assert found.versions == {"numpy": np.__version__}


def test_ways_compute_the_product() -> None:
    ops = NumpyOps("float64")
    rng = np.random.default_rng(1)
    b, c = rng.standard_normal((2, 8, 8))
    np.testing.assert_allclose(by_element(ops, b, c, 20), (b @ c).ravel()[:20], rtol=1e-12)
    np.testing.assert_allclose(by_column(ops, b, c, 8), b @ c, rtol=1e-12)
    np.testing.assert_allclose(by_block(ops, b, c, 8, 4), b @ c, rtol=1e-12)
    with pytest.raises(LockstepError, match="differs from NumPy's product by 1"):
        _check(b @ c + 1, b @ c, "a way")


def test_table_and_figure_show_what_was_measured() -> None:
    asked = Question(("numpy",), size=256)
    values = {"element": 0.2, "column": 3.0, "block": 30.0, "whole": 60.0}
    rates = tuple(Rate("numpy", w, 1, v, v / 2, v * 2) for w, v in values.items())
    found = Rates(asked, rates, {"numpy": "2"}, 80.0, "2048 x 2048 in numpy")
    table, line = vectorization.tables(found)
    assert table.rows == [["numpy 2", "0.2", "3", "30", "60", "300"]]  # type: ignore[union-attr]
    assert "80 GFLOP/s (2048 x 2048 in numpy)" in str(line)
    (panel,) = vectorization.chart(found).panels
    assert [bar.end for bar in panel.bars] == list(values.values())
    assert panel.x_log
    assert panel.guides[0].value == 80.0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"block": 60}, "block = 60: does not divide the size 256"),
        ({"block": 0}, "block = 0"),
        ({"seconds": math.nan}, "seconds = nan"),
    ],
)
def test_what_cannot_be_measured_is_refused(asked: dict[str, float], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Question(("numpy",), **asked)  # type: ignore[arg-type]
