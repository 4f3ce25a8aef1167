"""The cache folder, and how a file gets into it: verified, and whole or not at all."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from lockstep.files import cache_home, write_whole

LEFTOVER_SECONDS = 24 * 3600.0


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
    """Drop what a killed process left behind; a day is longer than any store takes."""
    for part in folder.glob(".*.part"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > LEFTOVER_SECONDS:
                part.unlink()
