"""Making and removing a framework's environment: venv, pip, and the marker that comes last."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

NEWEST_PYTHON = {"mxnet": (3, 11)}  # its last release was built for no newer one
SECONDS = 3600.0  # for one installation: gigabytes, on a slow line

Tell = Callable[[float, str], None]  # the part done, from 0 to 1, and what is going on


class EnvironmentFailed(LockstepError):
    """An environment could not be made or removed."""


def create(name: str, tell: Tell = lambda part, text: None) -> Environment:
    """Make the environment of a framework; nothing is done if it is there and whole."""
    environment = Environment(name)
    _check_name(name)
    with _locked(name):
        if environment.state == "whole":
            return environment
        begin = time.monotonic()
        _clear(environment.path)
        tell(0.0, "making the environment")
        base = _base_python(name)
        _run([base, "-m", "venv", str(environment.path)], name)
        _install(environment, tell)
        tell(0.97, "importing it")
        _run([str(environment.python), "-P", "-c", f"import {name}"], name)
        marker = {
            "framework": name,
            "constraints": digest(name),
            "seconds": round(time.monotonic() - begin, 1),
        }
        write_whole(environment.path / MARKER, json.dumps(marker, indent=2).encode())
        tell(1.0, "done")
    return environment


def remove(name: str) -> bool:
    """Remove a framework's environment; whether there was one."""
    _check_name(name)
    with _locked(name):
        path = Environment(name).path
        found = path.exists()
        _clear(path)
    return found


def _check_name(name: str) -> None:
    registry.check_known(name)
    if name not in names():
        raise EnvironmentFailed(f"framework = {name!r}: is always here. It needs no environment.")


def _clear(path: Path) -> None:
    (path / MARKER).unlink(missing_ok=True)  # first: what is half removed must not look whole
    if path.exists():
        shutil.rmtree(path)


def _base_python(name: str) -> str:
    newest = NEWEST_PYTHON.get(name)
    if newest is None or sys.version_info[:2] <= newest:
        return sys.executable
    wanted = f"python{newest[0]}.{newest[1]}"
    found = shutil.which(wanted)
    if found is None:
        what = f"framework = {name!r}: needs Python {wanted[6:]}, and {wanted} is not on this PATH"
        raise MissingError(what, f"Install {wanted} beside this one.")
    return found


def _install(environment: Environment, tell: Tell) -> None:
    requirements = CONSTRAINTS / f"{environment.framework}.txt"
    total = sum(1 for line in requirements.read_text().splitlines() if line and line[0] != "#")
    seen = 0

    def hear(line: str) -> None:
        nonlocal seen
        word, _, rest = line.strip().partition(" ")
        what = Path(rest.partition(" (from")[0].partition(":")[0]).name
        if word in ("Collecting", "Processing", "Requirement"):
            seen += 1
        elif word == "Installing":  # a quarter of the time, in which pip says nothing
            seen = total
        if word in ("Collecting", "Processing", "Downloading", "Installing"):
            tell(0.02 + 0.7 * min(seen / total, 1.0), f"{word.lower()} {what}")

    command = [str(environment.python), "-m", "pip", "install", "--no-input"]
    command += ["--disable-pip-version-check", "-r", str(requirements)]
    _run(command, environment.framework, hear)


def _run(command: list[str], name: str, hear: Callable[[str], None] = lambda line: None) -> None:
    """Run a program and hand on its lines; it ends with whatever ends this, and in time."""
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
    )
    limit = threading.Timer(SECONDS, process.kill)
    limit.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            hear(line)
        if process.wait():
            late = [] if limit.is_alive() else [f"ended after {SECONDS:g} s"]
            raise EnvironmentFailed(_why(name, command, lines + late))
    finally:
        limit.cancel()
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _why(name: str, command: list[str], lines: list[str]) -> str:
    said = [line for line in lines if line.startswith("ERROR")] or lines[-8:]
    what = "pip" if "pip" in command else Path(command[0]).name
    told = "\n  ".join(said)
    return (
        f"framework = {name!r}: its environment could not be made, {what} said:\n  {told}\n"
        f"Check the network and the disk, then again: lockstep env create {name}"
    )


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """One process at a time makes or removes an environment; others wait for it."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        file = (folder() / f".{name}.lock").open("w")
    except OSError as error:
        raise disk_error(folder(), error, "set LOCKSTEP_ENVIRONMENTS to another folder") from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
