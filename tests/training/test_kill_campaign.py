"""Runs ended by SIGKILL at random moments: in one process, in two and under torchrun. For every
moment and process, the resumed run ends with the bits of one that was never disturbed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.frameworks import registry
from lockstep.spec import RunSpec
from lockstep.training import Result
from lockstep.training.directory import RunDirectory

from .running import LIMIT, assert_same_run, changed, ended, lockstep, small, started
from .test_several_processes import airfoil, rank_pid

Living = Callable[[], list[str]]
PROCESSES = Path("/proc").exists() and "torch" in registry.installed()
SINGLE = replace(small("gru-after", "numpy", "adam"), epochs=60, checkpoint_steps=7)
TORCH = replace(small("airfoil", "torch-plain", "adam"), epochs=200, checkpoint_steps=5)


def killed_once(
    spec: RunSpec,
    whole: Result,
    folder: Path,
    words: list[str],
    chance: random.Random,
    alive: Living,
) -> str:
    """Kill a process of a run at a random moment and resume the run to its end; who was killed."""
    file = folder.with_suffix(".toml")
    file.write_text(spec.to_toml())
    log = folder / "steps.bin"
    process = started("train", file, "--out", folder, *words, "--quiet", cwd=folder.parent)
    who, began = "the command", chance.random() < 0.8
    with ended(process):
        deadline = time.monotonic() + LIMIT
        while (
            began and not changed(log) and process.poll() is None
        ):  # most are killed while they train
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.5 if began else 2.0))
        pid = process.pid
        rank = chance.choice([None, 0, 1]) if spec.devices > 1 else None
        if rank is not None and (found := rank_pid(folder, rank)):
            who, pid = f"rank {rank}", found
        if process.poll() is not None:
            who = "nobody: it had ended"
        else:
            os.kill(pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=LIMIT)
    assert who != "the command" or process.returncode == -signal.SIGKILL, errors
    deadline = time.monotonic() + LIMIT
    while alive():  # workers end after their parent was killed
        assert time.monotonic() < deadline, alive()
        time.sleep(0.05)
    if (folder / "spec.toml").exists():
        status = RunDirectory(folder).status
        assert status in ("unfinished", "completed"), status
        assert lockstep("show", folder, cwd=folder.parent).returncode == 0
        done = lockstep("resume", folder, "--json", cwd=folder.parent)
    else:
        done = lockstep("train", file, "--out", folder, "--json", cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    directory = RunDirectory(folder)
    history = directory.history()
    assert directory.status == "completed"
    assert history.damage == []
    found_state = ls.training.checkpoints.newest_whole(directory.checkpoint_folder, strict=True)
    assert found_state.snapshot is not None
    result = replace(whole, history=history, snapshot=found_state.snapshot)
    assert_same_run(whole, result)
    shutil.rmtree(folder)
    return who


def campaign(
    spec: RunSpec, count: int, words: list[str], tmp_path: Path, seed: str, alive: Living
) -> dict[str, int]:
    """Kill `count` runs; how often each process was the one killed."""
    chance, whole = random.Random(seed), ls.train(spec)
    found: dict[str, int] = {}
    number = 0
    while sum(found.values()) < count:
        number += 1
        assert number <= 2 * count + 2, "most runs end before they are killed"
        who = killed_once(spec, whole, tmp_path / f"run{number}", words, chance, alive)
        if not who.startswith("nobody"):
            found[who] = found.get(who, 0) + 1
    return found


def test_two_killed_runs(tmp_path: Path, nothing_left: Living) -> None:
    assert sum(campaign(SINGLE, 2, [], tmp_path, "two", nothing_left).values()) == 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("name", "spec", "count", "words"),
    [
        ("one process, numpy", SINGLE, 40, []),
        pytest.param("one process, torch", TORCH, 20, [],
                     marks=pytest.mark.skipif(not PROCESSES, reason="needs torch")),
        pytest.param("two processes", airfoil(epochs=8), 20, [],
                     marks=pytest.mark.skipif(not PROCESSES, reason="needs torch and /proc")),
        pytest.param("torchrun", airfoil(epochs=8), 20, ["--launch", "torchrun"],
                     marks=pytest.mark.skipif(not PROCESSES, reason="needs torch and /proc")),
    ],
)  # fmt: skip
def test_100_killed_runs(
    name: str,
    spec: RunSpec,
    count: int,
    words: list[str],
    tmp_path: Path,
    nothing_left: Living,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = campaign(spec, count, words, tmp_path, name, nothing_left)
    with capsys.disabled():
        print(f"\n{name}: {count} runs killed, all bit-equal after resume: {found}")
