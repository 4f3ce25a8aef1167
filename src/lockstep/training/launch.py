"""The parent's side of a run in other processes: start them, follow its events, leave none behind.

A run on several devices that are processes has a worker for each. Rank 0 tells the events and
writes the run's directory; the others only give signs of life.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

from lockstep.errors import InputError
from lockstep.frameworks import threads
from lockstep.parallel.child import INTERRUPTED
from lockstep.parallel.children import Command, WorkerError, Workers
from lockstep.parallel.ranks import Rank, free_address
from lockstep.spec import RunSpec
from lockstep.training.directory import RunDirectory
from lockstep.training.events import Event, from_values

WORKER_VARIABLE = "LOCKSTEP_WORKER"  # set for a worker, which must not start workers of its own


def follow(
    directory: Path,
    *,
    python: str = sys.executable,
    silence: float = 300.0,
    timeout: float = 3600.0,
    event_steps: int = 0,
    spec: RunSpec | None = None,
    forward_interrupts: bool = False,
    num_processes: int = 1,
    strict: bool = False,
) -> Generator[Event, None, None]:
    """Carry out the run of `directory` in processes of its own, and give its events as they come.

    At most `silence` seconds may pass without an event, and `timeout` in all. However the loop over
    the events ends, the processes end too. What they printed is in DIRECTORY/worker.log (and
    worker-1.log, ...). The run goes on under `spec` if one is given, which the worker writes once
    it can be carried out. With `forward_interrupts` a first Ctrl-C lets the worker save its run and
    end by itself; one that had nothing to save yet ends in KeyboardInterrupt.
    """
    if os.environ.get(WORKER_VARIABLE):
        raise InputError(
            "worker", os.getpid(), "must not start workers of its own",
            "Put the calls of a script that defines a model under: if __name__ == '__main__'.",
        )  # fmt: skip
    job = {
        "directory": str(directory),
        "event_steps": event_steps,
        "spec": spec.to_dict() if spec else None,
        "strict": strict,
    }
    asked: list[int] = []  # signals that were handed on
    began = False
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        commands = _commands(job, python, directory, Path(folder), num_processes)
        try:
            with (
                Workers(commands, Path(folder)) as workers,
                _forwarding(workers, asked) if forward_interrupts else nullcontext(),
            ):
                for index, message in workers.messages(silence, timeout):
                    if index == 0 and message:  # an empty one is a sign of life
                        began = True
                        yield from_values(message)
        except WorkerError as error:
            if asked and (not began or error.exit_code == INTERRUPTED):
                raise KeyboardInterrupt from None
            raise


def _commands(
    job: dict[str, Any], python: str, directory: Path, folder: Path, num_processes: int
) -> list[Command]:
    module = "lockstep.training.worker"
    spec = RunSpec.from_dict(job["spec"]) if job["spec"] else RunDirectory(directory).spec
    variables = {WORKER_VARIABLE: "1"} | threads.share(spec.threads, num_processes)
    if num_processes == 1:
        log = directory / "worker.log"
        return [Command(spec.framework, python, module, job, log, variables)]
    store, address = str(folder / "store"), free_address()
    ranks = [
        Rank(rank, num_processes, rank, num_processes, store=store, address=address)
        for rank in range(num_processes)
    ]
    return [
        Command(
            f"rank {place.rank} of {num_processes}",
            python,
            module,
            job,
            directory / (f"worker-{place.rank}.log" if place.rank else "worker.log"),
            variables | place.variables(),
        )
        for place in ranks
    ]


@contextmanager
def _forwarding(workers: Workers, asked: list[int]) -> Iterator[None]:
    """While inside, the first SIGINT goes to the worker alone; the second ends the loop here."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        workers.interrupt(0)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
