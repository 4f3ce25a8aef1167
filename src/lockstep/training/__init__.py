"""Training: one loop, its events, checkpoints, run directories and results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.assemble import assemble
from lockstep.errors import InputError
from lockstep.files import DiskError
from lockstep.frameworks import registry
from lockstep.frameworks.fastest import settled
from lockstep.frameworks.protocol import Program
from lockstep.ops import Snapshot
from lockstep.own_task import Own
from lockstep.parallel.child import WaitedError
from lockstep.parallel.collective import Collective
from lockstep.spec import RunSpec
from lockstep.task import Task
from lockstep.training import checkpoints, group
from lockstep.training.checkpoints import Found
from lockstep.training.completed import completed_before
from lockstep.training.directory import RunDirectory, find, refuse_taken
from lockstep.training.elsewhere import refuse_callbacks, resume_elsewhere, train_elsewhere
from lockstep.training.events import (
    CheckpointSaved,
    CheckpointSkipped,
    Event,
    LogDamaged,
    ProgramCompiled,
    RunStarted,
    SpecChanged,
)
from lockstep.training.history import History
from lockstep.training.interrupt import interruptible
from lockstep.training.loop import train_loop
from lockstep.training.machine import machine_facts
from lockstep.training.own_arrays import check_own, load_own
from lockstep.training.own_outputs import check_net
from lockstep.training.rates import Rates
from lockstep.training.result import Result
from lockstep.training.run import EpochSums, Training

Callback = Callable[[Event, Training], None]
Listener = Callable[[Event], None]


def train(
    spec: RunSpec,
    own: Own | None = None,
    *,
    out: str | Path | None = None,
    callbacks: Iterable[Callback] = (),
    listeners: Iterable[Listener] = (),
    event_steps: int = 0,
    start: Snapshot | None = None,
    launch: str = "auto",
    go_on: bool = False,
) -> Result:
    """Carry out a run. With `out`, everything about it is kept in that folder.

    The framework "fastest" is the fastest of those usable here, and the result's spec names it.
    A callback gets every event and the run under way: `training.set_lr(0.1)`, `training.stop()`.
    With `event_steps` there is an event at every multiple of it, besides others. `start` replaces
    the weights drawn from the seed. A framework that is not installed here runs in its own
    environment (`lockstep env create NAME`), and a run on several devices may need processes of
    its own (always with `launch` "processes"): both are out of reach of callbacks. With `go_on`, a
    run that `out` holds already is gone on with.
    """
    spec = settled(spec)
    registry.check_known(spec.framework)
    out = Path(out) if out is not None and not group.follows(spec) else None  # rank 0 writes
    held = out if go_on and out is not None and (out / "spec.toml").is_file() else None
    if held is not None:
        RunDirectory(held).refuse_other(spec)
    elif out is not None:
        refuse_taken(out, spec)  # at once, not after the data is loaded
    if processes := group.processes_needed(spec, launch):
        refuse_callbacks(callbacks)
        return train_elsewhere(spec, own, out, listeners, event_steps, start, processes)
    collective = group.join(spec)
    facts: dict[str, Any] = {}
    found = checkpoints.newest_whole(held / "checkpoints") if held else Found()
    if go_on:
        saved, facts = group.shared_checkpoint(collective, found)
        start = saved or start
    ready = _make_ready(spec, own, held)
    hearing = _Hearing(callbacks, listeners, event_steps)
    if out is None:
        return _carry_out(ready, collective, None, facts, start, hearing)
    machine = machine_facts(registry.get(spec.framework))
    directory = RunDirectory(held) if held else RunDirectory.create(out, spec, machine, own)
    with _resumable(directory), directory.taken():
        changes = directory.changes_since(facts, spec)
        unchanged = directory.cut_log(facts) if held else True
        news = _news(found, changes, unchanged)
        return _carry_out(ready, collective, directory, facts, start, hearing, news)


def resume(
    run: str | Path,
    own: Own | None = None,
    *,
    spec: RunSpec | None = None,
    callbacks: Iterable[Callback] = (),
    listeners: Iterable[Listener] = (),
    event_steps: int = 0,
    launch: str = "auto",
    strict: bool = False,
) -> Result:
    """Go on with a run at the exact step of its last checkpoint; from the start if it has none.

    `spec` continues it under changed settings: another framework, more devices or epochs. A run
    that has nothing left to do is left as it is: the result's `ran` is False. A checkpoint that is
    damaged is skipped for the one before, with an event that says so; with `strict` it is an error.
    """
    directory = find(run)
    before = directory.spec
    spec = settled(spec or before)
    registry.check_known(spec.framework)
    directory.refuse_other(spec)
    own = own or load_own(directory.path, spec)
    if done := completed_before(directory, spec, own):
        return done
    if processes := group.processes_needed(spec, launch):
        refuse_callbacks(callbacks)
        return resume_elsewhere(directory, own, spec, listeners, event_steps, processes, strict)
    collective = group.join(spec)
    hearing = _Hearing(callbacks, listeners, event_steps)
    if collective.rank:
        snapshot, facts = group.shared_checkpoint(collective, Found())
        return _carry_out(_make_ready(spec, own), collective, None, facts, snapshot, hearing)
    with _resumable(directory), directory.taken():
        found = checkpoints.newest_whole(directory.checkpoint_folder, strict=strict)
        snapshot, facts = group.shared_checkpoint(collective, found)
        changes = directory.changes_since(facts, spec)
        ready = _make_ready(spec, own, directory.path)
        if spec != before:  # only now: a spec that cannot be carried out must not take its place
            directory.replace_spec(spec)
        news = _news(found, changes, directory.cut_log(facts))
        return _carry_out(ready, collective, directory, facts, snapshot, hearing, news)


def _news(found: Found, changes: list[str], log_unchanged: bool) -> list[Event]:
    """What a run that is resumed has to say about how it goes on."""
    step = found.facts.get("step", 0)
    events: list[Event] = [CheckpointSkipped(n, p, step) for n, p in found.damaged.items()]
    if not log_unchanged:
        events.append(LogDamaged("events.jsonl", "is not as it was when the state was saved"))
    return events + ([SpecChanged(step, changes)] if changes else [])


@contextmanager
def _resumable(directory: RunDirectory) -> Iterator[None]:
    """A disk that does not take the run is told with the way to go on."""
    try:
        yield
    except DiskError as error:
        raise DiskError(f"{error} Then: lockstep resume {directory.path}") from error


@dataclass(frozen=True)
class _Hearing:
    """Who is told of a run's events, and how often there is one at least."""

    callbacks: Iterable[Callback]
    listeners: Iterable[Listener]
    event_steps: int


@dataclass(frozen=True)
class _Ready:
    """A run that can be carried out: its data is there and its program built."""

    spec: RunSpec
    task: Task
    program: Program
    seconds: float  # that building the program took


def _make_ready(spec: RunSpec, own: Own | None, folder: Path | None = None) -> _Ready:
    framework = registry.get(spec.framework)
    check_own(spec, own, folder)
    task = assemble(spec, own)
    check_net(task)
    begin = time.perf_counter()
    program = framework.compile(task, spec)
    return _Ready(spec, task, program, time.perf_counter() - begin)


def _carry_out(
    ready: _Ready,
    collective: Collective,
    directory: RunDirectory | None,
    facts: dict[str, Any],
    snapshot: Snapshot | None,
    hearing: _Hearing,
    news: Iterable[Event] = (),
) -> Result:
    spec, task, program = ready.spec, ready.task, ready.program
    begin = time.perf_counter()
    initial = program.initial()
    if snapshot is not None:
        _require_fitting(snapshot, initial)
    state = program.load(snapshot or initial)
    log = directory.open_log(facts.get("step", 0)) if directory else None
    history = History()  # that of a folder is read from it at the end

    def save(run: Training, saved: Snapshot) -> None:
        if directory is not None and log is not None:
            host = _host_facts(run) | log.sync()
            path = checkpoints.save(directory.checkpoint_folder, run.step, saved, host)
            run.emit(CheckpointSaved(run.step, path.name))

    run = Training(
        task=task,
        spec=spec,
        program=program,
        state=state,
        rates=Rates(spec.schedule, spec.schedule_per, facts.get("rates")),
        listeners=[log or history, *hearing.listeners],
        save_snapshot=save,
        step=facts.get("step", 0),
        epochs_ended=facts.get("epochs_ended", 0),
        seconds=facts.get("seconds", 0.0),
        sums=EpochSums(*facts.get("sums", (0.0, 0))),
        event_steps=hearing.event_steps,
        collective=collective,
    )
    if run.step < run.num_steps:  # an epoch that an earlier limit cut short goes on
        run.epochs_ended = min(run.epochs_ended, run.step // run.steps_per_epoch)
    for callback in hearing.callbacks:
        run.listeners.append(partial(_call_back, callback, run))
    try:
        # what is not finite is found by looking at the loss, and told once
        with interruptible(run), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            outline = {**task.facts, "framework": spec.framework}
            run.emit(RunStarted(run.step, run.num_steps, run.steps_per_epoch, outline))
            for event in news:
                run.emit(event)
            if log is not None and log.lost_steps and "log_digest" in facts:  # 0.1 had none
                problem = f"the record of {log.lost_steps:,} steps is lost"
                run.emit(LogDamaged("steps.bin", problem))
            if not facts:
                run.save()  # where it began can be looked at, and gone back to
            program.prepare(state, task.plan.epoch(0))
            seconds = ready.seconds + time.perf_counter() - begin
            run.emit(ProgramCompiled(seconds, list(program.notes)))
            _train_together(run)
    finally:
        if log is not None:
            log.close()
    path = directory.path if directory else None
    if directory is not None:
        history = directory.history()
    return Result(spec, task, history, program.dump(run.state), run.status, path)


def _train_together(run: Training) -> None:
    """The loop; a run that loses one of its processes is saved as they all had it last."""
    try:
        train_loop(run)
    except Exception as error:
        if run.collective.world_size == 1:
            raise
        run.save()
        if "timed out" in str(error).lower():
            raise WaitedError(str(error)) from error
        raise


def _require_fitting(snapshot: Snapshot, initial: Snapshot) -> None:
    """Raise unless the snapshot's weights are the model's."""
    shapes, found = ({n: w.shape for n, w in s.weights.items()} for s in (initial, snapshot))
    if shapes != found:
        raise InputError("start", found, f"does not fit the model {shapes}", "Give its weights.")


def _call_back(callback: Callback, run: Training, event: Event) -> None:
    callback(event, run)


def _host_facts(run: Training) -> dict[str, Any]:
    return {
        "step": run.step,
        "epochs_ended": run.epochs_ended,
        "seconds": run.seconds,
        "sums": [run.sums.loss, run.sums.count],
        "rates": run.rates.to_dict(),
        "framework": run.spec.framework,
        "spec": run.spec.to_dict(),
    }


__all__ = ["Callback", "History", "Result", "Training", "resume", "train"]
