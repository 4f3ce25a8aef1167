"""Which frameworks there are and which can be used here.

Every subpackage of `lockstep.frameworks` is one; `add` makes another package known. `get` imports
a framework; everything else imports none.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from pathlib import Path
from typing import Any

from lockstep.errors import InputError, MissingError, unknown
from lockstep.extensions import Registry
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.protocol import Framework
from lockstep.models.model import Model
from lockstep.processes import freed_memory, threads

PACKAGES: Registry[str] = Registry("framework")  # dotted names
for _found in pkgutil.iter_modules([str(Path(__file__).parent)]):
    if _found.ispkg:
        PACKAGES.add(_found.name, f"{__package__}.{_found.name}")


def add(name: str, package: str) -> None:
    """Make a framework of your own known, as `framework = "NAME"`.

    `package` is the dotted name of a package with the files that `lockstep.frameworks` describes:
    adapter.py at least. If the framework is not imported under `name`, the package's __init__.py
    says `IMPORTS = "..."`.
    """
    if PACKAGES.get(name, package) != package:
        raise InputError("framework", name, "is taken", "Choose another name.")
    PACKAGES.add(name, package)


def names() -> list[str]:
    """Every framework, the oracle first.

    >>> names()[0]
    'numpy'
    """
    return sorted(PACKAGES, key=lambda name: (name != "numpy", name != "torch", name))


def is_installed(name: str) -> bool:
    """Whether what the framework imports is on this machine."""
    if name not in PACKAGES:  # a dotted name would be imported to be found
        return False
    found = importlib.util.find_spec(_declared(name, "IMPORTS", name))
    return found is not None and found.origin is not None  # a mere folder of that name has none


def installed() -> list[str]:
    """The frameworks that can be used here."""
    return [name for name in names() if is_installed(name)]


def check_known(name: str) -> None:
    """Raise unless there is a framework of that name."""
    if name == "fastest":
        problem = "stands for one that is chosen to train a run"
        raise InputError("framework", name, problem, f"Name one: {', '.join(names())}.")
    if name not in PACKAGES:
        raise unknown("framework", name, [*names(), "fastest"])


def how_to_get(name: str) -> str:
    """What a person can do who lacks a framework."""
    if not PACKAGES[name].startswith(f"{__package__}."):
        return f"Install {_declared(name, 'IMPORTS', name)}, which it imports."
    return (
        f"Install it with: pip install 'lockstep-train[{name}]', "
        f"or give it an environment of its own: lockstep env create {name}"
    )


def devices_are_processes(name: str) -> bool:
    """Whether each device of a framework is a process; the framework is not imported.

    >>> devices_are_processes("torch"), devices_are_processes("numpy")
    (True, False)
    """
    return bool(_declared(name, "DEVICES_ARE_PROCESSES", False))


def trains_many(name: str) -> bool:
    """Whether a framework trains many settings at once; it is not imported.

    >>> trains_many("jax"), trains_many("numpy")
    (True, False)
    """
    return bool(_declared(name, "TRAINS_MANY", False))


def has_style(name: str, style: str) -> bool:
    """Whether models of a style can be run in a framework as it is here; it is not imported.

    >>> has_style("numpy", "concise"), has_style("numpy", "scratch")
    (False, True)
    """
    if style != "concise":
        return True
    layers: str = _declared(name, "LAYERS", name)  # the package that has them
    return bool(layers) and (not is_installed(name) or importlib.util.find_spec(layers) is not None)


def newest_python(name: str) -> tuple[int, int] | None:
    """The newest Python that a framework runs in, None where any does; it is not imported.

    >>> newest_python("mxnet"), newest_python("torch")
    ((3, 11), None)
    """
    newest: tuple[int, int] | None = _declared(name, "NEWEST_PYTHON", None)
    return newest


def _declared(name: str, what: str, default: Any) -> Any:
    """What a framework's package says of it without importing it."""
    check_known(name)
    return getattr(importlib.import_module(PACKAGES[name]), what, default)


def layout(name: str, model: Model) -> Layout:
    """How a framework's own layers keep a model's arrays; the framework is not imported.

    One without layers, such as NumPy, has the canonical layout.

    >>> from lockstep import models, spec
    >>> model = models.build(spec.Linear(), (5,), 1)
    >>> list(layout("torch", model).to_native(model.initial_weights(0)))
    ['1.weight', '1.bias']
    """
    check_known(name)
    module = _module(name, "layout")
    return module.layout(model) if module else Layout()


def get(name: str) -> Framework:
    """A framework, imported now."""
    check_known(name)
    if not is_installed(name):
        raise MissingError(f"framework = {name!r}: is not installed", how_to_get(name))
    prepare(name)
    freed_memory.keep()
    adapter: Any = _module(name, "adapter")
    found: Framework = adapter.framework
    return found


def prepare(name: str) -> None:
    """Set what must be set before a framework is imported; some are imported by it."""
    threads.spin_briefly(_declared(name, "IMPORTS", name))
    _module(name, "startup")


def _module(name: str, file: str) -> Any:
    """A module of a framework's package, None if the package has no such file."""
    path = f"{PACKAGES[name]}.{file}"
    return importlib.import_module(path) if importlib.util.find_spec(path) else None
