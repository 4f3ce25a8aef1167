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
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import lockstep
from lockstep.errors import MissingError
from lockstep.files import cache_home, disk_error
from lockstep.frameworks import registry

MARKER = "lockstep-environment.json"
CONSTRAINTS = Path(__file__).parent / "constraints"


def folder() -> Path:
    """LOCKSTEP_ENVIRONMENTS if set, else `environments` in Lockstep's cache."""
    if own := os.environ.get("LOCKSTEP_ENVIRONMENTS"):
        return Path(own).expanduser().absolute()
    return cache_home() / "environments"


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
            made = json.loads((self.path / MARKER).read_text())["constraints"]
        except (OSError, ValueError, KeyError, TypeError):
            return "unfinished"
        if not self.python.exists():  # e.g. the Python it was made with is gone
            return "unfinished"
        return "whole" if made == digest(self.framework) else "outdated"


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
    again = f"Make it anew with: lockstep env create {name}"
    what, remedy = {
        "none": ("has no environment", registry.how_to_get(name)),
        "unfinished": ("its environment was never finished", again),
        "outdated": ("its environment is of other versions", again),
    }[environment.state]
    raise MissingError(f"framework = {name!r}: is not installed here, and {what}", remedy)


def variables(python: str) -> dict[str, str]:
    """The environment variables under which `python` finds this very Lockstep."""
    package = Path(lockstep.__file__).resolve().parent
    own = package.parent
    crowded = own.name in ("site-packages", "dist-packages") or (own / "numpy").exists()
    if python == sys.executable:
        return dict(os.environ) if crowded else _with_paths(str(own), os.environ)
    others = {k: v for k, v in os.environ.items() if k != "PYTHONHOME"}  # it is this Python's
    return _with_paths(str(_link(package) if crowded else own), others, without=own)


def _with_paths(
    first: str, variables: Mapping[str, str], without: Path | None = None
) -> dict[str, str]:
    """The variables with `first` before the paths that a person named."""
    named = [path for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path]
    kept = [path for path in named if Path(path).resolve() != without]
    return {**variables, "PYTHONPATH": os.pathsep.join([first, *kept])}


def _link(package: Path) -> Path:
    """A folder with nothing but a link to the package: what is installed beside Lockstep here
    must not reach an interpreter with other versions."""
    place = folder() / ".lockstep" / hashlib.sha256(str(package).encode()).hexdigest()[:12]
    link = place / package.name
    try:
        if not link.exists():
            place.mkdir(parents=True, exist_ok=True)
            fresh = place / f".{uuid.uuid4().hex}"
            fresh.symlink_to(package, target_is_directory=True)
            fresh.replace(link)
    except OSError as error:
        raise disk_error(place, error, "set LOCKSTEP_ENVIRONMENTS to another folder") from error
    return place


def digest(name: str) -> str:
    """Names the constraints that an environment is made from; "" where there are none."""
    constraints = CONSTRAINTS / f"{name}.txt"
    return hashlib.sha256(constraints.read_bytes()).hexdigest() if constraints.exists() else ""
