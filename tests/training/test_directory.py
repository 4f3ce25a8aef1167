"""Run directories: whose they are, what a full disk or a kill leaves, and finding them."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError, MissingError, RunDirectoryError
from lockstep.files import DiskError
from lockstep.ops import Snapshot
from lockstep.training import checkpoints
from lockstep.training.directory import RunDirectory, all_runs, find, free_path
from lockstep.training.events import RunInterrupted, RunStarted, to_json
from lockstep.training.steps import RECORD

from .running import (
    assert_same_run,
    assert_same_snapshot,
    assert_whole_log,
    at_step,
    lockstep,
    small,
)


def stopped(folder: Path, step: int = 3, **fields: object) -> ls.RunSpec:
    """A run in `folder` that was stopped after some steps."""
    spec = small("airfoil", "numpy", "momentum", **fields)
    result = ls.train(spec, out=folder, callbacks=[at_step(step)], event_steps=1)
    assert result.status == "stopped"
    return spec


# --- whose folder it is -------------------------------------------------------------------------


def test_another_spec_is_refused_with_the_fields_that_differ(tmp_path: Path) -> None:
    spec = stopped(tmp_path / "run")
    other = replace(spec, batch_size=16, seed=3)
    with pytest.raises(RunDirectoryError) as caught:
        ls.train(other, out=tmp_path / "run")
    message = str(caught.value)
    assert "belongs to another run" in message
    assert "batch_size: 32 there, 16 here; seed: 0 there, 3 here" in message
    assert "--out" in message


def test_the_same_spec_is_refused_with_the_way_to_go_on(tmp_path: Path) -> None:
    spec = stopped(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match=f"lockstep resume {tmp_path}/run"):
        ls.train(spec, out=tmp_path / "run")


@pytest.mark.parametrize(
    "mistake",
    [
        {"batch_size": 5000},  # larger than the data
        {"style": "concise"},  # numpy has no layers
        {"evaluate": ("test",)},  # airfoil has no test split
        {"framework": "nunpy"},
    ],
)
def test_a_spec_that_cannot_be_carried_out_leaves_no_folder(
    mistake: dict[str, object], tmp_path: Path
) -> None:
    """Or the corrected command would be told that the folder belongs to another run."""
    (field,) = mistake
    with pytest.raises(InputError, match=field):
        ls.train(replace(small("airfoil"), **mistake), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "mistake", [{"framework": "jaxx"}, {"style": "concise"}, {"evaluate": ("test",)}]
)
def test_a_mistaken_resume_leaves_the_run_as_it_was(
    mistake: dict[str, object], tmp_path: Path
) -> None:
    spec = stopped(tmp_path / "run")
    with pytest.raises((InputError, MissingError)):
        ls.resume(tmp_path / "run", spec=replace(spec, **mistake))
    assert RunDirectory(tmp_path / "run").spec == spec
    assert_same_run(ls.train(spec), ls.resume(tmp_path / "run"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 16),
        ("seed", 1),
        ("data.order", "in_order"),
        ("data.max_examples", 200),
        ("model.kind", "mlp"),
    ],
)
def test_what_a_run_under_way_cannot_change(name: str, value: object, tmp_path: Path) -> None:
    spec = stopped(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match=rf"cannot be continued with another {name}"):
        ls.resume(tmp_path / "run", spec=spec.with_fields({name: value}))
    assert RunDirectory(tmp_path / "run").spec == spec


@pytest.mark.parametrize("path", ["numpy", "jax"])
def test_another_optimizer_takes_over_without_the_others_slots(path: str, tmp_path: Path) -> None:
    spec = small("airfoil", path, "momentum")
    ls.train(spec, out=tmp_path / "run", callbacks=[at_step(7)], event_steps=7)
    other = small("airfoil", path, "adagrad")
    result = ls.resume(tmp_path / "run", spec=other)
    assert result.status == "completed"
    assert {key.partition("/")[0] for key in result.snapshot.slots} == {"sum_squares"}
    assert RunDirectory(tmp_path / "run").spec == other


def test_a_start_that_does_not_fit_the_model() -> None:
    with pytest.raises(InputError, match=r"start = .*does not fit the model"):
        ls.train(small("airfoil"), start=Snapshot({"w": np.zeros((4, 1)), "b": np.zeros(1)}))


# --- a full disk --------------------------------------------------------------------------------


def mock_full_disk(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A mock: writing files whose name contains `name` fails as it does on a full disk."""
    real = os.fsync

    def fsync(handle: int) -> None:
        if name in str(Path(f"/proc/self/fd/{handle}").readlink()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.parametrize("name", ["step-000000006", "events.jsonl"])
def test_a_full_disk_leaves_the_last_checkpoint_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = replace(small("airfoil", "numpy", "momentum"), checkpoint_steps=3)
    folder = tmp_path / "run"
    whole = ls.train(spec)
    ls.train(spec, out=folder, callbacks=[at_step(3)], event_steps=1)
    saved = (folder / "checkpoints" / "step-000000003.safetensors").read_bytes()
    with monkeypatch.context() as patch:
        mock_full_disk(patch, name)
        with pytest.raises(DiskError, match="no space left"):
            ls.resume(folder)
    files = sorted(path.name for path in (folder / "checkpoints").iterdir())
    assert files == ["step-000000000.safetensors", "step-000000003.safetensors"]
    assert (folder / "checkpoints" / files[-1]).read_bytes() == saved
    assert_same_run(whole, ls.resume(folder))
    assert_whole_log(folder, 21)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")
def test_a_log_that_cannot_be_written_is_told_as_such(tmp_path: Path) -> None:
    """The real thing: a device on which every write finds no space."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "events.jsonl").symlink_to("/dev/full")
    with pytest.raises(DiskError, match=r"events\.jsonl: no space left"):
        ls.train(small("airfoil"), out=tmp_path / "run")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError, match="cannot be written"):
        ls.train(small("airfoil"), out=tmp_path / "file" / "run")


# --- what a kill leaves -------------------------------------------------------------------------


def test_a_torn_last_line_is_left_out_and_then_cut_off(tmp_path: Path) -> None:
    spec = stopped(tmp_path / "run")
    directory = RunDirectory(tmp_path / "run")
    before = list(directory.events())
    with directory.log.open("a") as log:
        log.write('{"event": "StepsComp')
    assert list(directory.events()) == before
    assert_same_run(ls.train(spec), ls.resume(tmp_path / "run"))
    assert_whole_log(tmp_path / "run", 21)


def test_a_log_shorter_than_its_checkpoint_says(tmp_path: Path) -> None:
    """As after a power cut: the steps that are lost are not there, the others are in place."""
    spec = stopped(tmp_path / "run")
    directory = RunDirectory(tmp_path / "run")
    os.truncate(directory.steps, 2 * RECORD.itemsize + 9)  # the header, step 0 and a torn record
    assert len(directory.history()) == 1
    whole, result = ls.train(spec), ls.resume(tmp_path / "run")
    assert_same_snapshot(whole.snapshot, result.snapshot)
    losses, found = whole.history[:, "loss"], result.history[:, "loss"]
    assert np.isnan(found).tolist() == [False, True, True] + [False] * 18
    assert found[~np.isnan(found)].tolist() == np.delete(losses, [1, 2]).tolist()


def test_a_log_that_is_no_log(tmp_path: Path) -> None:
    stopped(tmp_path / "run")
    directory = RunDirectory(tmp_path / "run")
    for line in ("not json", '"text"', '{"event": "Unheard"}', '{"event": "RunInterrupted"}'):
        directory.log.write_text(f"{to_json(RunInterrupted(1))}\n{line}\n")
        with pytest.raises(RunDirectoryError, match="line 2 cannot be read"):
            list(directory.events())


def test_half_written_files_are_ignored(tmp_path: Path) -> None:
    spec = stopped(tmp_path / "run")
    folder = tmp_path / "run" / "checkpoints"
    (folder / ".step-000000099.safetensors.0a1b.part").write_bytes(b"half")
    (tmp_path / "run" / ".spec.toml.0a1b.part").write_bytes(b"name = ")
    assert_same_run(ls.train(spec), ls.resume(tmp_path / "run"))


def test_a_safetensors_file_of_another_kind(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "step-000000001.safetensors"
    save_file({"weights/w": np.zeros(2)}, path)
    with pytest.raises(RunDirectoryError, match="cannot be read"):
        checkpoints.load(path)


# --- checkpoints --------------------------------------------------------------------------------


def test_a_checkpoint_keeps_every_bit_shape_type_and_order(tmp_path: Path) -> None:
    """The order too: a sum over all weights, as in the gradient's norm, depends on it."""
    weights = {
        "z": np.array([np.nan, -0.0, np.inf, 5e-324]),
        "a": np.array(0.1, np.float32),  # no axis
        "m": np.arange(6.0).reshape(2, 3).T,  # not contiguous
        "e": np.zeros((0, 3)),
    }
    snapshot = Snapshot(weights, {"velocity/z": np.ones(4)}, {"h": np.ones((2, 3), np.float32)})
    facts = {"step": 7, "sums": [0.1 + 0.2, 3]}
    loaded, read = checkpoints.load(checkpoints.save(tmp_path, 7, snapshot, facts))
    assert_same_snapshot(loaded, snapshot)
    assert list(loaded.weights) == list(weights)
    assert read == facts


def test_two_checkpoints_are_kept_and_none_of_a_path_given_up(tmp_path: Path) -> None:
    snapshot = Snapshot({"w": np.zeros(1)})
    for step in (5, 10, 15, 20):
        checkpoints.save(tmp_path, step, snapshot, {})
    assert [p.stem for p in sorted(tmp_path.iterdir())] == ["step-000000015", "step-000000020"]
    checkpoints.save(tmp_path, 17, snapshot, {})
    assert [p.stem for p in sorted(tmp_path.iterdir())] == ["step-000000015", "step-000000017"]
    assert checkpoints.newest(tmp_path) == tmp_path / "step-000000017.safetensors"


def test_nothing_in_a_run_directory_is_pickled(tmp_path: Path) -> None:
    stopped(tmp_path / "run")
    files = {path.suffix for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert files == {
        ".toml",
        ".json",
        ".jsonl",
        ".bin",
        ".safetensors",
        "",
    }  # "": the lock, a number
    assert json.loads((tmp_path / "run" / "machine.json").read_text())["framework"] == "numpy"


# --- finding a run ------------------------------------------------------------------------------


def test_find_by_path_name_and_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("alpha-1", "alpha-12", "beta"):
        RunDirectory.create(Path("runs") / name, small("airfoil"), {})
    assert find("runs/beta").path == Path("runs/beta")
    assert find(tmp_path / "runs" / "beta").path == tmp_path / "runs" / "beta"
    assert find("beta").path == find("b").path == Path("runs/beta")
    assert find("alpha-1").path == Path("runs/alpha-1")  # exact, though it begins another
    with pytest.raises(RunDirectoryError, match=r"'alpha': names several runs.*alpha-1, alpha-12"):
        find("alpha")
    with pytest.raises(RunDirectoryError, match=r"'gamma': is not a run.*alpha-1, alpha-12, beta"):
        find("gamma")
    assert len(all_runs()) == 3


def test_find_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunDirectoryError, match=r"is not a run. Runs in runs/: none"):
        find("alpha")
    with pytest.raises(RunDirectoryError, match="holds no run"):
        RunDirectory(tmp_path)


def test_last_is_the_run_that_was_written_to_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunDirectoryError, match=r"'last': there is no run in runs/. Train one"):
        find("last")
    for at, name in enumerate(("alpha", "last-but-one", "gamma")):
        made = RunDirectory.create(Path("runs") / name, small("airfoil"), {})
        made.log.touch()
        for file in (made.path / "spec.toml", made.log):
            os.utime(file, (at, at))
    assert find("last").path.name == "gamma"  # and no beginning of another's name
    os.utime("runs/alpha/events.jsonl", (9, 9))  # it was resumed
    assert find("last").path.name == "alpha"
    RunDirectory.create(Path("runs/last"), small("airfoil"), {})
    os.utime("runs/last/spec.toml", (0, 0))
    assert find("last").path.name == "last"  # a run of that name is meant by it


def test_a_free_path_is_numbered_when_taken(tmp_path: Path) -> None:
    spec = small("airfoil")
    first = free_path(spec, tmp_path)
    assert first.name == f"airfoil-linear-numpy-{spec.hash}"
    first.mkdir()
    assert free_path(spec, tmp_path).name == f"{first.name}-2"


def test_the_status_follows_the_events(tmp_path: Path) -> None:
    spec = stopped(tmp_path / "run")
    directory = RunDirectory(tmp_path / "run")
    assert directory.status == "unfinished"
    with directory.log.open("a") as log:
        log.write(to_json(RunInterrupted(3)) + "\n")
    assert directory.status == "interrupted"
    with directory.log.open("a") as log:
        log.write(to_json(RunStarted(3, 21, 7, {})) + "\n")
    assert directory.status == "unfinished"
    ls.resume(tmp_path / "run")
    assert directory.status == "completed"
    assert directory.spec == spec


def test_a_run_under_way_cannot_be_taken_by_another_process(tmp_path: Path) -> None:
    """Two processes writing one log would leave neither's run."""
    folder = tmp_path / "run"
    spec = small("airfoil", "numpy", "momentum")

    def intrude(event: object, training: object) -> None:
        if training.step == 3:  # type: ignore[attr-defined]
            done = lockstep("resume", folder, cwd=tmp_path)
            assert done.returncode == 2
            assert f"is under way in process {os.getpid()}" in done.stderr

    result = ls.train(spec, out=folder, callbacks=[intrude], event_steps=1)
    assert_same_run(ls.train(spec, event_steps=1), result)
    assert lockstep("resume", folder, cwd=tmp_path).returncode == 0


def test_a_result_without_a_folder_is_named_as_that() -> None:
    """`ls.resume(result.directory)` of a run that left no files."""
    with pytest.raises(RunDirectoryError, match=r"None: is no folder\. .* without out="):
        find(None)  # type: ignore[arg-type]
