"""Workers in processes of their own: start them, receive their messages, and end them all."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from lockstep.errors import LockstepError
from lockstep.processes import interpreters
from lockstep.processes.child import INTERRUPTED, WAITED

LOG_LINES = 12  # how many of a worker's last log lines an error repeats
GRACE = 5.0  # seconds that a worker has to end by itself
# seconds to wait after the first failure, to tell the worker at fault from those that lost it
AFTERMATH = 1.0


class WorkerError(LockstepError):
    """A worker did not reach its end.

    `status`: missing or failed, mistakes that the worker itself reported in `message`, which is
    then the text; crashed or timed out, with `log` the last lines that it printed.
    """

    def __init__(
        self, worker: str, status: str, message: str, log: tuple[str, ...] = (), code: int = 2
    ) -> None:
        own = message if status in MISTAKES else f"{worker} {message}"
        super().__init__(own + "".join(f"\n  {line}" for line in log))
        self.status, self.message, self.log, self.exit_code = status, message, log, code


MISTAKES = ("missing", "failed")  # what a worker reports itself, for a person to read


@dataclass(frozen=True)
class Command:
    """What to start: `python -m module '{"json": ...}'`, called `name` in messages.

    What it prints goes to `log`, which messages point at, or to a file that goes with the worker.
    """

    name: str
    python: str
    module: str
    argument: dict[str, Any]
    log: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()  # between the module and its argument


class Workers:
    """The processes of some commands, alive inside `with`. Each has its log in `folder`."""

    def __init__(self, commands: Sequence[Command], folder: Path) -> None:
        self._commands, self._folder = commands, folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._lines: queue.Queue[tuple[int, bytes]] = queue.Queue()
        self._readers: list[threading.Thread] = []
        self._last_message: list[float] = []  # when each sent something last
        self._open: set[int] = set()  # those that may still send something
        # where this worker's part of the log begins: a resumed run appends to it
        self._log_starts = [_size(self._log(index)) for index in range(len(commands))]

    def interrupt(self, index: int) -> None:
        """Ask a worker to come to an end, as Ctrl-C does."""
        self._processes[index].send_signal(signal.SIGINT)

    def __enter__(self) -> Self:
        try:
            for index, command in enumerate(self._commands):
                self._processes.append(_start(command, self._log(index)))
        except BaseException:
            self._end()
            raise
        for index, process in enumerate(self._processes):
            reader = threading.Thread(target=self._read, args=(index, process.stdout), daemon=True)
            self._readers.append(reader)
            reader.start()
        self._last_message = [time.monotonic()] * len(self._processes)
        self._open = set(range(len(self._processes)))
        return self

    def __exit__(self, *stop: object) -> None:
        self._end()

    def messages(self, silence: float, timeout: float) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every message with the index of its worker, until all have ended without error.

        Each must send something every `silence` seconds, and all be done after `timeout`.
        """
        deadline = time.monotonic() + timeout
        while self._open:
            quiet = min(self._last_message[index] for index in self._open) + silence
            left = min(quiet, deadline) - time.monotonic()
            try:
                index, line = self._lines.get(timeout=max(left, 0.01))
            except queue.Empty:
                if time.monotonic() >= deadline:
                    index, what = self._stuck(0.0), f"was not done after {timeout:g} s"
                else:
                    index, what = self._stuck(silence / 2), f"sent nothing for {silence:g} s"
                raise self._error(index, "timed out", what) from None
            self._last_message[index] = time.monotonic()
            message = self._message(index, line)
            if message is not None:
                yield index, message

    # --- what comes in ----------------------------------------------------------------------------

    def _read(self, index: int, stream: IO[bytes]) -> None:
        for line in stream:
            self._lines.put((index, line))
        self._lines.put((index, b""))

    def _message(self, index: int, line: bytes) -> dict[str, Any] | None:
        """The message in a line; None if the worker has ended well. Whatever else, it failed."""
        if not line:
            self._open.discard(index)
            if self._code(index, GRACE) in (0, None):  # None: all was sent; it is ended by force
                return None
            raise self._failure(index)
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise self._failure(index)
        if "error" in message:
            status = "missing" if message["kind"] == "MissingError" else "failed"
            name, code = self._commands[index].name, message["exit_code"]
            raise WorkerError(name, status, message["error"], code=code)
        found: dict[str, Any] = message
        return found

    def _failure(self, index: int) -> WorkerError:
        """The error of the worker at fault: one that was killed rather than one that gave up, for
        the others fail because they lost it."""
        if len(self._processes) > 1:
            time.sleep(AFTERMATH)
        codes = {i: code for i in range(len(self._processes)) if (code := self._code(i, 0.1))}
        if not codes:
            return self._error(index, "crashed", "broke off in the middle of a message")
        index = min(codes, key=lambda i: (codes[i] > 0, i))
        if codes[index] == WAITED and len(codes) < len(self._processes):
            self._open -= codes.keys()
            return self._error(self._stuck(0.0), "timed out", "kept the others waiting")
        code = INTERRUPTED if codes[index] == INTERRUPTED else 1
        return self._error(index, "crashed", how_ended(codes[index]), code)

    def _stuck(self, seconds: float) -> int:
        """Of those silent for so long, the one that the others wait for: one that is stopped or
        running, if the system says so, else the one that has been silent longest."""
        now = time.monotonic()
        quiet = [index for index in self._open if now - self._last_message[index] >= seconds]
        return min(quiet, key=lambda i: (_patience(self._processes[i].pid), self._last_message[i]))

    def _code(self, index: int, grace: float) -> int | None:
        try:
            return self._processes[index].wait(grace)
        except subprocess.TimeoutExpired:
            return None

    def _error(self, index: int, status: str, what: str, code: int = 2) -> WorkerError:
        command, log, start = self._commands[index], self._log(index), self._log_starts[index]
        message = f"{what}; see {log}." if command.log else f"{what}."
        return WorkerError(command.name, status, message, last_lines(log, start=start), code)

    def _log(self, index: int) -> Path:
        return self._commands[index].log or self._folder / f"worker-{index}.log"

    # --- the end ----------------------------------------------------------------------------------

    def _end(self) -> None:
        """End all: by closing their stdin and asking, then by force."""
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + GRACE
        for process in self._processes:
            try:
                process.wait(max(0.01, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for reader in self._readers:
            reader.join(GRACE)
        for process in self._processes:
            if process.stdout is not None:
                process.stdout.close()


def collect(command: Command, timeout: float) -> dict[str, Any]:
    """All messages of one worker, merged."""
    answer: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory(prefix="lockstep-") as folder,
        Workers([command], Path(folder)) as workers,
    ):
        for _, message in workers.messages(timeout, timeout):
            answer |= message
    return answer


def last_lines(log: Path, count: int = LOG_LINES, start: int = 0) -> tuple[str, ...]:
    """The last lines of a worker's log, from byte `start` on, that say something."""
    try:
        text = log.read_bytes()[start:][-20_000:].decode("utf-8", "replace")
    except OSError:
        return ()
    return tuple([line.rstrip() for line in text.splitlines() if line.strip()][-count:])


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def _start(command: Command, log: Path) -> subprocess.Popen[bytes]:
    argument = json.dumps(command.argument)
    try:
        with log.open("ab") as errors:
            return subprocess.Popen(
                # -P: a file in the current folder must not stand in for a package
                [command.python, "-P", "-m", command.module, *command.options, argument],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**interpreters.variables(command.python), **command.variables},
                start_new_session=True,  # a terminal's Ctrl-C reaches it through its parent only
            )
    except OSError as error:
        message = (
            f"python = {command.python!r}: cannot be started ({error.strerror}). Check the path."
        )
        raise WorkerError(command.name, "missing", message) from error


def _patience(pid: int) -> int:
    """0 for a process that was stopped, 1 for one that runs, 2 for one that waits for something."""
    return {"T": 0, "t": 0, "R": 1}.get(process_state(pid), 2)


def how_ended(code: int) -> str:
    """What a process's exit code means."""
    if code > 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def process_state(pid: int) -> str:
    """The letter of its state: R running, S or D waiting, T or t stopped, Z or X ended; "" if it is
    gone, or the system does not say.

    >>> import os
    >>> process_state(os.getpid()) in ("R", "")
    True
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
