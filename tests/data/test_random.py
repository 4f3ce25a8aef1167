"""The generator by seed and purpose: pinned values, so that no version of NumPy moves a run."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from lockstep.data import generator
from lockstep.errors import InputError


def test_pinned_values():
    """Seen alike with NumPy 1.23.5 and 2.4.6."""

    def chance() -> np.random.Generator:
        return generator(0, "batch order", 4)

    assert chance().random(2).tolist() == [0.9401153939423265, 0.023087591009877895]
    assert chance().integers(0, 1000, 5).tolist() == [448, 940, 330, 23, 988]
    assert chance().permutation(100_000)[:4].tolist() == [93249, 36064, 47612, 78708]
    np.testing.assert_allclose(
        chance().standard_normal(2), [-0.5055284716817476, -0.47450271857116105], rtol=1e-15
    )


def test_each_argument_matters():
    arguments = [
        (0, "a"),
        (1, "a"),
        (0, "b"),
        (0, "a", 0),
        (0, "a", 1),
        (0, "a", 0, 0),
        (0, "a", 1, 0),
        (0, "a", 0, 1),
        (0, "a", 1 << 32),
        (1 << 32, "a"),
    ]
    first = {generator(*each).integers(1 << 62) for each in arguments}
    assert len(first) == len(arguments)


def test_the_same_in_another_process():
    script = "from lockstep.data import generator; print(generator(3, 'x', 5).integers(1 << 62))"
    command = [sys.executable, "-c", script]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert int(output.stdout) == generator(3, "x", 5).integers(1 << 62)


@pytest.mark.parametrize("seed", [-1, 1 << 63, 1.5, "0", True, None])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InputError, match="seed"):
        generator(seed, "a")
