"""Plans between processes do what the reference does, bit for bit; a rank that is lost is named."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.processes.conftest import assert_killed_rank_is_named

from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.allreduce.local_plans import execute
from lockstep.processes.children import Command, Workers

pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("nothing_left")

MakeCommands = Callable[..., list[Command]]
K = 3
LENGTHS = (0, 2, 1003)
SECONDS = 120.0  # a busy machine imports PyTorch slowly

WORK = """
import hashlib
from pathlib import Path
import numpy as np
from lockstep.frameworks.torch.devices import EngineCollective
from lockstep.experiments.allreduce import process_plans as processes
from lockstep.experiments.allreduce.algorithms import ALGORITHMS

processes.PIECE, processes.WINDOW = 400, 2  # many pieces, even of small buffers


def values(rank, length, dtype):
    return np.random.default_rng(rank).normal(size=length).astype(dtype)


def work(job, send):
    rank = job["rank"]
    send({})
    processes.join(rank, job["world_size"], Path(job["folder"]) / "store", 60)
    for name, algorithm in ALGORITHMS.items():
        collective = processes.PlanCollective(algorithm)
        for dtype in ("float32", "float64"):
            for length in job["lengths"]:
                before = collective.sent, collective.received
                (found,) = collective.all_reduce([values(rank, length, dtype)])
                moved = collective.sent - before[0], collective.received - before[1]
                digest = hashlib.sha256(found.tobytes()).hexdigest()
                send({"case": [name, dtype, length], "digest": digest, "moved": moved})
    engine = EngineCollective()
    grid = np.full((2, 3), rank + 1.0)
    (summed,) = engine.all_reduce([grid])
    send({"engine": summed.tolist(), "in place": summed is grid, "rank": engine.rank})
    (given,) = collective.broadcast([np.full(3, float(rank))], source=1)
    send({"given": given.tolist()})
    try:
        collective.all_reduce([np.zeros((4, 4)).T[:2]])
    except InputError as error:
        send({"refused": str(error)})
    for name in ("gather_broadcast", "ring"):
        held = processes.PlanCollective(ALGORITHMS[name], bandwidth=1e6)
        held.barrier()
        begin = time.monotonic()
        held.all_reduce([np.ones(30_000, np.float32)])
        send({"held": name, "seconds": time.monotonic() - begin})
    collective.barrier()
"""


@pytest.fixture
def told(make_commands: MakeCommands, tmp_path: Path) -> list[tuple[int, dict[str, Any]]]:
    with Workers(make_commands(WORK, K, lengths=LENGTHS), tmp_path) as workers:
        return list(workers.messages(SECONDS, SECONDS))


def test_processes_do_as_the_reference(told: list[tuple[int, dict[str, Any]]]) -> None:
    cases = {(rank, *m["case"]): m for rank, m in told if "case" in m}
    assert len(cases) == K * len(ALGORITHMS) * 2 * len(LENGTHS)
    for name, algorithm in ALGORITHMS.items():
        for dtype in ("float32", "float64"):
            for n in LENGTHS:
                buffers = [
                    np.random.default_rng(rank).normal(size=n).astype(dtype) for rank in range(K)
                ]
                traffic = execute(algorithm(K, n), buffers)
                for rank, buffer in enumerate(buffers):
                    found = cases[rank, name, dtype, n]
                    assert found["digest"] == hashlib.sha256(buffer.tobytes()).hexdigest()
                    assert found["moved"] == [traffic.sent[rank], traffic.received[rank]]
    others = {key: [m[key] for _, m in told if key in m] for key in ("engine", "given", "refused")}
    assert others["engine"] == [[[6.0] * 3] * 2] * K
    assert all(m["in place"] for _, m in told if "engine" in m)
    assert others["given"] == [[1.0] * 3] * K
    assert all("buffer = (2, 4): is not a contiguous array" in text for text in others["refused"])
    assert len(others["refused"]) == K
    # 120 KB at 1 MB/s: device 0 moves four of them one after another, a ring four thirds of one;
    # a busy machine may take longer, never less
    for name, least in (("gather_broadcast", 0.48), ("ring", 0.16)):
        assert max(m["seconds"] for _, m in told if m.get("held") == name) >= least


ENDLESS = """
from pathlib import Path
import numpy as np
from lockstep.experiments.allreduce import process_plans as processes
from lockstep.experiments.allreduce.algorithms import ring


def work(job, send):
    send({})
    processes.join(job["rank"], job["world_size"], Path(job["folder"]) / "store", 60)
    collective = processes.PlanCollective(ring, bandwidth=1e6)
    while True:
        collective.all_reduce([np.ones(10_000, np.float32)])
        send({"alive": True})
"""


def test_a_rank_killed_in_mid_step_is_named(make_commands: MakeCommands, tmp_path: Path) -> None:
    assert_killed_rank_is_named(make_commands(ENDLESS, 2), tmp_path, SECONDS)
