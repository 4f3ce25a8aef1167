"""The cache folder, and the one way a file gets into it: whole or not at all.

A file is written under a unique temporary name beside its target, synced and renamed, so a reader
never sees half of it and two processes may store the same file at once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
import uuid
from pathlib import Path

from lockstep.errors import LockstepError

LEFTOVER_SECONDS = 24 * 3600.0


class CacheError(LockstepError):
    """The cache folder cannot be written: a full disk, or no permission."""


def cache_folder() -> Path:
    """LOCKSTEP_CACHE if set, else `lockstep/data` below XDG_CACHE_HOME or ~/.cache.

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
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # the XDG rule: a relative path is invalid and ignored
    return (xdg if xdg.is_absolute() else Path("~/.cache").expanduser()) / "lockstep" / "data"


def store(name: str, raw: bytes) -> Path:
    """Write verified bytes to `name` below the cache folder, atomically; its path."""
    target = cache_folder() / name
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target.parent)
        try:
            _write_synced(temporary, raw)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)
    except OSError as error:
        raise _explained(error, target, len(raw)) from error
    return target


def _write_synced(path: Path, raw: bytes) -> None:
    with path.open("xb") as out:
        out.write(raw)
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


def _remove_leftovers(folder: Path) -> None:
    """Drop what a killed process left behind; a day is longer than any store takes."""
    for part in folder.glob(".*.part"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > LEFTOVER_SECONDS:
                part.unlink()


def _explained(error: OSError, target: Path, size: int) -> CacheError:
    elsewhere = "set LOCKSTEP_CACHE to a folder"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CacheError(
            f"{target}: no space left for {size:,} bytes. "
            f"Free some space, or {elsewhere} on another disk."
        )
    reason = error.strerror or str(error)
    return CacheError(f"{target}: cannot be written ({reason}). Fix it, or {elsewhere} you own.")
