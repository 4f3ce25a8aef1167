"""A chapter's data given as a file walks the chapter's path, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import lockstep as ls
from lockstep import data, recipes
from lockstep.spec import RunSpec

from .test_own import HERE

NUM_STEPS = 6  # more would only repeat that equal batches give equal updates

# own recipe, chapter's recipe, its data, what makes the settings those of the chapter
CASES = {
    "table-linear": (
        "airfoil-linear",
        "airfoil",
        {"max_examples": 1500, "held_out": 0.0},
    ),
    "images-lenet": ("fashion-lenet", "fashion-mnist", {}),
    "text-gru": ("timemachine-gru", "timemachine", {"max_tokens": 10_000, "held_out": 0.0}),
}


@cache
def file_of(name: str) -> str:
    """Where the data is on this machine, the package's own included; "" if it is not."""
    found = data.find(name)
    if found is None:
        return ""
    return str(found.paths[0] if len(found.paths) == 1 else found.paths[0].parent)


def own_file(name: str, framework: str) -> tuple[RunSpec, RunSpec]:
    chapter, source, fields = CASES[name]
    if not file_of(source):
        pytest.skip(f"needs {source}: lockstep data fetch {source}")
    theirs = recipes.get(chapter, framework=framework, max_steps=NUM_STEPS, evaluate=())
    part = recipes.get(name, **{"data.file": file_of(source)}).data
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
