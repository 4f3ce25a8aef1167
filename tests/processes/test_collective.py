"""The null collective is a collective, and does nothing."""

from __future__ import annotations

import numpy as np

from lockstep.processes.collective import Collective, NullCollective


def test_one_device_gets_back_what_it_gave() -> None:
    collective: Collective = NullCollective()
    buffers = [np.arange(3.0), np.ones((2, 2))]
    assert collective.all_reduce(buffers) is buffers
    assert collective.broadcast(buffers, source=0) is buffers
    np.testing.assert_array_equal(buffers[0], [0.0, 1.0, 2.0])
    assert (collective.rank, collective.world_size) == (0, 1)
    collective.barrier()
