"""Concise convolutions in the order of oneDNN: the path is that of PyTorch's plain order, also
where a pooling window has ties, as it has on the blank ground of these images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lockstep as ls
from lockstep.spec import FashionMNIST, LeNet

pytest.importorskip("torch", reason="torch is not installed here")


@pytest.mark.parametrize("pooling", ["max", "avg"])
@pytest.mark.parametrize("optimizer", ["sgd", "momentum"])
def test_the_path_is_that_of_the_plain_order(pooling: str, optimizer: str) -> None:
    run = ls.recipes.fashion_lenet(
        framework="torch",
        style="concise",
        data=FashionMNIST(source="generated", max_examples=64),
        model=LeNet(pooling=pooling),
        optimizer=optimizer,
        batch_size=16,
        lr=0.1,
        precision="float64",
        max_steps=8,
        epochs=2,
        evaluate=(),
    )
    faster, plain = ls.train(run), ls.train(replace(run, fused=False))
    assert "channels last" in faster.history.notes
    assert "channels last" not in plain.history.notes
    # the order of a convolution's sums is all that may differ
    np.testing.assert_allclose(
        faster.history[:, "loss"], plain.history[:, "loss"], rtol=1e-12, atol=0
    )
    assert faster.history[-1, "loss"] != faster.history[0, "loss"]
    for name, value in plain.weights.items():
        np.testing.assert_allclose(faster.weights[name], value, rtol=0, atol=1e-12)
