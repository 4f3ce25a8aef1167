"""Sums in shared memory: those of the ranks in their order, again and again, and no file left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lockstep.errors import InputError
from lockstep.processes import shared_memory
from lockstep.processes.children import Command, WorkerError, Workers
from lockstep.processes.collective import NullCollective

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.skipif(not shared_memory.is_possible(), reason="needs /dev/shm and x86-64"),
]

MakeCommands = Callable[..., list[Command]]
LENGTHS = [5, 1, 1000]
TURNS = 40
SECONDS = 120.0  # a busy machine imports PyTorch slowly

HEAD = """
from pathlib import Path
import numpy as np
from lockstep.frameworks.torch.devices import EngineCollective
from lockstep.experiments.allreduce import process_plans as processes
from lockstep.processes.shared_memory import SharedSums


def values(rank, turn, length, dtype):
    return np.random.default_rng([rank, turn]).normal(size=length).astype(dtype)


def made(job, patience=60.0):
    processes.join(job["rank"], job["world_size"], Path(job["folder"]) / "store", 60)
    return SharedSums(EngineCollective(), job["lengths"], job["dtype"], patience)
"""

WORK = (
    HEAD
    + """
def work(job, send):
    send({})
    sums, rng = made(job), np.random.default_rng(job["rank"])
    send({"left": sorted(map(str, Path("/dev/shm").glob("lockstep-*")))})
    digest = []
    for turn in range(job["turns"]):
        time.sleep(rng.uniform(0, 0.004))  # some wait long enough to nap
        for index, length in enumerate(job["lengths"]):
            sums.post(index, values(job["rank"], turn, length, job["dtype"]))
        digest.append([sums.total(i).tolist() for i in range(len(job["lengths"]))])
    send({"digest": digest})
"""
)


def told(commands: list[Command], folder: Path) -> list[tuple[int, dict[str, Any]]]:
    with Workers(commands, folder) as workers:
        return list(workers.messages(SECONDS, SECONDS))


@pytest.mark.parametrize(("world_size", "dtype"), [(2, "float32"), (3, "float64")])
def test_every_rank_has_the_sums_in_order(
    make_commands: MakeCommands, tmp_path: Path, world_size: int, dtype: str
) -> None:
    values = {"lengths": LENGTHS, "dtype": dtype, "turns": TURNS}
    found = told(make_commands(WORK, world_size, **values), tmp_path)
    assert [m["left"] for _, m in found if "left" in m] == [[]] * world_size
    digests = [m["digest"] for _, m in found if "digest" in m]
    assert len(digests) == world_size
    for turn in range(TURNS):
        for index, length in enumerate(LENGTHS):
            parts = [
                np.random.default_rng([rank, turn]).normal(size=length).astype(dtype)
                for rank in range(world_size)
            ]
            expected = parts[0] + parts[1]
            for part in parts[2:]:
                expected = expected + part
            for digest in digests:
                assert digest[turn][index] == expected.tolist()


def test_a_rank_that_is_gone_is_noticed(make_commands: MakeCommands, tmp_path: Path) -> None:
    code = (
        HEAD
        + """
def work(job, send):
    send({})
    sums = made(job)
    if job["rank"] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    sums.post(0, np.zeros(2))
    try:
        sums.total(0)
    except ConnectionError as error:
        print(error, file=sys.stderr)
        raise
"""
    )
    commands = make_commands(code, 2, lengths=[2], dtype="float64")
    with pytest.raises(WorkerError, match="rank 1 was ended by SIGKILL"):
        told(commands, tmp_path)
    assert "ConnectionError: rank 1 is gone" in (tmp_path / "worker-0.log").read_text()


def test_patience_ends(make_commands: MakeCommands, tmp_path: Path) -> None:
    code = (
        HEAD
        + """
def work(job, send):
    send({})
    sums = made(job, patience=0.5)
    if job["rank"] == 1:
        time.sleep(600)
    sums.post(0, np.zeros(2))
    sums.total(0)
"""
    )
    with pytest.raises(WorkerError, match=r"TimeoutError: timed out after .* ranks \[1\]"):
        told(make_commands(code, 2, lengths=[2], dtype="float64"), tmp_path)


def test_more_than_there_is_leaves_no_file() -> None:
    before = sorted(Path("/dev/shm").iterdir())
    with pytest.raises(InputError, match=r"shared memory = '\d+ bytes': is not there"):
        shared_memory.share(NullCollective(), 1 << 60)
    assert sorted(Path("/dev/shm").iterdir()) == before
