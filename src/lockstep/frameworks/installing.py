"""Making and removing a framework's environment: venv, pip, and the marker that comes last."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lockstep.errors import LockstepError, MissingError
from lockstep.files import disk_error, write_whole
from lockstep.frameworks import registry
from lockstep.frameworks.environments import (
    CONSTRAINTS,
    MARKER,
    Environment,
    digest,
    folder,
    names,
)

SECONDS = 3600.0  # for one installation: gigabytes, on a slow line

Report = Callable[[float, str], None]  # the part done, from 0 to 1, and what is being done


class EnvironmentFailed(LockstepError):
    """An environment could not be made or removed."""


def create(name: str, report: Report = lambda part, text: None) -> Environment:
    """Make the environment of a framework; nothing is done if it is there and whole."""
    environment = Environment(name)
    check_name(name)
    with _locked(name, report) as lock:
        if environment.state == "whole":
            return environment
        begin = time.monotonic()
        base = _base_python(name)
        _clear(environment.path)
        report(0.0, "making the environment")
        _run([base, "-m", "venv", str(environment.path)], name, lock)
        _install(environment, lock, report)
        report(0.97, "importing it")
        _run([str(environment.python), "-P", "-c", f"import {name}"], name, lock)
        marker = {
            "framework": name,
            "constraints": digest(name),
            "seconds": round(time.monotonic() - begin, 1),
        }
        write_whole(environment.path / MARKER, json.dumps(marker, indent=2).encode())
        report(1.0, "done")
    return environment


def remove(name: str) -> bool:
    """Remove a framework's environment; whether there was one."""
    check_name(name)
    with _locked(name):
        path = Environment(name).path
        found = path.exists()
        _clear(path)
    return found


def check_name(name: str) -> None:
    """Raise unless a framework of that name can have an environment."""
    registry.check_known(name)
    if name not in names():
        raise EnvironmentFailed(f"framework = {name!r}: is always here. It needs no environment.")


def _clear(path: Path) -> None:
    (path / MARKER).unlink(
        missing_ok=True
    )  # first: an environment that is half removed must not look whole
    if path.exists():
        shutil.rmtree(path)


def _base_python(name: str) -> str:
    newest = registry.newest_python(name)
    if newest is None or sys.version_info[:2] <= newest:
        return sys.executable
    wanted = f"python{newest[0]}.{newest[1]}"
    found = shutil.which(wanted)
    if found is None:
        what = f"framework = {name!r}: needs Python {wanted[6:]}, and {wanted} is not on this PATH"
        raise MissingError(what, f"Install {wanted} beside this one.")
    return found


def _install(environment: Environment, lock: int, report: Report) -> None:
    requirements = CONSTRAINTS / f"{environment.framework}.txt"
    total = sum(1 for line in requirements.read_text().splitlines() if line and line[0] != "#")
    seen = 0

    def follow(line: str) -> None:
        nonlocal seen
        verb, what = _activity(line)
        if verb in ("collecting", "processing", "requirement"):
            seen += 1
        elif what == "collected packages":  # a quarter of the time, in which pip says nothing
            seen = total
        if verb in ("collecting", "processing", "downloading", "installing"):
            report(0.02 + 0.7 * min(seen / total, 1.0), f"{verb} {what}")

    command = [str(environment.python), "-m", "pip", "install", "--no-input", "--no-color"]
    # the list is complete; tf_keras asks for tensorflow where tensorflow-cpu is
    command += ["--disable-pip-version-check", "--no-deps", "-r", str(requirements)]
    _run(command, environment.framework, lock, follow)


def _activity(line: str) -> tuple[str, str]:
    """What pip is doing, and to what.

    >>> _activity("  Downloading https://host/torch-2.13.0-cp311.whl (190 MB)")
    ('downloading', 'torch-2.13.0-cp311.whl')
    >>> _activity("Collecting numpy==2.4.6 (from -r jax.txt (line 13))")
    ('collecting', 'numpy==2.4.6')
    >>> _activity("Installing collected packages: numpy, jax")
    ('installing', 'collected packages')
    """
    verb, *rest = line.split() or [""]
    if verb == "Installing":  # "build dependencies: started" comes long before the packages
        return "installing", " ".join(rest[:2]).rstrip(":")
    return verb.lower(), rest[0].rpartition("/")[2] if rest else ""


def _run(
    command: list[str], name: str, lock: int, on_line: Callable[[str], None] = lambda line: None
) -> None:
    """Run a program and call `on_line` with each of its lines. An error or Ctrl-C here ends it, and
    so does its time limit. If this process is killed, the program keeps the lock until it has
    ended, so that no other one begins beside it."""
    lines: list[str] = []
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=clean,
        cwd=folder(),
        pass_fds=(lock,),
        process_group=0,  # with what it starts itself: it can be ended as a whole
    )
    begin = time.monotonic()
    limit = threading.Timer(SECONDS, _kill, [process])
    limit.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            on_line(line)
        if process.wait():
            late = time.monotonic() - begin >= SECONDS
            end = f"was not done after {SECONDS:g} s" if late else f"exit code {process.returncode}"
            raise EnvironmentFailed(_why(name, command, lines, end))
    finally:
        limit.cancel()
        _kill(process)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _why(name: str, command: list[str], lines: list[str], end: str) -> str:
    said = [line for line in lines if line.startswith("ERROR")] or lines[-8:]
    what = "pip" if "pip" in command else Path(command[0]).name
    output = "\n  ".join([*said, end])
    return (
        f"framework = {name!r}: its environment could not be made, {what} said:\n  {output}\n"
        f"Check the network and the disk, then again: lockstep env create {name}"
    )


@contextmanager
def _locked(name: str, report: Report = lambda part, text: None) -> Iterator[int]:
    """One process at a time makes or removes an environment; others wait for it."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        file = (folder() / f".{name}.lock").open("w")
    except OSError as error:
        raise disk_error(folder(), error, "set LOCKSTEP_ENVIRONMENTS to another folder") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(0.0, "waiting for another process that makes or removes it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
