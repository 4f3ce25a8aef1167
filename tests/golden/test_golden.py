"""The losses that were kept come out again, in every framework.

After a change that is meant to move them: `PYTHONPATH=src python -m tests.golden`.
"""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.frameworks import registry

from .runs import FOLDER, RUNS, losses, read

# other processors and libraries sum in another order: 1e-16 a step, and room for it to grow
RTOL = 1e-9


def test_every_kept_file_has_its_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(RUNS)


@pytest.mark.parametrize("framework", registry.installed())
@pytest.mark.parametrize("name", RUNS)
def test_losses_are_those_that_were_kept(name: str, framework: str) -> None:
    steps, kept = read(name)
    assert steps == list(range(len(kept)))
    assert kept[-5:].mean() < 0.99 * kept[:5].mean()
    np.testing.assert_allclose(losses(name, framework), kept, rtol=RTOL)
