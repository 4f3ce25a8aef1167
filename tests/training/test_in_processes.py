"""A run in a framework of another interpreter: as if it were here, and no process left behind."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError, LockstepError, MissingError
from lockstep.frameworks import registry
from lockstep.frameworks.environments import Environment
from lockstep.ops import Snapshot
from lockstep.task import Own
from lockstep.training import checkpoints
from lockstep.training.directory import RunDirectory
from lockstep.training.events import (
    Event,
    RunStarted,
    StepsCompleted,
)

from .own_models import two_layers
from .running import (
    LIMIT,
    assert_learned,
    assert_same_end,
    assert_same_run,
    assert_whole_log,
    at_step,
    ended,
    environment,
    small,
    started,
    wait_until,
)

MakeEnvironment = Callable[[str], Environment]
Hide = Callable[..., None]
needs_torch = pytest.mark.skipif(not registry.is_installed("torch"), reason="needs torch")
pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture
def away(make_environment: MakeEnvironment, hide: Hide) -> Callable[[str], Environment]:
    """`away("torch")`: from now on it is not here, but in an environment of its own."""

    def call(name: str) -> Environment:
        found = make_environment(name)
        hide(name)
        return found

    return call


# --- the same run ---------------------------------------------------------------------------------


@needs_torch
def test_it_is_the_same_run_bit_for_bit(away: MakeEnvironment, tmp_path: Path) -> None:
    spec = small("gru-after", "torch", "adam")
    here = ls.train(spec, event_steps=2)
    assert_learned(here)
    away("torch")
    events: list[Event] = []
    there = ls.train(spec, out=tmp_path / "run", listeners=[events.append], event_steps=2)
    assert_same_run(there, here)
    assert there.directory == tmp_path / "run"
    assert there.spec == spec
    assert there.history.notes == here.history.notes
    assert there.task.vocabulary == here.task.vocabulary
    assert_whole_log(tmp_path / "run", len(here.history))
    # every event was heard as it came
    steps = [event for event in events if isinstance(event, StepsCompleted)]
    assert np.concatenate([e.loss for e in steps]).tolist() == here.history[:, "loss"].tolist()
    others = [event for event in events if not isinstance(event, StepsCompleted)]
    assert others == list(RunDirectory(tmp_path / "run").events())
    assert isinstance(events[0], RunStarted)
    assert all(len(event.loss) <= 2 for event in steps)
    facts = json.loads((tmp_path / "run" / "machine.json").read_text())
    assert facts["framework"] == "torch"


@needs_torch
def test_begun_here_and_finished_there(away: MakeEnvironment, tmp_path: Path) -> None:
    """Under another spec too: in another framework, and for longer."""
    begun = small("airfoil", "numpy", "momentum")
    spec = replace(begun, framework="torch", fused=False, epochs=4)
    for name in ("here", "there"):
        ls.train(begun, out=tmp_path / name, callbacks=[at_step(4)], event_steps=1)
    here = ls.resume(tmp_path / "here", spec=spec)
    away("torch")
    there = ls.resume(tmp_path / "there", spec=spec)
    assert_same_run(there, here)
    assert RunDirectory(tmp_path / "there").spec == spec
    assert there.history[3, "loss"] != there.history[4, "loss"]


def test_from_weights_of_ones_own(away: MakeEnvironment, tmp_path: Path) -> None:
    spec = small("airfoil", "numpy")
    start = Snapshot({n: np.full_like(w, 0.25) for n, w in ls.train(spec).weights.items()})
    here = ls.train(spec, start=start)
    away("numpy")
    there = ls.train(spec, start=start, out=tmp_path / "run")
    assert_same_run(there, here)
    assert here.history[0, "loss"] != ls.train(spec, out=tmp_path / "other").history[0, "loss"]


def test_without_a_folder_nothing_is_left(
    away: MakeEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    spec = small("airfoil", "numpy")
    here = ls.train(spec)
    away("numpy")
    there = ls.train(spec)
    assert_same_run(there, here)
    assert there.directory is None
    assert list((tmp_path / "tmp").iterdir()) == []
    with pytest.raises(LockstepError, match="style = 'concise'"):
        ls.train(replace(spec, style="concise"))
    assert list((tmp_path / "tmp").iterdir()) == []


def test_one_that_diverges(away: MakeEnvironment, tmp_path: Path) -> None:
    spec = small("airfoil", "numpy").with_lr(1e30)
    here = ls.train(spec)
    assert here.status == "diverged"
    away("numpy")
    assert_same_run(ls.train(spec, out=tmp_path / "run"), here)


# --- what cannot reach into another process -------------------------------------------------------


def test_callbacks_are_refused(away: MakeEnvironment, tmp_path: Path) -> None:
    spec = small("airfoil", "numpy")
    ls.train(spec, out=tmp_path / "old", callbacks=[at_step(2)], event_steps=1)
    away("numpy")
    match = r"callbacks = 1: the run is carried out by another process.*Use listeners"
    with pytest.raises(InputError, match=match):
        ls.train(spec, out=tmp_path / "run", callbacks=[at_step(2)])
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match=match):
        ls.resume(tmp_path / "old", callbacks=[at_step(2)])


X = np.random.default_rng(7).normal(size=(70, 4))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1]
RNG = np.random.default_rng(8)
WEIGHTS = {
    "w1": 0.5 * RNG.normal(size=(4, 8)),
    "b1": np.zeros(8),
    "w2": 0.5 * RNG.normal(size=(8, 1)),
    "b2": np.zeros(1),
}


def own_task(model: Any = two_layers, y: np.ndarray = Y) -> Own:
    return ls.own(model, X, y, weights=WEIGHTS)


def test_a_persons_own_model_is_found_by_its_file(away: MakeEnvironment, tmp_path: Path) -> None:
    mine = own_task()
    spec = mine.run(batch_size=16, epochs=3)
    here = ls.train(spec, mine)
    assert_learned(here)
    ls.train(spec, mine, out=tmp_path / "old", callbacks=[at_step(4)], event_steps=1)
    away("numpy")
    assert_same_run(ls.train(spec, mine), here)
    assert_same_run(ls.resume(tmp_path / "old"), here)


def test_a_model_without_a_file_is_refused(away: MakeEnvironment, tmp_path: Path) -> None:
    mine = own_task(lambda ops, w, x: x @ w["w1"] @ w["w2"])
    away("numpy")
    with pytest.raises(InputError, match=r"cannot be given the model.*top of a \.py file"):
        ls.train(mine.run(), mine, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_metric_without_a_file_is_refused(away: MakeEnvironment, tmp_path: Path) -> None:
    bias = {"bias": lambda ops, outputs, y: ops.sum(outputs - y, axis=1)}
    mine = ls.own(two_layers, X, Y, weights=WEIGHTS, metrics=bias)
    away("numpy")
    refused = r"metrics = 'bias': .*cannot be given the function.*top of a \.py file"
    with pytest.raises(InputError, match=refused):
        ls.train(mine.run(), mine, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@needs_torch
def test_a_module_is_refused(away: MakeEnvironment, tmp_path: Path) -> None:
    import torch

    mine = ls.own(torch.nn.Linear(4, 1), X, Y)
    away("torch")
    with pytest.raises(InputError, match="cannot be given the model"):
        ls.train(mine.run(framework="torch"), mine, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_task_that_is_missing_or_another(away: MakeEnvironment, tmp_path: Path) -> None:
    """Told as it is here, before a folder is made."""
    mine, other = own_task(), own_task(y=Y + 1)
    ls.train(mine.run(), mine, out=tmp_path / "old")
    away("numpy")
    with pytest.raises(InputError, match=r"ls\.train\(run, mine\)"):
        ls.train(mine.run(), out=tmp_path / "run")
    with pytest.raises(InputError, match="other arrays"):
        ls.train(mine.run(), other, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="other arrays"):
        ls.resume(tmp_path / "old", other)


def test_without_an_environment(hide: Hide, environments_folder: Path, tmp_path: Path) -> None:
    hide("numpy")
    with pytest.raises(MissingError, match="lockstep env create numpy"):
        ls.train(small("airfoil", "numpy"), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


# --- what goes wrong there ------------------------------------------------------------------------


def test_a_mistake_is_told_as_it_is_here(away: MakeEnvironment, tmp_path: Path) -> None:
    """A program that cannot be built: the same words, and no run is left in the folder."""
    spec = replace(small("airfoil", "numpy"), style="concise")
    with pytest.raises(LockstepError) as here:
        ls.train(spec, out=tmp_path / "run")
    away("numpy")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(LockstepError) as there:
        ls.train(spec, out=tmp_path / "run", start=Snapshot({"w": np.zeros(1)}))
    assert str(there.value) == str(here.value)
    assert there.value.exit_code == here.value.exit_code == 2
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["notes.txt"]
    ls.train(replace(spec, style="scratch"), out=tmp_path / "run")


def test_a_run_that_another_process_has_taken_stays(away: MakeEnvironment, tmp_path: Path) -> None:
    """It resumed what was just begun; that mistake must not remove the run under its feet."""
    away("numpy")
    spec = small("airfoil", "numpy")
    (tmp_path / "run").mkdir()
    with (tmp_path / "run" / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LockstepError, match="is under way in process"):
            ls.train(spec, out=tmp_path / "run")
    assert ls.resume(tmp_path / "run").status == "completed"


@needs_torch
def test_a_spec_that_cannot_be_carried_out_does_not_take_its_place(
    away: MakeEnvironment, tmp_path: Path
) -> None:
    spec = small("gru-before", "numpy")
    whole = ls.train(spec)
    ls.train(spec, out=tmp_path / "run", callbacks=[at_step(4)], event_steps=1)
    away("torch")
    concise = replace(spec, framework="torch", style="concise")
    with pytest.raises(LockstepError, match=r"model\.reset = 'before'"):
        ls.resume(tmp_path / "run", spec=concise)
    assert RunDirectory(tmp_path / "run").spec == spec
    assert_same_run(ls.resume(tmp_path / "run"), whole)


CRASH = """
import os, signal
def net(ops, w, x):
    if os.environ.get("LOCKSTEP_WORKER") and not os.path.exists("{mended}"):
        net.calls += 1
        if net.calls == 6:
            print("the last words of a model", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    return x @ w["w"]
net.calls = 0
"""


def test_a_worker_that_is_killed(away: MakeEnvironment, tmp_path: Path) -> None:
    """Its last words are told, and its run goes on once the cause is mended."""
    source, mended = tmp_path / "fatal.py", tmp_path / "mended"
    source.write_text(CRASH.format(mended=mended))
    space: dict[str, Any] = {"__name__": "fatal"}
    exec(compile(source.read_text(), str(source), "exec"), space)
    mine = ls.own(space["net"], X, Y, weights={"w": np.zeros((4, 1))})
    spec = mine.run(batch_size=16, epochs=3, checkpoint_steps=2, evaluate=())
    here = ls.train(spec, mine)
    away("numpy")
    with pytest.raises(LockstepError) as caught:
        ls.train(spec, mine, out=tmp_path / "run")
    told = str(caught.value)
    assert told.startswith("numpy was ended by SIGKILL; see ")
    assert told.endswith("\n  the last words of a model")
    assert "worker.log" in told
    assert checkpoints.newest(tmp_path / "run" / "checkpoints") is not None
    assert RunDirectory(tmp_path / "run").status == "unfinished"
    mended.touch()
    assert_same_run(ls.resume(tmp_path / "run"), here)


def test_a_listener_that_fails_ends_the_worker(away: MakeEnvironment, tmp_path: Path) -> None:
    def fail(event: Event) -> None:
        if isinstance(event, StepsCompleted):
            raise RuntimeError("as a person's own code may")

    away("numpy")
    with pytest.raises(RuntimeError, match="own code"):
        ls.train(replace(small("airfoil"), epochs=100_000), out=tmp_path / "run", listeners=[fail])


# --- Ctrl-C ---------------------------------------------------------------------------------------


def press(process: subprocess.Popen[str], to: str) -> None:
    """Ctrl-C: a terminal sends it to the whole group, `kill -INT` to the one process."""
    if to == "group":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)


@needs_torch
@pytest.mark.parametrize("to", ["process", "group"])
def test_ctrl_c_saves_and_names_the_way_to_go_on(
    to: str,
    make_environment: MakeEnvironment,
    bare_python: Path,
    tmp_path: Path,
    nothing_left: Callable[[], list[str]],
) -> None:
    """`lockstep train` where there is no torch but in an environment."""
    make_environment("torch")
    spec = replace(small("gru-after", "torch", "momentum"), epochs=100_000, checkpoint_steps=3)
    (tmp_path / "run.toml").write_text(spec.to_toml())
    process = started("train", "run.toml", "--out", "run", cwd=tmp_path, python=bare_python)
    with ended(process):
        wait_until(process, lambda: checkpoints.newest(tmp_path / "run" / "checkpoints"))
        if Path("/proc/self").exists():  # where processes can be seen, this one is
            assert any("lockstep.training.run_worker" in words for words in nothing_left())
        press(process, to)
        out, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, errors
    assert "interrupted" in out
    assert "training: " in errors  # progress
    assert "lockstep resume run" in errors
    assert "Traceback" not in errors + (tmp_path / "run" / "worker.log").read_text()
    assert nothing_left() == []
    directory = RunDirectory(tmp_path / "run")
    assert directory.status == "interrupted"
    newest = checkpoints.newest(directory.checkpoint_folder)
    assert newest is not None
    done = int(checkpoints.load(newest)[1]["step"])
    steps = len(directory.history())
    assert steps == done  # what was done is saved, and no more is told
    if to == "group":
        ls.resume(directory.path, spec=replace(spec, max_steps=done + 5))  # here, for once
    else:
        more = ("--max-steps", done + 5, "--json")
        again = started("resume", "run", *more, cwd=tmp_path, python=bare_python)
        out, errors = again.communicate(timeout=LIMIT)
        assert again.returncode == 0, errors
        assert json.loads(out)["steps"] == done + 5
    assert_same_end(tmp_path / "run", replace(spec, max_steps=done + 5))


SCRIPT = """
import sys
import numpy as np
import lockstep as ls
from lockstep.frameworks import registry
registry.is_installed = lambda name: False
from slow import net
if __name__ == "__main__":
    mine = ls.own(net, np.eye(4), np.arange(4.0), weights={"w": np.zeros((4, 1))})
    try:
        ls.train(mine.run(batch_size=2), mine, out="run")
    except KeyboardInterrupt:
        sys.exit(130)
"""
SLOW = """
import os, signal, time
from pathlib import Path
HERE = Path(__file__).parent
if os.environ.get("LOCKSTEP_WORKER") and not (HERE / "mended").exists():
    if (HERE / "deaf").exists():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    (HERE / "importing").touch()
    time.sleep(600)
def net(ops, w, x):
    return x @ w["w"]
"""


@pytest.mark.parametrize("deaf", [False, True], ids=["once", "twice"])
def test_ctrl_c_before_the_run_has_begun(
    deaf: bool, away: MakeEnvironment, tmp_path: Path, nothing_left: Callable[[], list[str]]
) -> None:
    """While the worker imports, it has nothing to save; one that does not listen is left."""
    away("numpy")
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "slow.py").write_text(SLOW)
    if deaf:
        (tmp_path / "deaf").touch()
    process = subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True, process_group=0,
    )  # fmt: skip
    with ended(process):
        wait_until(process, (tmp_path / "importing").exists)
        press(process, "group")
        if deaf:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)
            press(process, "group")
        _, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, errors) == (130, "")
    assert nothing_left() == []
    (tmp_path / "mended").touch()
    result = ls.resume(tmp_path / "run")  # it is there to be gone on with, from its start
    assert (result.status, len(result.history)) == ("completed", 2)
