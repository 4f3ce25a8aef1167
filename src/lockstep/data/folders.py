"""Places on this machine: a folder named by the user, the cache, the system's, the package's own.

A file enters the cache verified, and whole or not at all. Nothing here opens a connection.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.data.source import AbsentError, DataFile, PlaceError, Progress, Verified, check
from lockstep.files import cache_home, write_whole

LEFTOVER_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class Folder:
    """A local folder; `locate` is asked each time, so a changed environment is respected."""

    label: str
    locate: Callable[[], Path]
    remote: bool = False

    def get(self, files: Sequence[DataFile], progress: Progress) -> list[Verified]:
        folder = self.locate()
        return [read_verified(folder, file) for file in files]


def read_verified(folder: Path, file: DataFile) -> Verified:
    """Read one file below `folder` under the first of its names that exists, and verify it."""
    for name in file.names:
        path = folder / name
        if not path.is_file():
            continue
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise PlaceError(f"{path} cannot be read ({error.strerror})") from error
        edition, content = check(file, name, raw)
        return Verified(path, edition, content)
    if not folder.is_dir():
        raise AbsentError(f"the folder {folder} does not exist")
    raise AbsentError(f"no {file.names[0]} in {folder}")


def cache_folder() -> Path:
    """LOCKSTEP_CACHE if set, else `data` in Lockstep's cache.

    >>> import os
    >>> before = os.environ.get("LOCKSTEP_CACHE")
    >>> os.environ["LOCKSTEP_CACHE"] = "/tmp/elsewhere"
    >>> print(cache_folder())
    /tmp/elsewhere
    >>> _ = os.environ.pop("LOCKSTEP_CACHE")
    >>> if before is not None: os.environ["LOCKSTEP_CACHE"] = before
    """
    if own := os.environ.get("LOCKSTEP_CACHE"):
        return Path(own).expanduser()
    return cache_home() / "data"


def store(name: str, raw: bytes) -> Path:
    """Write verified bytes to `name` below the cache folder, atomically; its path."""
    target = cache_folder() / name
    if target.parent.is_dir():
        _remove_leftovers(target.parent)
    return write_whole(target, raw, "set LOCKSTEP_CACHE to a folder on another disk")


def _remove_leftovers(folder: Path) -> None:
    """Remove what a killed process left; a day is longer than any store takes."""
    for part in folder.glob(".*.part"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > LEFTOVER_SECONDS:
                part.unlink()


def _named_folder() -> Path:
    if named := os.environ.get("LOCKSTEP_DATA"):
        return Path(named).expanduser()
    raise AbsentError("is not set")


NAMED = Folder("LOCKSTEP_DATA", _named_folder)
CACHE = Folder("cache", cache_folder)
SYSTEM = Folder("system", lambda: Path("/usr/share/datasets"))
PACKAGE = Folder("package", lambda: Path(__file__).parent)
