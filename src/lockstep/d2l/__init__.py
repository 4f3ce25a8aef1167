"""The names that the book's chapters take from the package d2l, in each framework.

    import lockstep.d2l
    lockstep.d2l.install()
    from d2l import torch as d2l

or, without `install`, `from lockstep.d2l import torch as d2l`. What the frameworks share is in the
files of this room; a package per framework has the rest, under the same file names. Importing this
room imports no framework.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from lockstep.d2l import options
from lockstep.errors import LockstepError

NAME = "d2l"


class TakenError(LockstepError):
    """Another package d2l is installed, which must not be replaced unasked."""


class _Finder(Loader):
    """Answers `import d2l` and `import d2l.torch` by this room and its modules."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != NAME and not name.startswith(f"{NAME}."):
            return None
        if importlib.util.find_spec(f"lockstep.{name}") is None:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(f"lockstep.{spec.name}")
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own  # the import system has set that of the other name


_FINDER = _Finder()


def install(
    *, replace: bool = False, quick: bool | None = None, figures: str | None = None
) -> None:
    """Answer `from d2l import torch as d2l` (or another framework) from now on, in this process.

    A package d2l that is installed stays in place, and a TakenError says so, unless `replace` is
    set. `quick` shortens training; `figures` is "notebook", "terminal" or a folder to write to.
    """
    if _FINDER not in sys.meta_path:
        if not replace and importlib.util.find_spec(NAME) is not None:
            raise TakenError(
                "the package d2l is installed here. Take Lockstep's names with "
                "`from lockstep.d2l import torch as d2l`, or replace it: install(replace=True)"
            )
        _forget()
        sys.meta_path.insert(0, _FINDER)
    options.set(quick=quick, figures=figures)


def uninstall() -> None:
    """End what `install` began; modules that were imported keep working."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    _forget()


def _forget() -> None:
    """Let the next import of d2l look for it anew."""
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def prepare(framework: str) -> None:
    """Set what a framework's names need before the framework is imported."""
    importlib.import_module(f"lockstep.d2l.{framework}")


def has_virtual_devices(framework: str) -> bool:
    """Whether a framework's names can have virtual GPUs: where the book has chapters on several.

    >>> has_virtual_devices("torch"), has_virtual_devices("jax")
    (True, False)
    """
    # not by find_spec, which imports the package, and that of TensorFlow chooses its Keras
    return (Path(__file__).parent / framework / "virtual.py").exists()


def virtual_devices(framework: str, count: int) -> bool:
    """Let a framework have `count` virtual GPUs, on the processor; False where there are real ones,
    which are used then. The framework is imported."""
    module = importlib.import_module(f"lockstep.d2l.{framework}.virtual")
    switched: bool = module.switch_on(count)
    if switched:
        options.note(f"{count} virtual devices in place of GPUs")
    return switched
