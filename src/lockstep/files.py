"""The one way a file is written: whole or not at all. Standard library only.

A file is written under a unique temporary name beside its target, synced and renamed, so a reader
never sees half of it and two processes may write the same one at once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from pathlib import Path

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
