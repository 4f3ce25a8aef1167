"""What is added from outside the package: registries, and the modules that add to them.

LOCKSTEP_EXTENSIONS names modules, as dotted names or paths of `.py` files, separated as in PATH.
They are imported once in every process, when a registry is first read, so that the command line and
the processes that Lockstep starts know what they add. Standard library only.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from lockstep.errors import InputError

VARIABLE = "LOCKSTEP_EXTENSIONS"
T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Things of one sort by name. Reading it imports the extensions first.

    >>> colours = Registry[str]("colour")
    >>> colours.add("red", "#ff0000")
    >>> dict(colours)
    {'red': '#ff0000'}
    """

    def __init__(self, sort: str) -> None:
        self._sort = sort
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> None:
        """Make an item known. A name that is taken is refused, unless the same definition is read
        again, as a notebook does."""
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][\w-]*", name):
            remedy = "Use letters, digits, hyphens and underscores, a letter first."
            raise InputError(self._sort, name, "cannot be a name", remedy)
        if name in self._items and _definition(self._items[name]) != _definition(item):
            raise InputError(self._sort, name, "is taken", "Choose another name.")
        self._items[name] = item

    def __getitem__(self, name: str) -> T:
        load()
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        load()
        return iter(self._items)

    def __len__(self) -> int:
        load()
        return len(self._items)


def _definition(item: Any) -> tuple[str, str]:
    return getattr(item, "__module__", ""), getattr(item, "__qualname__", "")


_lock = threading.RLock()  # other threads wait; an extension itself may read registries
_begun: set[str] = set()  # values of the variable whose modules are or will be imported


def load() -> None:
    """Import the modules that LOCKSTEP_EXTENSIONS names; InputError if one cannot be."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        return
    with _lock:
        if named in _begun:
            return
        _begun.add(named)
        try:
            for entry in filter(None, named.split(os.pathsep)):
                _import(entry)
        except BaseException:
            _begun.discard(named)  # the next who asks is refused too
            raise


def _import(entry: str) -> None:
    is_file = entry.endswith(".py") or os.sep in entry
    try:
        _import_extension(Path(entry).resolve()) if is_file else importlib.import_module(entry)
    except (Exception, SystemExit) as error:
        problem = f"cannot be imported ({_reason(error)})"
        raise InputError(VARIABLE, entry, problem, "Correct it, or leave it out.") from error


def _reason(error: BaseException) -> str:
    """An error in one line, with the last line of the extension that led to it."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg}, {error.filename}, line {error.lineno}"
    first = (str(error).strip() or "no message").splitlines()[0]
    here = str(Path(__file__).parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((here, "<")) and "importlib" not in frame.filename
    ]
    place = f", {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {first}{place}"


def _import_extension(file: Path) -> None:
    if file in map(_file_of, ("__main__", file.stem)):
        return  # __main__: a script that is the extension of the processes that it starts
    found = importlib.util.find_spec(file.stem) if file.stem not in sys.modules else None
    free = file.stem not in sys.modules and found is None
    import_file(file, file.stem if free else f"lockstep_extension_{file.stem}")


def _file_of(module: str) -> Path | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).resolve() if file else None


def import_file(file: Path, name: str) -> ModuleType:
    """Import a Python file under a name; it may import its neighbours, as a script may."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise FileNotFoundError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if (folder := str(file.parent)) not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
