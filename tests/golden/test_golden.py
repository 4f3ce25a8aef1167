"""Every framework computes the golden losses.

After a change that changes them on purpose: `PYTHONPATH=src python -m tests.golden`.
"""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.frameworks import registry

from .runs import FOLDER, RUNS, losses, read

# other processors and libraries sum in another order: an error of 1e-16 a step, which can grow
RTOL = 1e-9


def test_every_golden_file_has_its_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(RUNS)


@pytest.mark.parametrize("framework", registry.installed())
@pytest.mark.parametrize("name", RUNS)
def test_losses_equal_the_golden_ones(name: str, framework: str) -> None:
    steps, golden = read(name)
    assert steps == list(range(len(golden)))
    assert golden[-5:].mean() < 0.99 * golden[:5].mean()
    np.testing.assert_allclose(losses(name, framework), golden, rtol=RTOL)
