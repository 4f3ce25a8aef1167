"""The one way to carry out a run: new or resumed, here or in other processes, on one device or
several.

`carry_out` decides which processes do it. Each of them, this one or a worker (run_worker.py), goes
through `carry_out_here`, which takes up the run where its folder says that it stands.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.errors import InputError
from lockstep.files import DiskError
from lockstep.frameworks import registry
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.frameworks.protocol import Program
from lockstep.ops import Snapshot
from lockstep.processes import ranks, threads
from lockstep.processes.child import WaitedError
from lockstep.processes.collective import Collective, NullCollective
from lockstep.processes.interrupts import first_interrupt
from lockstep.spec import RunSpec
from lockstep.task import Own, Task, assemble, check_net, check_own, refuse_other_file
from lockstep.training import checkpoints
from lockstep.training.audience import Audience, Callback, attended
from lockstep.training.checkpoints import Found
from lockstep.training.directory import RunDirectory, holds_run
from lockstep.training.early_stopping import taken_up
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
from lockstep.training.in_processes import (
    Launch,
    carry_out_in_processes,
    processes_needed,
)
from lockstep.training.interrupted import Rescue, moved
from lockstep.training.loop import train_loop
from lockstep.training.machine import machine_facts
from lockstep.training.rates import Rates
from lockstep.training.result import Result
from lockstep.training.run_state import EpochSums, Training


def carry_out(
    spec: RunSpec,
    own: Own | None,
    folder: Path | None,
    audience: Audience,
    *,
    start: Snapshot | None = None,
    launch: Launch = Launch(),  # noqa: B008 - frozen
    strict: bool = False,
    task: Task | None = None,
    rescue: Path | None = None,
) -> Result:
    """Carry out the rest of a run: from where `folder` holds it, else from `start` or the seed.

    `task` is the assembled task, where the caller has it already. With `rescue`, a run without a
    folder gets one below that if it is interrupted."""
    registry.check_known(spec.framework)
    with attended(audience, spec, folder) as (guarded, failures):
        result = _carry_out(spec, own, folder, guarded, start, launch, strict, task, rescue)
    for remark in failures:
        result.history(remark)
        if result.directory is not None:
            with suppress(DiskError):  # its listeners were told, and the history has it
                RunDirectory(result.directory).add(remark)
    return result


def _carry_out(
    spec: RunSpec,
    own: Own | None,
    folder: Path | None,
    audience: Audience,
    start: Snapshot | None,
    launch: Launch,
    strict: bool,
    task: Task | None,
    rescue: Path | None,
) -> Result:
    """In this process or in others, as the run needs."""
    num_processes = processes_needed(spec, launch)
    if not num_processes:
        how: dict[str, Any] = {"start": start, "strict": strict, "task": task, "rescue": rescue}
        return carry_out_here(spec, own, folder, audience, **how)
    if given := list(audience.callbacks):
        problem = "the run is carried out by another process, which a callback cannot reach into"
        raise InputError("callbacks", len(given), problem, "Use listeners, which get every event.")
    with ExitStack() as stack:
        place = folder
        if place is None:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lockstep-")))
        result = carry_out_in_processes(
            spec,
            task or _checked_task(spec, own),
            own,
            place,
            audience.listeners,
            event_steps=audience.event_steps,
            start=start,
            launch=launch,
            num_processes=num_processes,
            strict=strict,
            keep=folder is not None,
        )
        if folder is None and rescue is not None and result.status == "interrupted":
            return moved(result, place, rescue)
        return result


def carry_out_here(
    spec: RunSpec,
    own: Own | None,
    folder: Path | None,
    audience: Audience,
    *,
    start: Snapshot | None = None,
    strict: bool = False,
    task: Task | None = None,
    rescue: Path | None = None,
) -> Result:
    """Carry out the rest of a run in this process, which may be one of several of the run."""
    collective = join_processes(spec)
    held = RunDirectory(folder) if folder and holds_run(folder) else None
    with ExitStack() as stack:
        if held is not None:
            stack.enter_context(_writing(held))
        saved = checkpoints.newest_whole(held.checkpoint_folder, strict=strict) if held else Found()
        snapshot, facts = shared_checkpoint(collective, saved)
        changes = held.changes_since(facts, spec) if held else []
        task = task or _checked_task(spec, own, folder if held else None)
        if held is not None:
            refuse_other_file(held.path, task)
        framework, begin = registry.get(spec.framework), time.perf_counter()
        program = framework.compile(task, spec)
        seconds = time.perf_counter() - begin
        machine = machine_facts(framework)
        news: list[Event] = []
        if held is not None:
            held.record_machine(machine)
            if spec != held.spec:  # only now: a spec that cannot be carried out must not replace it
                held.replace_spec(spec)
            news = _news(saved, changes, log_unchanged=held.cut_log(facts))
        elif folder is not None:
            held = RunDirectory.create(folder, spec, machine, own, task)
            stack.enter_context(_writing(held))
        spare = Rescue(rescue, own) if held is None and rescue is not None else None
        begin_with = snapshot or start
        return _run(
            spec, task, program, seconds, collective, held, facts, begin_with, audience, news, spare
        )


def join_processes(spec: RunSpec) -> Collective:
    """Joins this process with those that it trains with; alone, it gets the run's devices."""
    place = ranks.current()
    if spec.devices == 1:
        return NullCollective()
    framework = registry.get(spec.framework)
    if place is None:
        framework.show_devices(spec.devices)
        return NullCollective()
    if spec.threads and threads.count() != spec.threads:
        problem = f"this process was started with {threads.COUNT}={threads.count()}"
        remedy = f"Start the processes with {threads.COUNT}={spec.threads}, or leave it out."
        raise InputError("threads", spec.threads, problem, remedy)
    if place.world_size != spec.devices:
        problem = f"there are {place.world_size} processes (WORLD_SIZE)"
        raise InputError("devices", spec.devices, problem, f"Give --devices {place.world_size}.")
    if framework.join is None:
        problem, remedy = "cannot be one of several processes", "Use torch or jax."
        raise InputError("framework", spec.framework, problem, remedy)
    return framework.join(place)


def shared_checkpoint(
    collective: Collective, saved: Found
) -> tuple[Snapshot | None, dict[str, Any]]:
    """Rank 0's checkpoint (and facts) in every process, wherever its file lies; None if none."""
    content = np.frombuffer(saved.path.read_bytes() if saved.path else b"", np.uint8).copy()
    size = int(collective.broadcast([np.array([len(content)])])[0][0])
    if not size or collective.world_size == 1:
        return saved.snapshot, saved.facts
    received = content if collective.rank == 0 else np.empty(size, np.uint8)
    shared = collective.broadcast([received])[0]
    if collective.rank == 0:
        return saved.snapshot, saved.facts
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        copy = Path(folder) / "checkpoint.safetensors"
        copy.write_bytes(shared.tobytes())
        return checkpoints.load(copy)


@contextmanager
def _writing(directory: RunDirectory) -> Iterator[None]:
    """This process alone writes the run; an error of the disk says how to continue it."""
    try:
        with directory.taken():
            yield
    except DiskError as error:
        raise DiskError(f"{error} Then: lockstep resume {directory.path}") from error


def _news(saved: Found, changes: list[str], *, log_unchanged: bool) -> list[Event]:
    """What a resumed run announces about how it continues."""
    step = saved.facts.get("step", 0)
    events: list[Event] = [CheckpointSkipped(n, p, step) for n, p in saved.damaged.items()]
    if not log_unchanged:
        events.append(LogDamaged("events.jsonl", "is not as it was when the state was saved"))
    return events + ([SpecChanged(step, changes)] if changes else [])


def _checked_task(spec: RunSpec, own: Own | None, folder: Path | None = None) -> Task:
    check_own(spec, own, folder)
    task = assemble(spec, own)
    check_net(task, NumpyOps("float64"))
    return task


def _run(
    spec: RunSpec,
    task: Task,
    program: Program,
    seconds: float,
    collective: Collective,
    directory: RunDirectory | None,
    facts: dict[str, Any],
    snapshot: Snapshot | None,
    audience: Audience,
    news: Iterable[Event],
    rescue: Rescue | None,
) -> Result:
    """The steps that are left, with every event recorded; building the program took `seconds`."""
    begin = time.perf_counter()
    initial = program.initial()
    if snapshot is not None:
        _require_fitting(snapshot, initial)
    state = program.load(snapshot or initial)
    log = directory.open_log(facts.get("step", 0)) if directory else None
    history = History()  # that of a folder is read from it at the end

    def save(run: Training, saved: Snapshot) -> None:
        nonlocal directory, log
        if directory is None and rescue is not None:
            directory, log = rescue.folder(run, history)
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
        listeners=[log or history, *([rescue] if rescue else []), *audience.listeners],
        save_snapshot=save,
        step=facts.get("step", 0),
        epochs_ended=facts.get("epochs_ended", 0),
        seconds=facts.get("seconds", 0.0),
        sums=EpochSums(*facts.get("sums", (0.0, 0))),
        event_steps=audience.event_steps,
        best=taken_up(spec, facts, snapshot),
        collective=collective,
        folder=directory.path if directory else None,
    )
    if run.step < run.num_steps:  # an epoch that an earlier limit cut short continues
        run.epochs_ended = min(run.epochs_ended, run.step // run.steps_per_epoch)
    for callback in audience.callbacks:
        run.listeners.append(partial(_call_back, callback, run))
    try:
        # a loss that is not finite is found by looking at it, and reported once
        quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")
        with first_interrupt(run.interrupt), quiet:
            outline = {**task.facts, "framework": spec.framework}
            if spec.patience:
                outline["watch"] = spec.watched
            run.emit(RunStarted(run.step, run.num_steps, run.steps_per_epoch, outline))
            for event in news:
                run.emit(event)
            if log is not None and log.lost_steps and "log_digest" in facts:  # 0.1 had none
                problem = f"the record of {log.lost_steps:,} steps is lost"
                run.emit(LogDamaged("steps.bin", problem))
            if not facts:
                run.save()  # the state at the start can be looked at, and returned to
            program.prepare(state, task.plan.epoch(0))
            seconds += time.perf_counter() - begin
            run.emit(ProgramCompiled(seconds, list(program.notes)))
            _train_together(run)
    finally:
        if log is not None:
            log.close()
    path = directory.path if directory else None
    if directory is not None:
        history = directory.history()
    return Result(spec, task, history, run.snapshot(), run.status, path)


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
    best = {"best": run.best.to_dict()} if run.best is not None else {}
    return best | {
        "step": run.step,
        "epochs_ended": run.epochs_ended,
        "seconds": run.seconds,
        "sums": [run.sums.loss, run.sums.count],
        "rates": run.rates.to_dict(),
        "framework": run.spec.framework,
        "spec": run.spec.to_dict(),
    }
