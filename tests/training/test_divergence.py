"""A loss that is no longer finite: the run stops, says where, and keeps a state that is good."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.frameworks import registry
from lockstep.ops import Snapshot
from lockstep.task import assemble
from lockstep.training import Result, checkpoints
from lockstep.training.directory import RunDirectory
from lockstep.training.events import EpochCompleted, Event, RunDiverged, StepsCompleted

from .running import PATHS, assert_same_run, lockstep, small

HUGE = 1e5


def diverging(path: str = "numpy", lr: float = HUGE, **fields: object) -> ls.RunSpec:
    """Squared loss at a rate far too large: it grows by orders of magnitude until it overflows."""
    return small("airfoil", path, **fields).with_lr(lr)


def carried_out(spec: ls.RunSpec, event_steps: int, **where: object) -> tuple[Result, list[Event]]:
    events: list[Event] = []
    result = ls.train(spec, event_steps=event_steps, listeners=[events.append], **where)
    return result, events


def next_loss(spec: ls.RunSpec, snapshot: Snapshot, step: int) -> float:
    """The loss of step `step` from a state: what the run would see next."""
    task = assemble(spec)
    program = registry.get(spec.framework).compile(task, spec)
    state = program.load(snapshot)
    epoch, batch = divmod(step, task.plan.num_batches)
    for block in task.plan.epoch(epoch):
        if batch < len(block):
            rows = block[batch : batch + 1]
            program.prepare(state, [rows])
            _, log = program.steps(state, rows, np.array([0.0]), step)
            return float(program.fetch(log)["loss"][0])
        batch -= len(block)
    raise AssertionError("no such step")


@pytest.mark.parametrize("path", PATHS)
def test_inside_a_call_and_at_its_first_step(path: str) -> None:
    """However the run is cut, it breaks at the same step, and the same state is kept."""
    spec = diverging(path)
    inside, events = carried_out(spec, 7)
    (broken,) = [e for e in events if isinstance(e, RunDiverged)]
    assert inside.status == "diverged"
    assert broken.lr == HUGE
    assert not math.isfinite(broken.loss)
    assert broken.kept == broken.step - 1
    assert 0 < broken.step % 7 < 6  # in the middle of a call, by the choice of the rate
    # the steps whose loss was finite are all recorded, none of the others is
    losses = inside.history[:, "loss"]
    assert len(losses) == broken.step
    assert np.isfinite(losses).all()
    assert losses[-1] > losses[0]
    # the kept state's loss is that which was recorded for its step; the state after it is broken
    assert next_loss(spec, inside.snapshot, broken.kept) == losses[broken.kept]

    single, events = carried_out(spec, 1)
    assert [e for e in events if isinstance(e, RunDiverged)] == [broken]
    assert_same_run(inside, single)


@pytest.mark.parametrize("every", [0, 1])
def test_the_kept_state_is_what_a_resume_goes_on_from(every: int, tmp_path: Path) -> None:
    """Also where a checkpoint of the broken state was saved before its loss was known."""
    spec = diverging("torch", checkpoint_steps=every)
    result, events = carried_out(spec, 1, out=tmp_path / "run")
    (broken,) = [e for e in events if isinstance(e, RunDiverged)]
    newest = checkpoints.newest(tmp_path / "run" / "checkpoints")
    assert newest is not None
    assert newest.name == f"step-{broken.kept:09d}.safetensors"
    assert RunDirectory(tmp_path / "run").status == "diverged"

    again = ls.resume(tmp_path / "run")
    assert_same_run(result, again)
    mended = ls.resume(tmp_path / "run", spec=spec.with_lr(0.001))
    assert mended.status == "completed"
    assert np.isfinite(mended.history[:, "loss"]).all()
    assert len(mended.history) == 21
    assert mended.history[:, "lr"].tolist() == [HUGE] * broken.kept + [0.001] * (21 - broken.kept)
    # the mean of every epoch counts each of its steps once, though one was gone through twice
    sizes = np.array([32] * 6 + [19])
    for epoch in mended.history.epochs:
        own = mended.history[:, "loss"][7 * epoch.epoch : 7 * epoch.epoch + 7]
        # float64 sums in the same order: equal but for the order of one product and one sum
        assert epoch.metrics["train_loss"] == pytest.approx((own * sizes).sum() / 211, rel=1e-14)


def test_at_the_first_step_of_an_epoch(tmp_path: Path) -> None:
    """The update to blame was the last of the epoch before, which has to end anew."""
    spec = replace(diverging(), evaluate=())
    for power in range(4, 24):
        spec = spec.with_lr(10.0 ** (power / 4))
        result, events = carried_out(spec, 0, out=tmp_path / f"run{power}")
        broken = next((e for e in events if isinstance(e, RunDiverged)), None)
        if broken is not None and broken.step in (7, 14):
            break
    else:
        pytest.fail("no rate breaks the loss at the start of an epoch")
    ended = [e.epoch for e in events if isinstance(e, EpochCompleted)]
    assert len(ended) == broken.step // 7
    assert next_loss(spec, result.snapshot, broken.kept) == result.history[broken.kept, "loss"]
    mended = ls.resume(result.directory, spec=spec.with_lr(1e-6))
    assert mended.status == "completed"
    assert [e.epoch for e in mended.history.epochs] == [0, 1, 2]
    assert [e.step for e in mended.history.epochs] == [7, 14, 21]


def test_at_the_last_step_the_evaluation_tells() -> None:
    """No later step shows what the last update did: the loss measured after it does."""
    probe, events = carried_out(replace(diverging(), evaluate=()), 0)
    (broken,) = [e for e in events if isinstance(e, RunDiverged)]
    spec = replace(diverging(), max_steps=broken.step)  # its last update is the one to blame
    result, events = carried_out(spec, 0)
    assert result.status == "diverged"
    found = [e for e in events if isinstance(e, RunDiverged)]
    assert [(e.step, e.lr, e.kept) for e in found] == [(broken.step, HUGE, broken.kept)]
    for name, value in probe.weights.items():
        assert value.tobytes() == result.weights[name].tobytes()


def test_data_whose_square_overflows_breaks_the_first_step() -> None:
    x = np.full((4, 2), 1e200)
    mine = ls.own(lambda ops, w, x: x @ w["w"], x, np.zeros(4), weights={"w": np.ones((2, 1))})
    result, events = carried_out(mine.run(batch_size=2, precision="float64"), 0, own=mine)
    (broken,) = [e for e in events if isinstance(e, RunDiverged)]
    assert (result.status, broken.step, broken.kept) == ("diverged", 0, 0)
    assert result.weights["w"].tolist() == [[1.0], [1.0]]


def test_a_gradient_that_overflows_is_recorded_and_read_back(tmp_path: Path) -> None:
    """The norm can be infinite where the loss is not yet."""
    result, events = carried_out(diverging(), 0, out=tmp_path / "run")
    norms = [norm for e in events if isinstance(e, StepsCompleted) for norm in e.grad_norm]
    assert norms == result.history[:, "grad_norm"].tolist()
    assert norms == RunDirectory(tmp_path / "run").history()[:, "grad_norm"].tolist()


def test_the_command_tells_and_exits_with_3(tmp_path: Path) -> None:
    words = ("train", "airfoil-linear", "--lr", HUGE, "--out", "run")
    done = lockstep(*words, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    (broken,) = [e for e in RunDirectory(tmp_path / "run").events() if isinstance(e, RunDiverged)]
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("diverged")]
    assert f"step {broken.step}" in told
    assert float(told.partition("lr ")[2].partition(";")[0]) == HUGE
    assert "Warning" not in done.stderr
    done = lockstep("resume", "run", "--json", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert json.loads(done.stdout)["status"] == "diverged"
