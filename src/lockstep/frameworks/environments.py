"""Where each framework's own environment is, and which Python a framework runs in.

An environment is whole once its marker is there, which is written last and names the constraints
it was made from: one that was interrupted, or made from others, counts as none. installing.py
makes them. Nothing here imports a framework.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from lockstep.errors import MissingError
from lockstep.frameworks import registry
from lockstep.processes.interpreters import folder

MARKER = "lockstep-environment.json"
CONSTRAINTS = Path(__file__).parent / "constraints"


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


def digest(name: str) -> str:
    """Names the constraints that an environment is made from; "" where there are none."""
    constraints = CONSTRAINTS / f"{name}.txt"
    return hashlib.sha256(constraints.read_bytes()).hexdigest() if constraints.exists() else ""
