"""How files are written: whole or not at all, or by appending; values that JSON can hold; and
the folder of the cache. Standard library only.

A whole file is written under a unique temporary name beside its target, synced and renamed, so a
reader never sees half of it and two processes may write the same one at once. What is appended is
in the hands of the system when `write` returns, and safe on the disk after `sync`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
import uuid
from collections.abc import Iterator, Mapping
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
            with contextlib.suppress(OSError):  # a leftover is ignored; the first error counts
                temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise disk_error(path, error, elsewhere) from error
    return path


class AppendedFile:
    """A file that is only ever appended to. A disk that does not take it is a DiskError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise disk_error(path, error) from error

    def write(self, content: bytes) -> None:
        """Append all of `content`; a killed process loses nothing that was written."""
        try:
            _write_all(self._handle, content)
        except OSError as error:
            raise disk_error(self._path, error) from error

    def sync(self) -> int:
        """The file's size, all of it safe on the disk."""
        try:
            os.fsync(self._handle)
            return os.fstat(self._handle).st_size
        except OSError as error:
            raise disk_error(self._path, error) from error

    def close(self) -> None:
        with contextlib.suppress(OSError):  # what could not be written was reported by then
            os.close(self._handle)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[str | None]:
    """While inside, the file is this process's and holds its number; another process has it if a
    text is given, which is the number that it wrote."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise disk_error(path, error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield os.pread(handle, 20, 0).decode("ascii", "replace")
            return
        try:
            os.truncate(handle, 0)
            _write_all(handle, str(os.getpid()).encode())
        except OSError as error:
            raise disk_error(path, error) from error
        yield None
    finally:
        os.close(handle)


def truncate(path: Path, size: int) -> None:
    """Cut a file to `size` bytes."""
    try:
        os.truncate(path, size)
    except OSError as error:
        raise disk_error(path, error) from error


def remove(path: Path) -> None:
    """Remove a file, if it is there. A folder that does not allow it is a DiskError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise disk_error(path, error) from error


def disk_error(path: Path, error: OSError, elsewhere: str = "choose another folder") -> DiskError:
    """The error of a disk that does not take a file, with what to do.

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


def json_safe(value: Any) -> Any:
    """Dictionaries and lists as JSON can hold them; infinity and NaN, which it lacks, are text.

    >>> json_safe({"loss": 0.5, "bounds": (1.0, math.inf)})
    {'loss': 0.5, 'bounds': [1.0, 'inf']}
    """
    if isinstance(value, Mapping):
        return {key: json_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _write_synced(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        _write_all(handle, content)
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]


def _sync_folder(folder: Path) -> None:
    # not every file system can sync a folder; the file itself is already safe
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
