"""Settings in processes of their own, several at a time: each an ordinary run with its folder.

A run that its folder holds already is taken up there, so a sweep that was stopped or killed loses
little. What a worker is, and how it is followed, is in training/in_processes.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from lockstep.errors import LockstepError
from lockstep.processes import threads
from lockstep.processes.children import WorkerError
from lockstep.spec import RunSpec
from lockstep.sweeps.sweep_folder import SweepFolder
from lockstep.sweeps.trials import Trial
from lockstep.task import Own
from lockstep.training.audience import Audience
from lockstep.training.carry_out import carry_out
from lockstep.training.directory import RunDirectory, holds_run
from lockstep.training.events import Event, RunStarted, StepsCompleted
from lockstep.training.in_processes import Launch

Planned = tuple[dict[str, Any], RunSpec]
Report = Callable[[str, float], None]  # a setting's hash, and the share of its run that is done


class Stopped(LockstepError):
    """The sweep was stopped; the worker's run is taken up by the next sweep."""


def carry_out_in_workers(
    planned: Sequence[Planned],
    own: Own | None,
    folder: SweepFolder,
    processes: int,
    stop: threading.Event,
    report: Report,
) -> Iterator[Trial]:
    """Every setting when it is done. `stop` ends the workers at their next event."""
    share = max(1, threads.available() // processes)
    with ThreadPoolExecutor(processes) as pool:
        waiting: set[Future[Trial]] = {
            pool.submit(_trial, each, own, folder, share, stop, report) for each in planned
        }
        try:
            while waiting:
                # a short wait: Ctrl-C is noticed in between
                ended, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in ended:
                    trial = future.result()
                    if trial.status != "stopped":
                        yield trial
        except BaseException:
            stop.set()
            for future in waiting:
                future.cancel()
            raise


def _trial(
    planned: Planned,
    own: Own | None,
    folder: SweepFolder,
    share: int,
    stop: threading.Event,
    report: Report,
) -> Trial:
    settings, spec = planned
    path = folder.run_folder(spec)

    def listen(event: Event) -> None:
        if stop.is_set():
            raise Stopped("stopped")
        if isinstance(event, RunStarted):
            listen.total = max(1, event.num_steps)  # type: ignore[attr-defined]
        elif isinstance(event, StepsCompleted):
            report(spec.hash, (event.step + len(event.loss)) / listen.total)  # type: ignore[attr-defined]

    if stop.is_set():
        return Trial(settings, spec, "stopped")
    ended = holds_run(path) and RunDirectory(path).status in ("completed", "diverged")
    try:
        if not ended:
            # not the sweep's own threads: each worker has its part of the cores
            asked = spec if spec.threads else replace(spec, threads=share)
            carry_out(asked, own, path, Audience(listeners=[listen]), launch=Launch(apart=True))
    except Stopped:
        return Trial(settings, spec, "stopped")
    except WorkerError as error:
        return Trial(settings, spec, "failed", problem=str(error))
    directory = RunDirectory(path)
    history = directory.history()
    report(spec.hash, 1.0)
    losses = history[:, "loss"] if len(history) else None
    known = {} if losses is None else {"losses": losses}
    return Trial(settings, spec, directory.status, history.metrics, history.seconds, **known)
