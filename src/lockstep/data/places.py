"""Places on this machine: a folder named by the user, the cache, the system's, the package's own.

Nothing here opens a connection or writes a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.data.cache import cache_folder
from lockstep.data.editions import AbsentError, DataFile, PlaceError, Progress, Verified, check


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
    """Read one file below `folder` under whichever of its names exists, and verify it."""
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


def _named_folder() -> Path:
    if named := os.environ.get("LOCKSTEP_DATA"):
        return Path(named).expanduser()
    raise AbsentError("is not set")


NAMED = Folder("LOCKSTEP_DATA", _named_folder)
CACHE = Folder("cache", cache_folder)
SYSTEM = Folder("system", lambda: Path("/usr/share/datasets"))
PACKAGE = Folder("package", lambda: Path(__file__).parent)
