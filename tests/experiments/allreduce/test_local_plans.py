"""The reference executor: blocks, threads, other arrays than NumPy's, and what it refuses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lockstep.errors import InputError
from lockstep.experiments.allreduce import local_plans as local
from lockstep.experiments.allreduce.algorithms import ALGORITHMS, ring, star
from lockstep.experiments.allreduce.local_plans import add_in_order, execute


@pytest.mark.parametrize("name", ALGORITHMS)
def test_blocks_and_threads_change_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(5, 1003)).astype(np.float32)
    plan = ALGORITHMS[name](5, 1003)
    whole = [row.copy() for row in values]
    execute(plan, whole)
    monkeypatch.setattr(local, "BLOCK", 7)
    with ThreadPoolExecutor(5) as pool:
        pieces = [row.copy() for row in values]
        assert execute(plan, pieces, pool.map) == execute(plan, [row.copy() for row in values])
    assert [x.tobytes() for x in pieces] == [x.tobytes() for x in whole]


@pytest.mark.parametrize("num_below", range(5))
def test_own_part_is_added_in_its_place(num_below: int) -> None:
    """Values whose sum depends on the order."""
    ordered = np.array([[1e8], [1.0], [-1e8], [3.0], [1e-4]], dtype=np.float32)
    expected = ordered[0].copy()
    for value in ordered[1:]:
        expected += value
    own = ordered[num_below].copy()
    parts = [row.copy() for i, row in enumerate(ordered) if i != num_below]
    add_in_order(own, parts, num_below)
    assert own.tobytes() == expected.tobytes()
    np.testing.assert_array_equal(parts, np.delete(ordered, num_below, axis=0))  # left as they were


def test_tensors_are_buffers_too() -> None:
    torch = pytest.importorskip("torch")
    buffers = [torch.full((10,), 10.0**d, dtype=torch.float64) for d in range(3)]
    assert execute(ring(3, 10), buffers).sent == (8 * 14, 8 * 13, 8 * 13)
    assert all((buffer == 111).all() for buffer in buffers)


def test_what_is_refused() -> None:
    x = np.zeros(8)
    with pytest.raises(InputError, match=r"buffers = \(0, 1\): share their memory"):
        execute(star(2, 8), [x, x])
    with pytest.raises(InputError, match=r"buffers = \(1, 2\): share their memory"):
        execute(star(3, 4), [np.zeros(4), x[:4], x[2:6]])
    with pytest.raises(InputError, match="do not go with a plan for 2 devices"):
        execute(star(2, 8), [x])
    with pytest.raises(InputError, match=r"not all of shape \(8,\)"):
        execute(star(2, 8), [np.zeros(8), np.zeros(7)])
    with pytest.raises(InputError, match="of one type"):
        execute(star(2, 8), [np.zeros(8), np.zeros(8, dtype=np.float32)])
