"""Where each framework's own environment is, and which Python a framework runs in.

An environment is whole once its marker is there, which is written last and names the constraints
it was made from: one that was interrupted, or made from others, counts as none. installing.py
makes them. Nothing here imports a framework.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import lockstep
from lockstep.errors import MissingError
from lockstep.frameworks import registry

MARKER = "lockstep-environment.json"
CONSTRAINTS = Path(__file__).parent / "constraints"


def folder() -> Path:
    """LOCKSTEP_ENVIRONMENTS, or `lockstep/environments` below XDG_CACHE_HOME or ~/.cache."""
    if own := os.environ.get("LOCKSTEP_ENVIRONMENTS"):
        return Path(own).expanduser().absolute()
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    base = xdg if xdg.is_absolute() else Path("~/.cache").expanduser()
    return base / "lockstep" / "environments"


@dataclass(frozen=True)
class Environment:
    """The place of a framework's environment, whether it is there or not."""

    framework: str

    @property
    def path(self) -> Path:
        return folder() / self.framework

    @property
    def python(self) -> Path:
        return self.path / "bin" / "python"

    @property
    def state(self) -> str:
        """ "whole", "outdated" (made from other constraints), "unfinished" or "none"."""
        if not self.path.exists():
            return "none"
        try:
            made = json.loads((self.path / MARKER).read_text())
        except (OSError, ValueError):
            return "unfinished"
        if not self.python.exists():  # e.g. the Python it was made with is gone
            return "unfinished"
        return "whole" if made.get("constraints") == digest(self.framework) else "outdated"


def names() -> list[str]:
    """The frameworks that an environment can be made for: all but NumPy, which is always here.

    >>> "numpy" in names(), "mxnet" in names()
    (False, True)
    """
    return [name for name in registry.names() if (CONSTRAINTS / f"{name}.txt").exists()]


def usable() -> list[str]:
    """The frameworks that a run can use: installed here, or in an environment of their own."""
    return [
        name
        for name in registry.names()
        if registry.is_installed(name) or Environment(name).state == "whole"
    ]


def interpreter(name: str) -> str:
    """The Python in which a framework can be imported: this one if possible."""
    registry.check_known(name)
    if registry.is_installed(name):
        return sys.executable
    environment = Environment(name)
    if environment.state == "whole":
        return str(environment.python)
    what = {
        "none": "is not installed here, and has no environment",
        "unfinished": "has an environment that was never finished",
        "outdated": "has an environment of other versions",
    }[environment.state]
    remedy = f"Make one with: lockstep env create {name}"
    raise MissingError(f"framework = {name!r}: {what}", remedy)


def variables(python: str) -> dict[str, str]:
    """The environment variables under which `python` finds this very Lockstep."""
    package = Path(lockstep.__file__).resolve().parent
    installed = package.parent.name in ("site-packages", "dist-packages")
    if not installed:
        paths = [str(package.parent), os.environ.get("PYTHONPATH", "")]
    elif python == sys.executable:
        return dict(os.environ)
    else:
        paths = [str(_link(package))]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def _link(package: Path) -> Path:
    """A folder with nothing but a link to the package: what is installed beside Lockstep here
    must not reach an interpreter with other versions."""
    place = folder() / ".lockstep" / hashlib.sha256(str(package).encode()).hexdigest()[:12]
    link = place / package.name
    if not link.exists():
        place.mkdir(parents=True, exist_ok=True)
        fresh = place / f".{os.getpid()}"
        fresh.symlink_to(package, target_is_directory=True)
        fresh.replace(link)
    return place


def digest(name: str) -> str:
    """Names the constraints that a framework's environment is made from."""
    return hashlib.sha256((CONSTRAINTS / f"{name}.txt").read_bytes()).hexdigest()
