"""Disks that fail: every operation that changes something below a folder can be made to."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# all that lockstep/files.py and the room of training change files with; Path's methods call these
BY_PATH = ("open", "mkdir", "rename", "replace", "unlink", "truncate")
BY_HANDLE = ("write", "fsync")


class Faults:
    """Counts the operations below `folder`; number `fails` and, with `for_good`, all after it fail.
    A write that fails for lack of space may have written a part."""

    def __init__(
        self, folder: Path, fails: int = -1, code: int = errno.ENOSPC, for_good: bool = False
    ) -> None:
        self.count, self.failed = 0, ""
        self._folder, self._fails, self._code = os.path.realpath(folder), fails, code
        self._for_good = for_good

    def check(self, name: str, target: str) -> None:
        if not os.path.realpath(target).startswith(self._folder):
            return
        number, self.count = self.count, self.count + 1
        if number == self._fails or (self._for_good and number > self._fails >= 0):
            self.failed = self.failed or f"{name} {target}"
            raise OSError(self._code, os.strerror(self._code), target)

    def by_path(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(target: Any, *args: Any, **kwargs: Any) -> Any:
            reads = name == "open" and not args[0] & (os.O_WRONLY | os.O_RDWR)
            if not reads:
                self.check(name, _path(target))
            return real(target, *args, **kwargs)

        return call

    def by_handle(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(handle: int, *args: Any) -> Any:
            try:
                self.check(name, _path(handle))
            except OSError:
                if name == "write" and self._code == errno.ENOSPC:
                    real(handle, bytes(args[0])[: len(args[0]) // 2])  # what still had a place
                raise
            return real(handle, *args)

        return call


def _path(target: Any) -> str:
    return str(Path(f"/proc/self/fd/{target}").readlink() if isinstance(target, int) else target)


@contextmanager
def failing(faults: Faults) -> Iterator[Faults]:
    """While inside, the disk below the folder fails as `faults` says."""
    kept = {name: getattr(os, name) for name in BY_PATH + BY_HANDLE}
    try:
        for name in BY_PATH:
            setattr(os, name, faults.by_path(name, kept[name]))
        for name in BY_HANDLE:
            setattr(os, name, faults.by_handle(name, kept[name]))
        yield faults
    finally:
        for name, real in kept.items():
            setattr(os, name, real)
