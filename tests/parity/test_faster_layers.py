"""Where the concise style computes a framework's own layers in a faster way, the path is that of
the plain way, also where a pooling window has ties, as it has on the blank ground of images."""

from __future__ import annotations

import numpy as np
import pytest

from .running import OTHERS, recipe, walk

FASTER = {
    "torch": "channels last",
    "jax": "convolutions as matrix products",
    "paddle": "biases of convolutions added flat",
}
SIZE = {"data__max_examples": 128, "batch_size": 16, "max_steps": 8, "lr": 0.1}


@pytest.mark.parametrize("framework", sorted(FASTER.keys() & set(OTHERS)))
@pytest.mark.parametrize(("optimizer", "pooling"), [("sgd", "max"), ("momentum", "avg")])
def test_the_path_is_that_of_the_plain_way(framework: str, pooling: str, optimizer: str) -> None:
    spec = recipe(
        "fashion-lenet", framework=framework, style="concise", precision="float64",
        model__pooling=pooling, optimizer=optimizer, **SIZE,
    )  # fmt: skip
    faster, plain = walk(spec), walk(spec, fused=False)
    assert FASTER[framework] in faster.history.notes
    assert FASTER[framework] not in plain.history.notes
    start = spec.with_fields({"max_steps": 1})
    assert any((walk(start).weights[n] != w).any() for n, w in faster.weights.items())
    # only the order of a convolution's sums may differ
    loss = plain.history[:, "loss"]
    np.testing.assert_allclose(faster.history[:, "loss"], loss, rtol=1e-12, atol=0)
    for name, value in plain.weights.items():
        np.testing.assert_allclose(faster.weights[name], value, rtol=0, atol=1e-12)
