"""Other Python interpreters: where their environments lie, and how each finds this Lockstep.

Nothing here knows what is installed in one.
"""

from __future__ import annotations

import hashlib
import os
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

import lockstep
from lockstep.files import cache_home, disk_error


def folder() -> Path:
    """LOCKSTEP_ENVIRONMENTS if set, else `environments` in Lockstep's cache."""
    if own := os.environ.get("LOCKSTEP_ENVIRONMENTS"):
        return Path(own).expanduser().absolute()
    return cache_home() / "environments"


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
