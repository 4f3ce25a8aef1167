"""`lockstep experiment`: what is listed, shown, refused, and what becomes of a killed device."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lockstep import experiments
from lockstep.data import find
from lockstep.report import progress as module

Command = Callable[..., Any]

SMALL = ("--batch-size", "8", "--micro-batches", "2", "--steps", "2")


def test_list(lockstep: Command) -> None:
    done = lockstep("experiment", "list")
    assert done.code == 0
    assert all(name in done.out for name in experiments.questions())
    found = lockstep("experiment", "list", "--json").json
    assert {row["name"]: row["question"] for row in found} == experiments.questions()


def test_tables_and_a_figure(lockstep: Command, folder: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    given = ("--data", "generated", "--precision", "float64", "--figure", "ways.svg")
    done = lockstep("experiment", "ways-to-split", *SMALL, *given)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "LeNet (max) over 2 devices, batches of 8 of generated images, float64"
    for way in ("by data", "within layers", "by layers"):
        first = next(line for line in lines if line.startswith(way))
        assert float(first.split()[-1]) < 1e-12
        assert way in (folder / "ways.svg").read_text()
    pipeline = [line for line in lines if line.startswith("by layers")]
    assert "151 KB" in pipeline[0]  # 8 images, 1,176 numbers of 8 bytes each way
    assert "conv1" in pipeline[1]
    assert "33% of the time by (k-1)/(m+k-1)" in done.out
    assert "ways to split: 100%" in done.err
    assert "ways.svg" in done.err


@pytest.mark.skipif(find("fashion-mnist") is None, reason="needs Fashion-MNIST: LOCKSTEP_DATA")
def test_json_on_real_images(lockstep: Command) -> None:
    pytest.importorskip("torch")
    one = ("--devices", "1", "--ways", "data,layers", "--pooling", "avg")
    found = lockstep("experiment", "ways-to-split", *SMALL, *one, "--json").json
    assert found["data"]["name"] == "fashion-mnist"
    assert [way["way"] for way in found["ways"]] == ["one device", "by data", "by layers"]
    for way in found["ways"]:
        assert way["low"] <= way["median"] <= way["high"]
        assert len(way["seconds"]) == len(way["losses"]) == found["question"]["steps"] == 2
        assert [device["sent"] for device in way["devices"]] == [0]
        assert way["deviation"] < 1e-5
    assert found["pipeline"]["bubble"] == 0
    assert len(found["pipeline"]["timeline"]) == 2 * found["question"]["micro_batches"]


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("--devices 9", "devices = 9: conv1 has no more than 6 parts"),
        ("--ways data,layer", "ways = 'layer': is not known. Did you mean 'layers'?"),
        ("--ways ,", "ways = ',': has no entry"),
        ("--figure ways.gif", "figure = 'ways.gif': is neither PNG nor SVG"),
        ("--batch-size 70000", "batch_size = 70000: there are 10,000 images"),
        ("--micro-batches 0", "micro_batches = 0: must be at least 1"),
    ],
)
def test_mistakes(argv: str, expected: str, mistake: Callable[..., str]) -> None:
    told = mistake("experiment", "ways-to-split", "--data", "generated", *argv.split())
    assert told.startswith(f"lockstep: {expected}")


def test_torch_is_missing(hide: Callable[..., None], mistake: Callable[..., str]) -> None:
    hide("torch")
    told = mistake("experiment", "ways-to-split", "--data", "generated")
    assert "framework = 'torch': is not installed here" in told


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_killed_device_is_named_and_nothing_is_left(
    lockstep: Command,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    nothing_left: Callable[[], list[str]],
) -> None:
    """Rank 1 is killed once the steps have begun."""
    pytest.importorskip("torch")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))  # so that its processes are known

    @contextmanager
    def kill_at_once(name: str, file: object) -> Iterator[Callable[[float, str], None]]:
        victims = []

        def report(share: float, text: str) -> None:
            if not victims:
                victims.append(pid_of_rank(1, folder))
                os.kill(victims[0], signal.SIGKILL)

        yield report

    monkeypatch.setattr(module, "work_progress", kill_at_once)
    many = ("--data", "generated", "--batch-size", "64", "--steps", "5000")
    done = lockstep("experiment", "ways-to-split", *many)
    assert done.code != 0
    assert done.out == ""
    assert done.err.startswith("lockstep: rank 1 of 2 was ended by SIGKILL.")
    assert nothing_left() == []
    assert [path.name for path in folder.iterdir()] == ["experiments"]  # what was asked, no answer
    assert not (folder / "experiments" / "ways-to-split" / "answer.json").exists()


def pid_of_rank(rank: int, folder: Path) -> int:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode().split("\0")
        except OSError:
            continue  # it has ended meanwhile
        if len(words) > 4 and words[-2].startswith("{") and str(folder) in words[-2]:
            job = json.loads(words[-2])
            if job["rank"] == rank:
                return int(file.parent.name)
    raise AssertionError(f"rank {rank} does not run")
