"""How files are written: whole or not at all, numbers that JSON lacks spelled out; and where what
can be had again is kept. Standard library only.

A file is written under a unique temporary name beside its target, synced and renamed, so a reader
never sees half of it and two processes may write the same one at once.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockstep.errors import LockstepError


class DiskError(LockstepError):
    """A file cannot be written: a full disk, or no permission."""


def write_whole(path: Path, content: bytes, elsewhere: str = "choose another folder") -> Path:
    """Replace `path` by `content`, atomically. A disk that does not take it is a DiskError."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_synced(temporary, content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise disk_error(path, error, elsewhere) from error
    return path


def disk_error(path: Path, error: OSError, elsewhere: str = "choose another folder") -> DiskError:
    """What to tell a person whose disk does not take a file.

    >>> print(disk_error(Path("runs/a"), OSError(errno.ENOSPC, "No space left on device")))
    runs/a: no space left. Free some, or choose another folder.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskError(f"{path}: no space left. Free some, or {elsewhere}.")
    reason = error.strerror or str(error)
    return DiskError(f"{path}: cannot be written ({reason}). Mend that, or {elsewhere}.")


def cache_home() -> Path:
    """`lockstep` below XDG_CACHE_HOME or ~/.cache."""
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # the XDG rule: a relative path is invalid and ignored
    return (xdg if xdg.is_absolute() else Path("~/.cache").expanduser()) / "lockstep"


def spelled(value: Any) -> Any:
    """Dictionaries and lists as JSON can hold them: it has no infinity, so that is text.

    >>> spelled({"loss": 0.5, "bounds": (1.0, math.inf)})
    {'loss': 0.5, 'bounds': [1.0, 'inf']}
    """
    if isinstance(value, Mapping):
        return {key: spelled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [spelled(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("xb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _sync_folder(folder: Path) -> None:
    # not every file system can sync a folder; the file itself is already safe
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
