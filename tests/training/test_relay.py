"""One run through every framework, a few steps in each: the path of one that was never handed on.

Needs the environments that `make environments` makes; each framework runs in its own interpreter.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.frameworks import environments, registry

REAL = os.environ.get("LOCKSTEP_ENVIRONMENTS")  # as it was before the tests' own took its place
RELAY = ("numpy", "mxnet", "paddle", "mindspore", "tensorflow", "jax", "torch")
STEPS = 3  # in each


@pytest.fixture
def real_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    if REAL is None:
        monkeypatch.delenv("LOCKSTEP_ENVIRONMENTS", raising=False)
    else:
        monkeypatch.setenv("LOCKSTEP_ENVIRONMENTS", REAL)
    missing = [name for name in RELAY if name not in environments.usable()]
    if missing:
        pytest.skip(f"needs: lockstep env create {' '.join(missing)}")


def test_every_framework_takes_part() -> None:
    assert set(RELAY) == set(registry.names())


@pytest.mark.slow  # make test needs no environments; make test-frameworks has it run
@pytest.mark.usefixtures("real_environments")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("recipe", "optimizer", "style", "precision"),
    [
        ("timemachine-gru", "adam", "scratch", "float64"),
        ("timemachine-gru", "sgd", "concise", "float32"),  # MindSpore's GRU takes no float64
        ("airfoil-linear", "momentum", "scratch", "float64"),
    ],
)
def test_relay(
    recipe: str,
    optimizer: str,
    style: str,
    precision: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What differs is the order of sums, some 1e-15 (or 1e-7) a step."""
    monkeypatch.setenv("KERAS_BACKEND", "jax")  # a person's choice, which no leg may stumble over
    tolerance = {"float64": 1e-9, "float32": 1e-4}[precision]
    fields = {"precision": precision, "optimizer.kind": optimizer, "evaluate": ()}
    if recipe == "timemachine-gru":
        fields |= {"model.num_hiddens": 16, "model.reset": "after"}
        fields |= {"data.source": "generated", "data.window": 6}
    spec = ls.recipes.get(recipe, epochs=3).with_fields(fields).with_lr(0.01)
    whole = ls.train(spec.with_fields({"max_steps": STEPS * len(RELAY)}))
    folder = tmp_path / "run"
    for count, framework in enumerate(RELAY, 1):
        own = "scratch" if framework == "numpy" else style
        leg = spec.with_fields({"framework": framework, "style": own, "max_steps": STEPS * count})
        result = ls.train(leg, out=folder) if count == 1 else ls.resume(folder, spec=leg)
        assert result.status == "completed"
        assert len(result.history) == STEPS * count
    loss = whole.history[:, "loss"]
    assert np.ptp(loss) > 1e-3 * loss[0]
    np.testing.assert_allclose(result.history[:, "loss"], loss, rtol=tolerance)
    for group in ("weights", "slots", "carry"):
        mine, theirs = getattr(result.snapshot, group), getattr(whole.snapshot, group)
        assert mine.keys() == theirs.keys()
        for name, value in mine.items():
            size = max(float(np.abs(theirs[name]).max()), 1e-8)
            np.testing.assert_allclose(
                value, theirs[name], rtol=0, atol=tolerance * size, err_msg=f"{group}/{name}"
            )
