"""A run is completed when its last state is safe on disk: full disks, folders that refuse."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.array_files import from_file
from lockstep.cli import main
from lockstep.errors import LockstepError
from lockstep.files import DiskError
from lockstep.training import Result, Training, checkpoints
from lockstep.training.directory import RunDirectory
from lockstep.training.events import Event, RunCompleted

from .faults import Faults, failing
from .running import assert_same_run, assert_whole_log, lockstep, small

SPEC = small("airfoil", "numpy", "momentum").with_fields({"epochs": 2, "checkpoint_steps": 5})


def how_many(tmp_path: Path) -> int:
    """Operations on the disk of an undisturbed run."""
    with failing(Faults(tmp_path / "whole")) as faults:
        ls.train(SPEC, out=tmp_path / "whole", event_steps=2)
    return faults.count


def check_failure(
    folder: Path, faults: Faults, whole: Result, capsys: pytest.CaptureFixture[str]
) -> str:
    """One failing write: told, shown as it is, nothing untrained handed out, and mended by resume.
    What became of the run."""
    try:
        with failing(faults):
            ls.train(SPEC, out=folder, event_steps=2)
        outcome = "completed all the same"
    except DiskError as error:
        outcome = "told"
        text = str(error)
        assert str(folder) in text, text
        assert "no space left" in text or "cannot be written" in text
    assert faults.failed, "nothing failed"
    if not (folder / "spec.toml").exists():
        assert outcome == "told"
        assert_same_run(whole, ls.train(SPEC, out=folder, event_steps=2))
        return "told before there was a run"
    directory = RunDirectory(folder)
    status, saved = directory.status, directory.saved_step
    assert status == "completed" or outcome == "told"
    assert status != "completed" or saved == 14
    assert main(["show", str(folder)]) == 0
    assert ("completed" in capsys.readouterr().out) == (status == "completed")
    code = main(
        ["convert", str(folder), "--to", "lockstep", "--out", str(folder / "w.safetensors")]
    )
    said = capsys.readouterr()
    if saved:
        assert code == 0
        state = checkpoints.load(checkpoints.path_of(directory.checkpoint_folder, saved))[0]
        for name, value in from_file(folder / "w.safetensors")[0].items():
            assert value.tobytes() == state.weights[name].tobytes()
        assert (f"after {saved} steps" in said.err) == (status != "completed")
    else:
        assert code == 2, "untrained weights were handed out"
        assert "Train it first" in said.err
    assert_same_run(whole, ls.resume(folder, event_steps=2))
    assert directory.status == "completed"
    assert_whole_log(folder, 14)
    return outcome


def campaign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], every: int
) -> tuple[int, dict[str, int]]:
    whole, count = ls.train(SPEC, event_steps=2), how_many(tmp_path)
    found: dict[str, int] = {}
    cases = [(errno.ENOSPC, False), (errno.ENOSPC, True), (errno.EROFS, True), (errno.EIO, False)]
    for code, for_good in cases:
        for number in range(0, count, every):
            folder = tmp_path / "run"
            faults = Faults(folder, number, code, for_good)
            outcome = check_failure(folder, faults, whole, capsys)
            found[outcome] = found.get(outcome, 0) + 1
            shutil.rmtree(folder, ignore_errors=True)
    return count, found


def test_some_writes_failing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count, found = campaign(tmp_path, capsys, every=17)
    assert count > 50
    assert found["told"] > 10


@pytest.mark.slow
def test_every_write_failing_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count, found = campaign(tmp_path, capsys, every=1)
    with capsys.disabled():
        print(f"\nevery write failing: {count} operations on the disk, 4 ways each: {found}")
    assert sum(found.values()) == 4 * count


def test_a_write_that_fails_in_resume(tmp_path: Path) -> None:
    """Where the log and the steps are cut back first."""
    whole = ls.train(SPEC, event_steps=2)
    for number in range(0, 60, 3):
        folder = tmp_path / f"run{number}"
        with pytest.raises(LockstepError), failing(Faults(folder, 40, for_good=True)):
            ls.train(SPEC, out=folder, event_steps=2)
        try:
            with failing(Faults(folder, number, for_good=True)):
                ls.resume(folder, event_steps=2)
        except DiskError as error:
            assert "lockstep resume" in str(error)  # noqa: PT017
        assert_same_run(whole, ls.resume(folder, event_steps=2))
        assert_whole_log(folder, 14)


def test_the_end_is_announced_after_the_state_is_safe(tmp_path: Path) -> None:
    def look(event: Event) -> None:
        if isinstance(event, RunCompleted):
            path = checkpoints.path_of(tmp_path / "run" / "checkpoints", event.step)
            assert checkpoints.load(path)[1]["step"] == event.step == 14

    ls.train(SPEC, out=tmp_path / "run", listeners=[look])


def test_without_its_last_checkpoint_a_run_is_not_completed(tmp_path: Path) -> None:
    ls.train(SPEC, out=tmp_path / "run")
    newest = checkpoints.newest(tmp_path / "run" / "checkpoints")
    assert newest is not None
    newest.unlink()
    directory = RunDirectory(tmp_path / "run")
    assert (directory.status, directory.saved_step) == ("unfinished", 10)
    assert_same_run(ls.train(SPEC), ls.resume(tmp_path / "run"))


# --- the real thing -------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_file_system_of_one_megabyte(small_disk: Path, tmp_path: Path) -> None:
    """A model of 800 kB: its first checkpoint fits, a second one does not."""
    run = small_disk / "run"
    words = ("train", "fashion-mlp", "--framework", "numpy", "--max-steps", 6)
    done = lockstep(*words, "--data", "generated", "--out", run, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "no space left" in done.stderr
    assert f"lockstep resume {run}" in done.stderr
    assert "Traceback" not in done.stderr
    assert "completed" not in done.stdout + done.stderr
    shown = lockstep("show", run, cwd=tmp_path)
    assert shown.returncode == 0
    assert "unfinished" in shown.stdout
    assert "the state after 0 steps" in shown.stdout
    out = tmp_path / "w.safetensors"
    done = lockstep("convert", run, "--to", "lockstep", "--out", out, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert "only the weights it began with" in done.stderr
    assert not out.exists()
    subprocess.run(["mount", "-o", "remount,size=10m", str(small_disk)], check=True)
    assert lockstep("resume", run, "--quiet", cwd=tmp_path).returncode == 0
    whole = lockstep(*words, "--data", "generated", "--out", "whole", "--quiet", cwd=tmp_path)
    assert whole.returncode == 0
    names = [
        folder / "checkpoints" / "step-000000006.safetensors"
        for folder in (run, tmp_path / "whole")
    ]
    one, other = (checkpoints.load(path)[0].weights for path in names)
    assert all(np.array_equal(one[name], other[name]) for name in other)


def refuse(folder: Path) -> Callable[[], None]:
    """Make a folder read-only, for root too; the way to undo it."""
    if os.geteuid():
        folder.chmod(stat.S_IREAD | stat.S_IEXEC)
        return lambda: folder.chmod(0o755)
    done = subprocess.run(["chattr", "+i", str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a folder cannot be made read-only for root here: {done.stderr.strip()}")
    return lambda: subprocess.run(["chattr", "-i", str(folder)], check=True) and None


def test_a_folder_made_read_only_in_mid_run(tmp_path: Path) -> None:
    folder, undo = tmp_path / "run", []

    def close(event: Event, training: Training) -> None:
        if training.step >= 6 and not undo:
            undo.append(refuse(folder / "checkpoints"))

    try:
        with pytest.raises(DiskError, match=r"step-0+10.safetensors: cannot be written.*resume"):
            ls.train(SPEC, out=folder, callbacks=[close], event_steps=1)
        assert RunDirectory(folder).status == "unfinished"
    finally:
        for call in undo:
            call()
    assert_same_run(ls.train(SPEC), ls.resume(folder))
