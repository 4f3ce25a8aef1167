"""A run begun in one framework and finished in others: the same path within rounding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.training.directory import RunDirectory

from .running import PATHS, assert_learned, at_step, small

# float64 all the way: frameworks differ in the order of sums only; tens of updates keep that
# below 1e-9 relative (measured: below 1e-12)
CLOSE = {"rtol": 1e-9, "atol": 1e-12}

ROUTES = [
    ("airfoil", "momentum", ["torch", "jax", "numpy"]),
    ("airfoil", "adam", ["torch-concise", "jax-concise", "numpy"]),
    ("mlp", "adam", ["torch", "jax-concise", "torch-concise"]),
    ("lenet", "momentum", ["torch-concise", "jax-concise", "torch"]),
    ("rnn", "adam", ["torch-concise", "numpy", "jax-concise"]),
    ("gru-before", "adam", ["torch", "jax-concise", "numpy"]),
    ("gru-after", "momentum", ["torch-concise", "jax", "torch"]),
    ("gru-after", "adadelta", ["jax-concise", "torch-concise", "numpy"]),
    ("gru-after", "rmsprop", ["numpy", "jax", "torch"]),
    ("airfoil", "adagrad", ["jax-concise", "torch-concise", "jax"]),
    ("mlp", "sgld", ["torch", "jax", "numpy"]),
]


@pytest.mark.parametrize(("task", "optimizer", "route"), ROUTES)
def test_finished_in_other_frameworks(
    task: str, optimizer: str, route: list[str], tmp_path: Path
) -> None:
    """Handed over in mid-epoch, with the optimizer's slots and the recurrent state."""
    specs = [small(task, path, optimizer, precision="float64") for path in route]
    whole = ls.train(specs[0])
    assert_learned(whole)
    folder = tmp_path / "run"
    ls.train(specs[0], out=folder, callbacks=[at_step(2)], event_steps=1)
    ls.resume(folder, spec=specs[1], callbacks=[at_step(5)], event_steps=1)
    result = ls.resume(folder, spec=specs[2])
    assert result.status == "completed"
    assert RunDirectory(folder).spec == specs[2]
    np.testing.assert_allclose(result.history[:, "loss"], whole.history[:, "loss"], **CLOSE)
    for group in ("weights", "slots", "carry"):
        mine, theirs = getattr(result.snapshot, group), getattr(whole.snapshot, group)
        assert mine.keys() == theirs.keys(), group
        for name, value in mine.items():
            np.testing.assert_allclose(value, theirs[name], err_msg=name, **CLOSE)


@pytest.mark.parametrize("path", [path for path in PATHS if path != "numpy"])
def test_a_start_from_another_frameworks_result(path: str) -> None:
    first = ls.train(small("airfoil", "numpy", precision="float64"))
    spec = small("airfoil", path, precision="float64", seed=9)
    here = ls.train(spec, start=first.snapshot)
    there = ls.train(small("airfoil", "numpy", precision="float64", seed=9), start=first.snapshot)
    for name, value in there.weights.items():
        np.testing.assert_allclose(here.weights[name], value, err_msg=name, **CLOSE)
    assert not np.array_equal(first.weights["w"], here.weights["w"])
