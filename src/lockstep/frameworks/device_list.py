"""Which devices each framework sees here, and how it has several on a CPU.

Every framework is asked in its own interpreter and in a process of its own: importing one is slow,
and some fail when another one is imported too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from lockstep.errors import LockstepError
from lockstep.frameworks import environments, registry
from lockstep.processes.child import Send, serve
from lockstep.processes.children import Command, collect

TIMEOUT = 180.0  # seconds: a cold disk and a first import take long
AT_ONCE = 2  # importing keeps a core busy


@dataclass(frozen=True)
class Devices:
    """What a framework has, how it has several devices on a CPU, and which interpreter was asked.
    `problem`: why it could not be asked."""

    framework: str
    python: str = ""
    version: str = ""
    devices: tuple[str, ...] = ()
    several: str = ""
    problem: str = ""

    @property
    def several_in_process(self) -> bool:
        """Whether one process can be given several CPU devices; else a device is a process.

        >>> Devices("jax").several_in_process, Devices("torch").several_in_process
        (True, False)
        """
        return not registry.devices_are_processes(self.framework)


def list_devices(
    names: Sequence[str] | None = None, report: Callable[[Devices], None] = lambda found: None
) -> list[Devices]:
    """The devices of every framework that can be used here; `report` is called with each."""

    def find(name: str) -> Devices:
        found = _ask(name)
        report(found)
        return found

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(find, environments.usable() if names is None else names))


def _ask(name: str) -> Devices:
    try:
        python = environments.interpreter(name)
        command = Command(name, python, "lockstep.frameworks.device_list", {"framework": name})
        facts = collect(command, TIMEOUT)
    except LockstepError as error:  # one that does not import must not hide the others
        return Devices(name, problem=str(error))
    return Devices(**facts | {"framework": name, "devices": tuple(facts["devices"])})


def work(job: dict[str, Any], send: Send) -> None:
    """Import the framework and send {"python", "version", "devices", "several"}."""
    framework = registry.get(job["framework"])
    facts = {"version": framework.version, "devices": framework.devices()}
    send({"python": sys.executable, "several": framework.several, **facts})


if __name__ == "__main__":
    serve(work)
