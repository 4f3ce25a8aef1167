"""Training: one loop, its events, checkpoints, run directories and results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from lockstep.assemble import assemble
from lockstep.frameworks import registry
from lockstep.frameworks.protocol import Snapshot
from lockstep.own_task import Own
from lockstep.spec import RunSpec
from lockstep.training import checkpoints
from lockstep.training.directory import EventLog, RunDirectory, find
from lockstep.training.events import CheckpointSaved, Event, ProgramCompiled, RunStarted
from lockstep.training.history import History
from lockstep.training.interrupt import interruptible
from lockstep.training.loop import train_loop
from lockstep.training.machine import machine_facts
from lockstep.training.own_arrays import load_own, save_own
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
) -> Result:
    """Carry out a run. With `out`, everything about it is kept in that folder.

    A callback gets every event and the run under way: `training.set_lr(0.1)`, `training.stop()`.
    `event_steps` bounds how many steps pass between two events. `start` replaces the weights drawn
    from the seed.
    """
    framework = registry.get(spec.framework)
    if out is None:
        return _carry_out(spec, own, None, {}, start, callbacks, listeners, event_steps)
    directory = RunDirectory.create(Path(out), spec, machine_facts(framework))
    if own is not None:
        save_own(directory.path, own)
    return _carry_out(spec, own, directory, {}, start, callbacks, listeners, event_steps)


def resume(
    run: str | Path,
    own: Own | None = None,
    *,
    spec: RunSpec | None = None,
    callbacks: Iterable[Callback] = (),
    listeners: Iterable[Listener] = (),
    event_steps: int = 0,
) -> Result:
    """Go on with a run at the exact step of its last checkpoint; from the start if it has none.

    `spec` continues it under changed settings: another framework, more epochs.
    """
    directory = find(run)
    if spec is not None:
        directory.replace_spec(spec)
    spec = directory.spec
    own = own or load_own(directory.path, spec)
    path = checkpoints.newest(directory.checkpoint_folder)
    snapshot, facts = checkpoints.load(path) if path else (None, {})
    directory.cut_log(facts.get("log_size", 0))
    return _carry_out(spec, own, directory, facts, snapshot, callbacks, listeners, event_steps)


def _carry_out(
    spec: RunSpec,
    own: Own | None,
    directory: RunDirectory | None,
    facts: dict[str, Any],
    snapshot: Snapshot | None,
    callbacks: Iterable[Callback],
    listeners: Iterable[Listener],
    event_steps: int,
) -> Result:
    history = History(directory.events() if directory else ())
    log = EventLog(directory) if directory else None
    task = assemble(spec, own)
    begin = time.perf_counter()
    program = registry.get(spec.framework).compile(task, spec)
    state = program.load(snapshot or program.initial())

    def save(run: Training, saved: Snapshot) -> None:
        if directory is not None:
            host = _host_facts(run) | {"log_size": directory.log_size()}
            path = checkpoints.save(directory.checkpoint_folder, run.step, saved, host)
            run.emit(CheckpointSaved(run.step, path.name))

    run = Training(
        task=task,
        spec=spec,
        program=program,
        state=state,
        rates=Rates(spec.schedule, spec.schedule_per, facts.get("rates")),
        listeners=[*([log] if log else []), history, *listeners],
        save_snapshot=save,
        step=facts.get("step", 0),
        epochs_ended=facts.get("epochs_ended", 0),
        seconds=facts.get("seconds", 0.0),
        sums=EpochSums(*facts.get("sums", (0.0, 0))),
        event_steps=event_steps,
    )
    for callback in callbacks:
        run.listeners.append(partial(_call_back, callback, run))
    try:
        run.emit(RunStarted(run.step, run.num_steps, run.steps_per_epoch, dict(task.facts)))
        program.prepare(state, task.plan.epoch(0))
        run.emit(ProgramCompiled(time.perf_counter() - begin, list(program.notes)))
        with interruptible(run):
            train_loop(run)
    finally:
        if log is not None:
            log.close()
    path = directory.path if directory else None
    return Result(spec, task, history, program.dump(run.state), run.status, path)


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
    }


__all__ = ["Callback", "History", "Result", "Training", "resume", "train"]
