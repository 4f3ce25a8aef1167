"""In each framework that has an interpreter of its own, and both styles: a run stopped, cut
otherwise and resumed is the same to the bit. Of the others, tests/training says more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lockstep.spec import RunSpec
from lockstep.training import Result, resume, train
from lockstep.training.events import StepsCompleted
from lockstep.training.run_state import Training

from .running import OTHERS, recipe

ELSEWHERE = [name for name in OTHERS if name not in ("torch", "jax")]
pytestmark = pytest.mark.skipif(
    not ELSEWHERE, reason="for frameworks elsewhere: python -m tests.in_environments runs it there"
)
TEXT: dict[str, Any] = {
    "model__num_hiddens": 12,
    "batch_size": 8,
    "data__window": 3,
    "data__max_tokens": 180,
    "model__reset": "after",
    "data__source": "generated",
}
RUNS = {  # the last batch of an epoch is smaller in the first and the last
    "airfoil adam": recipe("airfoil-linear", optimizer="adam", data__max_examples=95, lr=0.01),
    "mlp momentum": recipe(
        "airfoil-linear", model="mlp", optimizer="momentum", data__max_examples=90, lr=0.01
    ),
    "gru sgd": recipe("timemachine-gru", **TEXT),
    "gru rmsprop": recipe("timemachine-gru", optimizer="rmsprop", lr=0.01, **TEXT),
    "lenet adagrad": recipe(
        "fashion-lenet",
        batch_size=16,
        optimizer="adagrad",
        lr=0.01,
        data__max_examples=40,
        data__source="generated",
    ),
}


def stop_at(step: int) -> Any:
    def callback(event: object, run: Training) -> None:
        if isinstance(event, StepsCompleted) and run.step >= step:
            run.stop()

    return callback


def assert_same(one: Result, other: Result) -> None:
    for column in ("loss", "grad_norm", "lr"):
        np.testing.assert_array_equal(one.history[:, column], other.history[:, column])
    for group in ("weights", "slots", "carry"):
        mine, theirs = getattr(one.snapshot, group), getattr(other.snapshot, group)
        assert mine.keys() == theirs.keys()
        for name, value in mine.items():
            assert value.dtype == theirs[name].dtype
            np.testing.assert_array_equal(value, theirs[name], err_msg=f"{group}/{name}")


@pytest.mark.parametrize("framework", ELSEWHERE)
@pytest.mark.parametrize("style", ["scratch", "concise"])
@pytest.mark.parametrize("name", RUNS)
def test_stopped_and_resumed(name: str, style: str, framework: str, tmp_path: Path) -> None:
    spec: RunSpec = replace(RUNS[name], framework=framework, style=style, epochs=2)
    whole = train(spec)
    assert np.ptp(whole.history[:, "loss"]) > 0
    folder = tmp_path / "run"
    first = train(spec, out=folder, callbacks=[stop_at(2)], event_steps=1)
    assert first.status == "stopped"
    assert len(first.history) == 2
    assert_same(whole, resume(folder, event_steps=2))
