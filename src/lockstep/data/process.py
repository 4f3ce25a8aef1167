"""Run another program within a time limit and say in one line why it failed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lockstep.data.editions import PlaceError


def run(command: Sequence[str], folder: Path, seconds: float) -> None:
    """Run `command` in `folder`; PlaceError if it is missing, fails or takes over `seconds`.

    >>> run(["true"], Path("."), 5)
    >>> run(["sleep", "5"], Path("."), 0.1)
    Traceback (most recent call last):
        ...
    lockstep.data.editions.PlaceError: sleep did not finish in 0.1 s
    """
    name = "pip" if command[1:3] == ["-m", "pip"] else Path(command[0]).name
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,  # its own children end with it
            )
        except OSError as error:
            raise PlaceError(f"{name} cannot be started ({error.strerror})") from None
        try:
            code = process.wait(timeout=max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            raise PlaceError(f"{name} did not finish in {seconds:.3g} s") from None
        finally:
            _end(process)
        if code:
            log.seek(0)
            raise PlaceError(f"{name} failed ({_reason(log.read(), code)})")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _reason(output: bytes, code: int) -> str:
    """The last line that calls itself an error, else the last line."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line]
    errors = [line for line in lines if line.startswith(("E:", "ERROR"))]
    return (errors or lines or [f"exit code {code}"])[-1]
