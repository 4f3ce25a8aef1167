"""The parent's side of a worker: start it, follow its events, and never leave it behind."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import IO

from lockstep.errors import InputError, LockstepError
from lockstep.frameworks import environments
from lockstep.parallel.children import GRACE, how_ended, last_lines
from lockstep.spec import RunSpec
from lockstep.training.events import Event, from_json
from lockstep.training.worker import INTERRUPTED, WORKER_VARIABLE


class WorkerError(LockstepError):
    """A worker did not come to its end. `status`: missing, failed, crashed or timed out.

    `missing` and `failed` are mistakes that the worker itself told; `log` holds the last lines it
    printed, for the others.
    """

    def __init__(self, status: str, message: str, log: tuple[str, ...] = (), code: int = 2) -> None:
        super().__init__(message)
        self.status, self.message, self.log, self.exit_code = status, message, log, code


def follow(
    directory: Path,
    *,
    python: str = sys.executable,
    silence: float = 300.0,
    timeout: float = 3600.0,
    event_steps: int = 0,
    spec: RunSpec | None = None,
    forward_interrupts: bool = False,
) -> Generator[Event, None, None]:
    """Carry out the run of `directory` in a process of its own, and give its events as they come.

    At most `silence` seconds may pass without an event, and `timeout` in all. However the loop over
    the events ends, the process ends too. What it printed is in DIRECTORY/worker.log. The run goes
    on under `spec` if one is given, which the worker writes once it can be carried out. With
    `forward_interrupts` a first Ctrl-C lets the worker save its run and end by itself; one that had
    nothing to save yet ends in KeyboardInterrupt.
    """
    if os.environ.get(WORKER_VARIABLE):
        raise InputError(
            "worker", os.getpid(), "must not start workers of its own",
            "Put the calls of a script that defines a model under: if __name__ == '__main__'.",
        )  # fmt: skip
    log = directory / "worker.log"
    process = _start(directory, python, log, event_steps, spec)
    lines: queue.Queue[bytes] = queue.Queue()
    reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
    reader.start()
    asked: list[int] = []  # signals that were handed on
    began = False
    try:
        with _forwarding(process, asked) if forward_interrupts else nullcontext():
            for event in _events(process, lines, log, silence, timeout):
                began = True
                yield event
    except WorkerError:
        if asked and (not began or process.poll() == INTERRUPTED):
            raise KeyboardInterrupt from None
        raise
    finally:
        _end(process)
        reader.join(GRACE)
        if process.stdout is not None:
            process.stdout.close()


def _start(
    directory: Path, python: str, log: Path, event_steps: int, spec: RunSpec | None
) -> subprocess.Popen[bytes]:
    # -P: a file in the current folder must not stand in for a package
    command = [python, "-P", "-m", "lockstep.training.worker", str(directory), str(event_steps)]
    if spec is not None:
        command.append(json.dumps(spec.to_dict()))
    try:
        with log.open("ab") as errors:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environments.variables(python) | {WORKER_VARIABLE: "1"},
                start_new_session=True,  # a terminal's Ctrl-C reaches it through its parent only
            )
    except OSError as error:
        message = f"python = {python!r}: cannot be started ({error.strerror}). Check the path."
        raise WorkerError("missing", message) from error


@contextmanager
def _forwarding(process: subprocess.Popen[bytes], asked: list[int]) -> Iterator[None]:
    """While inside, the first SIGINT goes to the worker alone; the second ends the loop here."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        process.send_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _read(stream: IO[bytes], lines: queue.Queue[bytes]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(b"")


def _events(
    process: subprocess.Popen[bytes],
    lines: queue.Queue[bytes],
    log: Path,
    silence: float,
    timeout: float,
) -> Iterator[Event]:
    deadline = time.monotonic() + timeout
    while True:
        left = deadline - time.monotonic()
        try:
            if left <= 0:
                raise queue.Empty
            line = lines.get(timeout=min(silence, left))
        except queue.Empty:
            took = f"gave no sign for {silence:g} s" if left > silence else ""
            what = took or f"was not done after {timeout:g} s"
            message = f"{what}. Allow it more time, or see {log}."
            raise WorkerError("timed out", message, last_lines(log)) from None
        if not line:
            break
        yield _event(line, log)
    _check_end(process, log)


def _event(line: bytes, log: Path) -> Event:
    """The event in a line; the line that tells of a mistake is raised as one."""
    text = line.decode("utf-8", "replace")
    try:
        values = json.loads(text) if line.endswith(b"\n") else None
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise WorkerError("crashed", f"broke off in mid-sentence; see {log}.", last_lines(log))
    if "error" in values:
        status = "missing" if values.get("kind") == "MissingError" else "failed"
        raise WorkerError(status, values["error"], code=values.get("exit_code", 2))
    return from_json(text)


def _check_end(process: subprocess.Popen[bytes], log: Path) -> None:
    try:
        code = process.wait(GRACE)
    except subprocess.TimeoutExpired:
        return  # all its events are here; it is ended by force
    if code:
        raise WorkerError("crashed", f"{how_ended(code)}; see {log}.", last_lines(log), 1)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and reap it: first by closing its stdin, then by force."""
    if process.stdin is not None:
        process.stdin.close()
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
