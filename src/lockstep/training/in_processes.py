"""A run in processes of its own: start them, follow its events, read what they leave, leave no
process behind.

Each process is a worker (run_worker.py). Rank 0 reports the events and writes the run's folder; the
others only give signs of life. torchrun may start the workers instead, on one machine or several.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lockstep.checks import one_of
from lockstep.errors import InputError, LockstepError, RunDirectoryError, StartedError
from lockstep.frameworks import environments, registry
from lockstep.ops import Snapshot
from lockstep.processes import ranks, threads
from lockstep.processes.child import INTERRUPTED
from lockstep.processes.children import GRACE, MISTAKES, Command, WorkerError, Workers
from lockstep.processes.interrupts import first_interrupt
from lockstep.processes.ranks import Rank, free_address, patience
from lockstep.spec import RunSpec
from lockstep.task import Own, Task
from lockstep.training import checkpoints
from lockstep.training.directory import RunDirectory, holds_run
from lockstep.training.events import Event, RunInterrupted, from_values
from lockstep.training.machine import machine_facts
from lockstep.training.result import Result

LAUNCHES = ("auto", "processes", "torchrun")
WORKER = "lockstep.training.run_worker"
WORKER_VARIABLE = "LOCKSTEP_WORKER"  # set for a worker, which must not start workers of its own
MONTH = 30 * 24 * 3600.0  # seconds: a run may take days
SILENCE = 3600.0  # seconds without an event: covers the longest compilation
# the files of a run before its first event
BEGINNINGS = (
    "spec.toml",
    "machine.json",
    "own.safetensors",
    "model.txt",
    "data.json",
    "worker.log",
    "steps.bin",
    "lock",
)

Listener = Callable[[Event], None]


@dataclass(frozen=True)
class Launch:
    """How the processes of a run are started, and how long they are waited for.

    "auto": other processes only where the framework or the run needs them; "processes": one for
    each device; "torchrun": the same by torch's own launcher, on `nodes` machines. `apart`: never
    in this process. `python` is the interpreter, the framework's own unless given.
    """

    how: str = "auto"
    nodes: int = 1
    node_rank: int = 0
    rendezvous: str = ""  # host:port of node 0
    max_restarts: int = 0
    apart: bool = False
    python: str = ""
    silence: float = 0.0  # seconds without an event; 0: as the run needs
    timeout: float = MONTH

    def __post_init__(self) -> None:
        one_of("launch", self.how, LAUNCHES)


def as_launch(launch: Launch | str) -> Launch:
    """
    >>> as_launch("processes").how
    'processes'
    """
    return Launch(launch) if isinstance(launch, str) else launch


def processes_needed(spec: RunSpec, launch: Launch) -> int:
    """How many other processes must carry out a run; 0 if this one can, or is one of them."""
    several = spec.devices > 1
    other_threads = spec.threads > 0 and not threads.are(spec.threads)
    each = launch.how != "auto" or registry.devices_are_processes(spec.framework)
    if launch.how == "torchrun" and ranks.current() is None:
        return spec.devices
    if launch.apart or not registry.is_installed(spec.framework):
        return spec.devices if each else 1
    if ranks.current() is not None:
        return 0
    if not several:
        return int(other_threads)
    if each:
        return spec.devices
    if other_threads:
        return 1
    try:
        registry.get(spec.framework).show_devices(spec.devices)
    except StartedError:
        return 1
    return 0


def carry_out_in_processes(
    spec: RunSpec,
    task: Task,
    own: Own | None,
    folder: Path,
    listeners: Iterable[Listener],
    *,
    event_steps: int,
    start: Snapshot | None,
    launch: Launch,
    num_processes: int,
    strict: bool,
    keep: bool,
) -> Result:
    """Carry out the rest of a run; one that `folder` does not hold yet begins there.

    Unless `keep`, the folder is not part of the result. A new run that is refused before its first
    event leaves nothing, as it does when it is refused in this process."""
    _check_found(own)
    launch = _with_python(launch, spec)  # before anything is written
    is_new = not holds_run(folder)
    if is_new:
        if start is not None:  # before the spec, which makes the folder a run
            checkpoints.save(folder / "checkpoints", 0, start, {})
        RunDirectory.create(folder, spec, machine_facts(), own, task)
    directory = RunDirectory(folder)
    began = False
    listening = list(listeners)
    try:
        events = follow(folder, spec, launch, num_processes, event_steps=event_steps, strict=strict)
        with closing(events):
            for event in events:
                began = True
                for listener in listening:
                    listener(event)
    except WorkerError as error:
        if is_new and not began and error.status in MISTAKES:
            _remove(directory)
        raise
    path = checkpoints.newest(directory.checkpoint_folder)
    if path is None:
        raise LockstepError(f"run = {str(folder)!r}: left no checkpoint. See its worker.log.")
    snapshot, history = checkpoints.load(path)[0], directory.history()
    return Result(spec, task, history, snapshot, directory.status, folder if keep else None)


def _check_found(own: Own | None) -> None:
    """Refuse a model, a loss or a metric that is in no file, where the processes would find it."""
    if own is None:
        return
    problem = "the run is carried out by another process, which cannot be given"
    remedy = "Define it over Ops with def at the top of a .py file."
    if own.native is not None or not own.reference:
        raise InputError("model", "own", f"{problem} the model", remedy)
    for text in own.functions:
        name, _, reference = text.partition("=")
        if not reference:
            field = name if name == "loss" else "metrics"
            raise InputError(field, name, f"{problem} the function", remedy)


def take_part(spec: RunSpec, launch: Launch) -> None:
    """Start the processes of this machine in a run that node 0 writes."""
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        for _ in follow(Path(folder), spec, launch, spec.devices):
            pass


def _with_python(launch: Launch, spec: RunSpec) -> Launch:
    return replace(launch, python=launch.python or environments.interpreter(spec.framework))


def follow(
    folder: Path,
    spec: RunSpec,
    launch: Launch,
    num_processes: int = 1,
    *,
    event_steps: int = 0,
    strict: bool = False,
) -> Generator[Event, None, None]:
    """Start the processes of the run that `folder` holds and give its events as they come.

    However the loop over the events ends, the processes end too. What they print goes to the
    folder: worker.log, worker-1.log, ... A first Ctrl-C lets the run be saved and end by itself;
    one that had nothing to save yet ends in KeyboardInterrupt.
    """
    if os.environ.get(WORKER_VARIABLE):
        problem = "must not start workers of its own"
        remedy = "Put the calls of a script that defines a model under: if __name__ == '__main__'."
        raise InputError("worker", os.getpid(), problem, remedy)
    launch = _with_python(launch, spec)
    job = {
        "directory": str(folder),
        "spec": spec.to_dict(),
        "event_steps": event_steps,
        "strict": strict,
    }
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        workers.interrupt(0)

    last: Event | None = None
    # the processes of a run give up first: they know which of them kept the others waiting
    silence = launch.silence or (SILENCE if num_processes == 1 else 2 * patience() + GRACE)
    with tempfile.TemporaryDirectory(prefix="lockstep-") as meeting:
        if launch.how == "torchrun":
            commands = [_torchrun_command(job, spec, launch, folder)]
            silence = launch.silence or launch.timeout  # of other machines there is no sign of life
        else:
            commands = _commands(job, spec, launch.python, num_processes, folder, Path(meeting))
        try:
            with Workers(commands, Path(meeting)) as workers, first_interrupt(interrupt):
                for index, message in workers.messages(silence, launch.timeout):
                    if index == 0 and message:  # an empty one is a sign of life
                        last = from_values(message)
                        yield last
        except WorkerError as error:
            if interrupted and isinstance(last, RunInterrupted):
                return
            if interrupted and (last is None or error.exit_code == INTERRUPTED):
                raise KeyboardInterrupt from None
            raise


def _commands(
    job: dict[str, Any], spec: RunSpec, python: str, num_processes: int, logs: Path, meeting: Path
) -> list[Command]:
    variables = {WORKER_VARIABLE: "1"} | threads.share(spec.threads, num_processes)
    if num_processes == 1:
        log = logs / "worker.log"
        return [Command(spec.framework, python, WORKER, job, log, variables)]
    store, address = str(meeting / "store"), free_address()
    places = [
        Rank(rank, num_processes, rank, num_processes, store=store, address=address)
        for rank in range(num_processes)
    ]
    return [
        Command(
            f"rank {place.rank} of {num_processes}",
            python,
            WORKER,
            job,
            logs / (f"worker-{place.rank}.log" if place.rank else "worker.log"),
            variables | place.variables(),
        )
        for place in places
    ]


def _torchrun_command(job: dict[str, Any], spec: RunSpec, launch: Launch, logs: Path) -> Command:
    _check_torchrun(spec, launch)
    local = spec.devices // launch.nodes
    if launch.nodes > 1:  # static: c10d would number the nodes as they come
        meeting = ["--rdzv-backend=static", f"--rdzv-endpoint={launch.rendezvous}"]
    else:
        place = launch.rendezvous or "127.0.0.1:0"
        meeting = ["--rdzv-backend=c10d", f"--rdzv-endpoint={place}", "--local-addr=127.0.0.1"]
    options = [
        f"--nnodes={launch.nodes}",
        f"--node-rank={launch.node_rank}",
        f"--nproc-per-node={local}",
        f"--max-restarts={launch.max_restarts}",
        *meeting,
        "--module",
        WORKER,
    ]
    # its own default of one thread is announced at length
    variables = threads.share(spec.threads, local) | {WORKER_VARIABLE: "1", "PYTHONSAFEPATH": "1"}
    module, log = "torch.distributed.run", logs / "worker.log"
    return Command("torchrun", launch.python, module, job, log, variables, tuple(options))


def _check_torchrun(spec: RunSpec, launch: Launch) -> None:
    if not registry.devices_are_processes(spec.framework):
        remedy = "Use --launch processes, or --framework torch."
        raise InputError("launch", "torchrun", f"does not start {spec.framework}", remedy)
    if launch.nodes < 1 or spec.devices % launch.nodes:
        problem = f"does not divide {spec.devices} devices"
        raise InputError("nodes", launch.nodes, problem, "Give as many devices on each machine.")
    if not 0 <= launch.node_rank < launch.nodes:
        remedy = f"Give 0 to {launch.nodes - 1}."
        raise InputError("node_rank", launch.node_rank, f"there are {launch.nodes} nodes", remedy)
    if launch.nodes > 1 and not launch.rendezvous:
        remedy = "Give --rendezvous HOST:PORT of node 0."
        raise InputError("nodes", launch.nodes, "no address is given at which they meet", remedy)


def _remove(directory: RunDirectory) -> None:
    """Remove the folder of a run that could not begin."""
    folder = directory.path
    start = directory.checkpoint_folder / "step-000000000.safetensors"
    with suppress(RunDirectoryError), directory.taken():  # unless another process has begun it
        for name in (*BEGINNINGS, start):
            (folder / name).unlink(missing_ok=True)
    for empty in (directory.checkpoint_folder, folder):
        with suppress(OSError):  # other files in it were there before
            empty.rmdir()
