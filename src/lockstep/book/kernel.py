"""A Jupyter kernel in the environment of a framework: started, asked, and never left behind."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lockstep.book.outputs import without_log
from lockstep.errors import LockstepError, MissingError
from lockstep.frameworks import environments
from lockstep.processes.interpreters import variables

START_SECONDS = 120.0  # until a kernel answers, on a busy machine
NAME = "lockstep"
LONGEST_LOG = 10_000_000  # bytes
_JUPYTERS = "[IPKernelApp] WARNING"  # begins a line of the kernel's own log


@dataclass(frozen=True)
class Settings:
    """What a kernel is started for: the framework, and how its d2l names behave."""

    framework: str
    tab: str
    quick: bool = False
    num_devices: int = 0  # virtual devices; 0: none
    live: bool = False  # figures are drawn while they grow: someone looks on

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Kernel:
    """A running kernel: its manager, a client with open channels, and the file of its stderr."""

    manager: Any
    client: Any
    log: Path

    @property
    def is_alive(self) -> bool:
        return bool(self.manager.is_alive())

    @property
    def exit_code(self) -> int | None:
        """How its process ended; negative is the number of the signal, None is not known."""
        process = getattr(self.manager.provisioner, "process", None)
        return None if process is None else process.poll()

    def interrupt(self) -> None:
        with suppress(RuntimeError):  # it has ended meanwhile
            self.manager.interrupt_kernel()

    def trim_log(self) -> None:
        """Begin the log anew where it is long: what a cell's processes print is copied to it."""
        if self.log.stat().st_size > LONGEST_LOG:
            os.truncate(self.log, 0)

    def last_words(self) -> str:
        """The last line that the process wrote outside its cells, "" if there is none. Logs of
        Jupyter and of frameworks are no reason of an end."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        lines = [line.strip() for line in without_log(text).splitlines()]
        telling = [line for line in lines if line and not line.startswith(_JUPYTERS)]
        return telling[-1] if telling else ""


class KernelFailed(LockstepError):
    """A kernel could not be started."""


def spec(settings: Settings) -> dict[str, Any]:
    """What Jupyter needs to start such a kernel: the content of its kernel.json."""
    python = environments.interpreter(settings.framework)
    words = [python, "-P", "-m", "lockstep.book.kernel_main", settings.to_json()]
    found = {"PYTHONPATH": variables(python).get("PYTHONPATH", "")}  # where this Lockstep is
    return {
        "argv": [*words, "-f", "{connection_file}"],
        "display_name": display_name(settings),
        "language": "python",
        "env": {name: value for name, value in found.items() if value},
    }


def jupyter_name(settings: Settings) -> str:
    """What Jupyter calls such a kernel, once it is registered.

    >>> jupyter_name(Settings("torch", "pytorch"))
    'lockstep-torch'
    >>> jupyter_name(Settings("torch", "pytorch", num_devices=2))
    'lockstep-torch-2-devices'
    """
    devices = f"-{settings.num_devices}-devices" if settings.num_devices else ""
    return f"{NAME}-{settings.framework}{devices}"


def display_name(settings: Settings) -> str:
    """What a person reads in Jupyter's list of kernels.

    >>> display_name(Settings("torch", "pytorch", num_devices=2))
    'Lockstep, torch, 2 virtual devices'
    """
    devices = f", {settings.num_devices} virtual devices" if settings.num_devices else ""
    return f"Lockstep, {settings.framework}{devices}"


def register(settings: Settings) -> Path:
    """Make such a kernel known to this person's Jupyter; the folder of its entry."""
    _, specs_class = _jupyter()
    with tempfile.TemporaryDirectory(prefix="lockstep-kernel-") as own:
        content = spec(replace(settings, live=True))
        (Path(own) / "kernel.json").write_text(json.dumps(content, indent=1))
        made = specs_class().install_kernel_spec(own, jupyter_name(settings), user=True)
    return Path(made)


def unregister(framework: str) -> list[str]:
    """Remove every entry of a framework; the names of those there were."""
    _, specs_class = _jupyter()
    specs = specs_class()
    ours = re.compile(rf"{NAME}-{framework}(-\d+-devices)?")
    found = [name for name in sorted(specs.find_kernel_specs()) if ours.fullmatch(name)]
    for name in found:
        specs.remove_kernel_spec(name)
    return found


@contextmanager
def started(settings: Settings, folder: Path) -> Iterator[Kernel]:
    """While inside, a kernel runs with `folder` as its working folder; it is ended in any case."""
    manager_class, specs_class = _jupyter()
    python = environments.interpreter(settings.framework)
    with tempfile.TemporaryDirectory(prefix="lockstep-kernel-") as own:
        place = Path(own) / NAME
        place.mkdir()
        (place / "kernel.json").write_text(json.dumps(spec(settings)))
        specs = specs_class(kernel_dirs=[own], ensure_native_kernel=False)
        connection = str(Path(own) / "connection.json")
        manager = manager_class(
            kernel_name=NAME, kernel_spec_manager=specs, connection_file=connection
        )
        log = Path(own) / "log.txt"
        with log.open("ab") as file:  # to append: it may be trimmed
            manager.start_kernel(env=variables(python), cwd=str(folder), stdout=file, stderr=file)
        client = manager.blocking_client()
        kernel = Kernel(manager, client, log)
        try:
            client.start_channels()
            _wait(kernel, settings)
            yield kernel
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def _wait(kernel: Kernel, settings: Settings) -> None:
    try:
        kernel.client.wait_for_ready(timeout=START_SECONDS)
    except RuntimeError as error:
        said = kernel.last_words()
        if "No module named 'ipykernel'" in said:
            raise missing(settings.framework) from None
        raise KernelFailed(
            f"the kernel of {settings.framework} did not start: {said or error}. "
            f"See whether the framework works: lockstep env check {settings.framework}"
        ) from None


def missing(framework: str) -> MissingError:
    """The error for an interpreter that cannot be a kernel."""
    python = environments.interpreter(framework)
    versions = environments.CONSTRAINTS / f"{framework}.txt"
    remedy = f"Install it with: {python} -m pip install -c {versions} ipykernel matplotlib plotext"
    if python == sys.executable:
        remedy = "Install it with: pip install 'lockstep-train[book]'"
    what = f"ipykernel, which runs cells, is not installed beside {framework}"
    return MissingError(what, remedy)


def _jupyter() -> tuple[Any, Any]:
    try:
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import KernelManager
    except ImportError:
        remedy = "Install it with: pip install 'lockstep-train[book]'"
        raise MissingError("jupyter_client, which starts kernels, is not here", remedy) from None
    return KernelManager, KernelSpecManager
