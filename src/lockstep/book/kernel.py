"""A Jupyter kernel in the environment of a framework: started, asked, and never left behind."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lockstep.errors import LockstepError, MissingError
from lockstep.frameworks import environments
from lockstep.processes.interpreters import variables

START_SECONDS = 120.0  # until a kernel answers, on a busy machine
NAME = "lockstep"


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

    def last_words(self) -> str:
        """The last line that the process wrote outside its cells, "" if there is none."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else ""


class KernelFailed(LockstepError):
    """A kernel could not be started."""


def spec(settings: Settings) -> dict[str, Any]:
    """What Jupyter needs to start such a kernel: the content of its kernel.json."""
    python = environments.interpreter(settings.framework)
    words = [python, "-P", "-m", "lockstep.book.kernel_main", settings.to_json()]
    found = {"PYTHONPATH": variables(python).get("PYTHONPATH", "")}  # where this Lockstep is
    return {
        "argv": [*words, "-f", "{connection_file}"],
        "display_name": f"Lockstep, {settings.framework}",
        "language": "python",
        "env": {name: value for name, value in found.items() if value},
    }


def jupyter_name(framework: str) -> str:
    """What Jupyter calls the kernel of a framework, once it is registered.

    >>> jupyter_name("torch")
    'lockstep-torch'
    """
    return f"{NAME}-{framework}"


def register(framework: str, tab: str) -> Path:
    """Make the kernel of a framework known to this person's Jupyter; the folder of its entry."""
    _, specs_class = _jupyter()
    with tempfile.TemporaryDirectory(prefix="lockstep-kernel-") as own:
        content = spec(Settings(framework, tab, live=True))
        (Path(own) / "kernel.json").write_text(json.dumps(content, indent=1))
        made = specs_class().install_kernel_spec(own, jupyter_name(framework), user=True)
    return Path(made)


def unregister(framework: str) -> bool:
    """Remove that entry; whether there was one."""
    _, specs_class = _jupyter()
    try:
        specs_class().remove_kernel_spec(jupyter_name(framework))
    except KeyError:  # jupyter_client: no such kernel
        return False
    return True


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
        with log.open("wb") as file:
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
