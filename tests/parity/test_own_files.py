"""A chapter's data given as a file walks the chapter's path, bit for bit."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep import recipes
from lockstep.spec import RunSpec

from .test_own import HERE

FOLDER = os.environ.get("LOCKSTEP_DATA", "")
NUM_STEPS = 6  # more would only repeat that equal batches give equal updates

# own recipe, chapter's recipe, its file, what makes the settings those of the chapter
CASES = {
    "table-linear": (
        "airfoil-linear",
        "airfoil_self_noise.dat",
        {"max_examples": 1500, "held_out": 0.0},
    ),
    "images-lenet": ("fashion-lenet", "fashion-mnist", {}),
    "text-gru": ("timemachine-gru", "timemachine.txt", {"max_tokens": 10_000, "held_out": 0.0}),
}


def own_file(name: str, framework: str) -> tuple[RunSpec, RunSpec]:
    chapter, file, fields = CASES[name]
    path = Path(FOLDER) / file
    if not FOLDER or not path.exists():
        pytest.skip(f"needs {file} in the folder that LOCKSTEP_DATA names")
    theirs = recipes.get(chapter, framework=framework, max_steps=NUM_STEPS, evaluate=())
    part = recipes.get(name, **{"data.file": str(path)}).data
    return theirs, replace(theirs, name=name, data=replace(part, **fields))


@pytest.mark.parametrize("framework", [f for f in HERE if f in ("numpy", "torch", "jax")])
@pytest.mark.parametrize("name", CASES)
def test_a_chapters_file_walks_its_path_bit_for_bit(name: str, framework: str) -> None:
    results = [ls.train(spec) for spec in own_file(name, framework)]
    losses = [np.asarray(result.history[:, "loss"]) for result in results]
    assert len(losses[0]) == NUM_STEPS
    assert losses[0][0] != losses[0][-1]
    np.testing.assert_array_equal(losses[0], losses[1])
    for key, value in results[0].weights.items():
        np.testing.assert_array_equal(value, results[1].weights[key], strict=True)
