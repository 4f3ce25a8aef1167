"""Plans in shared memory do what the reference does, bit for bit, and count what is read; a rank
that is lost is named."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.processes.conftest import assert_killed_rank_is_named

from lockstep.cli import main
from lockstep.errors import InputError
from lockstep.experiments.allreduce.algorithms import ALGORITHMS, ring
from lockstep.experiments.allreduce.local_plans import execute
from lockstep.experiments.allreduce.measuring import run
from lockstep.experiments.allreduce.question import Question
from lockstep.experiments.allreduce.shared_plans import SharedBuffers, SharedPlanCollective
from lockstep.processes import shared_memory
from lockstep.processes.children import Command, Workers
from lockstep.processes.collective import NullCollective

possible = pytest.mark.skipif(not shared_memory.is_possible(), reason="needs /dev/shm and x86-64")

MakeCommands = Callable[..., list[Command]]
LENGTHS = (0, 2, 1003)
TURNS, LONG = 6, 300_000  # reading so many takes long enough to be disturbed
SECONDS = 120.0  # a busy machine imports PyTorch slowly

HEAD = """
import hashlib
from pathlib import Path
import numpy as np
from lockstep.frameworks.torch.devices import EngineCollective
from lockstep.experiments.allreduce import process_plans as processes
from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.allreduce.shared_plans import SharedBuffers, SharedPlanCollective


def made(job):
    processes.join(job["rank"], job["world_size"], Path(job["folder"]) / "store", 60)
    return SharedBuffers(EngineCollective(), 60.0)
"""

WORK = (
    HEAD
    + """
def work(job, send):
    rank = job["rank"]
    send({})
    buffers = made(job)

    def summed(collective, buffer, seed):
        before = collective.sent, collective.received, collective.num_rounds
        buffer[:] = np.random.default_rng([rank, seed]).normal(size=len(buffer))
        collective.all_reduce([buffer])
        digest = hashlib.sha256(buffer.tobytes()).hexdigest()
        after = collective.sent, collective.received, collective.num_rounds
        return {"digest": digest, "moved": [b - a for a, b in zip(before, after)]}

    for dtype, length in [(d, n) for d in ("float32", "float64") for n in job["lengths"]]:
        buffer = buffers.make(length, dtype)
        for name, algorithm in ALGORITHMS.items():
            collective = SharedPlanCollective(algorithm, buffers)
            send({"case": [name, dtype, length, 0], **summed(collective, buffer, 0)})
    buffer = buffers.make(job["long"])
    for name, algorithm in ALGORITHMS.items():
        collective = SharedPlanCollective(algorithm, buffers)
        for turn in range(job["turns"]):
            send({"case": [name, "float32", job["long"], turn], **summed(collective, buffer, turn)})
    buffer[:] = rank
    collective.broadcast([buffer], source=1)
    send({"given": [float(buffer.min()), float(buffer.max())]})
"""
)


@possible
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("world_size", [2, 3])
def test_shared_memory_does_as_the_reference(
    make_commands: MakeCommands, tmp_path: Path, world_size: int
) -> None:
    pytest.importorskip("torch")
    values = {"lengths": LENGTHS, "turns": TURNS, "long": LONG}
    with Workers(make_commands(WORK, world_size, **values), tmp_path) as workers:
        told = list(workers.messages(SECONDS, SECONDS))
    cases = {(rank, *m["case"]): m for rank, m in told if "case" in m}
    assert len(cases) == world_size * len(ALGORITHMS) * (2 * len(LENGTHS) + TURNS)
    asked = [(dtype, n, 0) for dtype in ("float32", "float64") for n in LENGTHS]
    asked += [("float32", LONG, turn) for turn in range(TURNS)]
    for name in ALGORITHMS:
        for dtype, length, seed in asked:
            expected = reference(name, world_size, dtype, length, seed)
            for rank in range(world_size):
                found = cases[rank, name, dtype, length, seed]
                assert (found["digest"], found["moved"]) == expected[rank], (name, length, seed)
    assert [m["given"] for _, m in told if "given" in m] == [[1.0, 1.0]] * world_size


def reference(
    name: str, world_size: int, dtype: str, length: int, seed: int
) -> list[tuple[str, list[int]]]:
    """For each rank the digest of the sum, and bytes sent, bytes received and rounds."""
    buffers = [
        np.random.default_rng([rank, seed]).normal(size=length).astype(dtype)
        for rank in range(world_size)
    ]
    traffic = execute(ALGORITHMS[name](world_size, length), buffers)
    return [
        (
            hashlib.sha256(buffer.tobytes()).hexdigest(),
            [traffic.sent[rank], traffic.received[rank], traffic.num_rounds],
        )
        for rank, buffer in enumerate(buffers)
    ]


ENDLESS = (
    HEAD
    + """
def work(job, send):
    send({})
    buffers = made(job)
    buffer = buffers.make(10_000)
    collective = SharedPlanCollective(ALGORITHMS["ring"], buffers)
    while True:
        collective.all_reduce([buffer])
        send({"alive": True})
        time.sleep(0.002)
"""
)


@possible
@pytest.mark.usefixtures("nothing_left")
def test_a_rank_killed_in_mid_step_is_named(make_commands: MakeCommands, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert_killed_rank_is_named(make_commands(ENDLESS, 2), tmp_path, SECONDS)
    assert "ConnectionError: rank 1 is gone" in (tmp_path / "worker-0.log").read_text()


@possible
def test_a_buffer_of_its_own_is_refused() -> None:
    buffers = SharedBuffers(NullCollective(), 1.0)
    made = buffers.make(8)
    collective = SharedPlanCollective(ring, buffers)
    assert collective.all_reduce([made])[0] is made
    for wrong in (np.zeros(8, np.float32), made[:4], made[1:]):
        with pytest.raises(InputError, match="does not lie in the memory that the ranks share"):
            collective.all_reduce([wrong])


@possible
def test_the_benchmark_counts_what_the_plans_move() -> None:
    pytest.importorskip("torch")
    bench = Question((40_000,), (2,), ("gather_broadcast", "ring", "gloo"), "shared", repeats=2)
    results = run(bench)
    assert [(row.sent, row.rounds) for row in results.rows] == [(40_000, 2)] * 2 + [(None, None)]
    assert all(min(row.seconds) > 0 for row in results.rows)
    assert [row.predicted is None for row in results.rows] == [False, False, True]
    assert results.links[2].latency > 0


def test_a_machine_without_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # the experiment's folder is below the current one
    monkeypatch.setattr(shared_memory, "FOLDER", Path("/nowhere"))
    asked = ["bench", "allreduce", "--transport", "shared", "--algorithms", "ring"]
    assert main(asked) == 2
    assert capsys.readouterr().err == (
        "lockstep: transport = 'shared': needs /nowhere and an x86-64 processor. "
        "Use the transport processes or local.\n"
    )
