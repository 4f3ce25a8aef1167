"""Carrying out a run: `train` begins a new one, `resume` continues one.

Both settle what is to be done and who looks on. carry_out.py does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from lockstep.frameworks import registry
from lockstep.frameworks.fastest import resolve_fastest
from lockstep.ops import Snapshot
from lockstep.processes import ranks
from lockstep.showing import following
from lockstep.spec import RunSpec
from lockstep.task import Own, assemble, check_own, load_own, refuse_other_file
from lockstep.training import checkpoints
from lockstep.training.audience import Audience, Callback, Listener
from lockstep.training.carry_out import carry_out
from lockstep.training.directory import RunDirectory, find, holds_run, refuse_taken
from lockstep.training.early_stopping import is_over, taken_up
from lockstep.training.events import (
    RunStarted,
)
from lockstep.training.in_processes import (
    Launch,
    as_launch,
)
from lockstep.training.result import Result

RUNS = Path("runs")  # has an interrupted run that was given no folder


def train(
    spec: RunSpec,
    own: Own | None = None,
    *,
    out: str | Path | None = None,
    callbacks: Iterable[Callback] = (),
    listeners: Iterable[Listener] = (),
    event_steps: int = 0,
    start: Snapshot | None = None,
    launch: Launch | str = "auto",
    progress: bool | None = None,
) -> Result:
    """Carry out a run. With `out`, everything about it is kept in that folder; without, only a run
    that is interrupted is kept, below runs/, so that it can be resumed.

    In a terminal or a notebook the run shows how far it is; `progress` False silences it, True
    shows it elsewhere too. The framework "fastest" is the fastest of those usable here, and the
    result's spec names it. A callback gets every event and the run under way:
    `training.set_lr(0.1)`, `training.stop()`. With `event_steps` there is an event at every
    multiple of it, besides others. `start` replaces the weights drawn from the seed. A framework
    that is not installed here runs in its own environment (`lockstep env create NAME`), and a run
    on several devices may need processes of its own (always with `launch` "processes"): both are
    out of reach of callbacks. When torchrun has restarted its processes, the run that `out` holds
    is continued.
    """
    spec = resolve_fastest(spec)
    place = ranks.current()
    folder = Path(out) if out is not None and (spec.devices == 1 or ranks.is_first()) else None
    if folder is not None and place is not None and place.restarts and holds_run(folder):
        RunDirectory(folder).refuse_other(spec)
    elif folder is not None:
        refuse_taken(folder, spec)  # at once, not after the data is loaded
    audience = Audience(callbacks, listeners, event_steps)
    rescue = RUNS if out is None and ranks.is_first() else None
    with _followed(spec, progress, audience) as (shown, tell):
        how: dict[str, Any] = {"start": start, "launch": as_launch(launch), "rescue": rescue}
        return tell(carry_out(spec, own, folder, shown, **how))


def resume(
    run: str | Path,
    own: Own | None = None,
    *,
    spec: RunSpec | None = None,
    callbacks: Iterable[Callback] = (),
    listeners: Iterable[Listener] = (),
    event_steps: int = 0,
    launch: Launch | str = "auto",
    strict: bool = False,
    progress: bool | None = None,
) -> Result:
    """Continue a run at the exact step of its last checkpoint; from the start if it has none.

    `spec` continues it under changed settings: another framework, more devices or epochs. A run
    that has nothing left to do is left as it is: the result's `ran` is False. A checkpoint that is
    damaged is skipped for the one before, with an event that says so; with `strict` it is an error.
    `progress` is as in `train`.
    """
    directory = find(run)
    spec = resolve_fastest(spec or directory.spec)
    registry.check_known(spec.framework)
    directory.refuse_other(spec)
    own = own or load_own(directory.path, spec)
    if done := _completed(directory, spec, own):
        return done
    folder = directory.path if spec.devices == 1 or ranks.is_first() else None
    audience = Audience(callbacks, listeners, event_steps)
    with _followed(spec, progress, audience) as (shown, tell):
        return tell(carry_out(spec, own, folder, shown, launch=as_launch(launch), strict=strict))


@contextmanager
def _followed(
    spec: RunSpec, progress: bool | None, audience: Audience
) -> Iterator[tuple[Audience, Callable[[Result], Result]]]:
    """The audience with what shows the progress, and what tells that of the result."""
    asked = progress if ranks.is_first() else False
    with following("run_follower", asked, spec) as follower:
        if follower is None:
            yield audience, lambda result: result
            return

        def tell(result: Result) -> Result:
            if how := result.how_to_continue:
                follower.print(how)
            return result

        yield replace(audience, listeners=[*audience.listeners, follower]), tell


def _completed(directory: RunDirectory, spec: RunSpec, own: Own | None) -> Result | None:
    """The outcome of a run that is completed as `spec` asks; None if there is something to do.

    It is completed when its last checkpoint has all its steps. The result has the spec under which
    the run was carried out.
    """
    path = checkpoints.newest(directory.checkpoint_folder)
    if path is None or directory.status != "completed":
        return None
    started = [event for event in directory.events([]) if isinstance(event, RunStarted)]
    snapshot, facts = checkpoints.load(path)
    if not started or "epochs_ended" not in facts:
        return None
    steps_per_epoch = started[-1].steps_per_epoch
    over = is_over(spec, taken_up(spec, facts, snapshot))
    total = spec.epochs * steps_per_epoch
    wanted = min(total, spec.max_steps) if spec.max_steps else total
    left = facts["epochs_ended"] * steps_per_epoch < wanted or facts["step"] < wanted
    if left and not over:
        return None
    before = directory.spec
    check_own(before, own, directory.path)
    task = assemble(spec, own)  # a file may have moved
    refuse_other_file(directory.path, task)
    history = directory.history()
    return Result(before, task, history, snapshot, "completed", directory.path, ran=False)
