"""steps.bin: its records, what a crash or damage leaves of them, and run folders of version 0.1."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.training.directory import RunDirectory
from lockstep.training.events import RunStarted, StepsCompleted, from_values, to_message
from lockstep.training.history import COLUMNS, History
from lockstep.training.steps import BLOCK, HEADER_SIZE, RECORD, StepFile, StepWriter, checks

from .running import assert_same_run, at_step, small

OLD_RUN = Path(__file__).parent / "old_run"  # written by version 0.1: steps as lines of JSON


def written(path: Path, count: int, first: int = 0, call: int = 7) -> np.ndarray:
    """A file of made-up steps; their losses."""
    chance = np.random.default_rng(3)
    losses = chance.random(count)
    writer = StepWriter(path, first)
    for at in range(0, count, call):
        part = losses[at : at + call]
        ones = np.ones(len(part))
        batches = np.arange(at, at + len(part))
        writer(StepsCompleted(first + at, 0, part, 2 * ones, 0.5 * ones, 0.25, batches))
    writer.sync()
    writer.close()
    return losses


def test_the_documented_way_to_read_it(tmp_path: Path) -> None:
    losses = written(tmp_path / "steps.bin", 20)
    dtype = [("loss", "<f8"), ("grad_norm", "<f8"), ("lr", "<f8"), ("batch", "<i8")]
    dtype += [("seconds", "<f4"), ("check", "<u4")]
    records = np.fromfile(tmp_path / "steps.bin", dtype)[1:]
    assert records["loss"].tolist() == losses.tolist()
    assert records["batch"].tolist() == list(range(20))
    # calls of 7, 7 and 6 steps took 0.25 s each; float32 keeps 24 bits
    assert records["seconds"] == pytest.approx([0.25 / 7] * 14 + [0.25 / 6] * 6, rel=2**-23)
    assert (tmp_path / "steps.bin").read_bytes()[:HEADER_SIZE].startswith(b"lockstep steps 1 first")


def test_the_check_notices_every_flipped_bit_and_a_record_out_of_place() -> None:
    record = np.zeros(1, RECORD)
    record["loss"], record["lr"], record["batch"], record["seconds"] = 0.7, 0.1, 123456, 1e-6
    record["check"] = checks(record, 41)
    content = np.frombuffer(record.tobytes(), np.uint8)
    for bit in range(8 * RECORD.itemsize):
        other = content.copy()
        other[bit // 8] ^= 1 << (bit % 8)
        found = other.view(RECORD)
        assert found["check"][0] != checks(found, 41)[0], bit
    assert record["check"][0] != checks(record, 42)[0]
    assert checks(np.zeros(1000, RECORD), 0).all()  # what a file system may leave after a crash


@pytest.mark.parametrize("count", [5, BLOCK + 17])  # read at once, and piece by piece
def test_a_torn_end_is_left_out_and_damage_is_not_a_number(count: int, tmp_path: Path) -> None:
    path = tmp_path / "steps.bin"
    losses = written(path, count, call=1000)
    with path.open("ab") as file:
        file.write(bytes(3 * RECORD.itemsize + 11))  # zeros, and a torn record
    with path.open("r+b") as file:
        file.seek(HEADER_SIZE + 2 * RECORD.itemsize + 3)
        file.write(b"\xff")
    found = StepFile(path)
    assert found.count == count
    assert found.damaged() == 1
    expected = losses.copy()
    expected[2] = np.nan
    assert np.array_equal(found.column("loss"), expected, equal_nan=True)


def test_who_reads_it_is_not_disturbed_by_a_run_that_goes_back(tmp_path: Path) -> None:
    path = tmp_path / "steps.bin"
    losses = written(path, BLOCK + 17, call=1000)
    before = StepFile(path)
    StepWriter(path, 5).close()
    assert StepFile(path).count == 5
    assert before.column("loss").tolist() == losses.tolist()


def test_the_seconds_of_every_step(tmp_path: Path) -> None:
    result = ls.train(small("airfoil"), out=tmp_path / "run")
    seconds = result.history[:, "seconds"]
    assert len(seconds) == 21
    assert (seconds > 0).all()
    # the calls' own times, each rounded to float32 once
    assert seconds.sum() == pytest.approx(result.history.epochs[-1].seconds, rel=1e-6)
    assert result.history.seconds == pytest.approx(seconds.sum(), rel=1e-12)


def test_with_a_folder_and_without_the_history_is_the_same(tmp_path: Path) -> None:
    spec = small("airfoil")
    inside, outside = ls.train(spec, out=tmp_path / "run"), ls.train(spec)
    assert_same_run(inside, outside)
    for row in (0, 5, -1):
        for name in COLUMNS:
            assert inside.history[row, name] == outside.history[row, name]


def test_an_event_for_another_process_keeps_every_bit() -> None:
    event = StepsCompleted(3, 1, [0.1, np.inf], [np.nan, -0.0], [1e-320, 2.0], 0.5, [1, 2**53 - 1])
    back = from_values(to_message(event))
    assert back == event
    assert isinstance(back, StepsCompleted)
    assert back.grad_norm.tobytes() == event.grad_norm.tobytes()


def test_memory_does_not_grow_with_the_steps(tmp_path: Path) -> None:
    """20 MB of records, of which the last loss, the times and the speed are asked for."""
    path = tmp_path / "steps.bin"
    written(path, 500_000, call=5_000)
    tracemalloc.start()
    history = History([RunStarted(0, 500_000, 5_000, {})], StepFile(path))
    assert len(history) == 500_000
    assert len(history.metrics) == 1
    assert history.seconds == pytest.approx(100 * 0.25, rel=1e-6)  # each call: rounded to float32
    assert len(history.step_rates()) <= 100
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * BLOCK * RECORD.itemsize  # some blocks, however many there are


# --- version 0.1 ----------------------------------------------------------------------------------


@pytest.fixture
def old_run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD_RUN, tmp_path / "old"))


def test_a_run_of_version_0_1_is_read(old_run: Path) -> None:
    directory = RunDirectory(old_run)
    assert directory.status == "completed"
    assert directory.saved_step == 9
    history = directory.history()
    again = ls.train(directory.spec).history  # numpy's bits may differ with its version
    assert history.damage == []
    for name in COLUMNS:
        assert history[:, name] == pytest.approx(again[:, name], rel=1e-5), name
    assert history[:, "seconds"].sum() == pytest.approx(history.epochs[-1].seconds, rel=1e-6)


def test_a_run_of_version_0_1_goes_on(old_run: Path) -> None:
    directory = RunDirectory(old_run)
    before = directory.history()
    spec = directory.spec.with_fields({"epochs": 5})
    result = ls.resume(old_run, spec=spec)
    assert result.status == directory.status == "completed"
    assert StepFile(directory.steps).first == 9
    for name in COLUMNS:
        assert result.history[:9, name].tolist() == before[:, name].tolist()
    whole = ls.train(spec)
    assert result.history[:, "loss"] == pytest.approx(whole.history[:, "loss"], rel=1e-5)
    assert result.history[:, "epoch"].tolist() == whole.history[:, "epoch"].tolist()
    assert [e.epoch for e in result.history.epochs] == [0, 1, 2, 3, 4]


def test_a_torn_file_of_steps_goes_on_in_its_place(tmp_path: Path) -> None:
    spec = small("airfoil", "numpy", "momentum")
    ls.train(spec, out=tmp_path / "run", callbacks=[at_step(5)], event_steps=1)
    with (tmp_path / "run" / "steps.bin").open("ab") as file:
        file.write(os.urandom(100))
    assert_same_run(ls.train(spec), ls.resume(tmp_path / "run"))
