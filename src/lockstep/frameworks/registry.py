"""Which frameworks there are and which can be used here. Every subpackage is one adapter.

Looking a framework up imports it; listing them imports none.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from pathlib import Path
from typing import Any

from lockstep.errors import MissingError, unknown
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.protocol import Framework
from lockstep.models.model import Model
from lockstep.processes import threads


def names() -> list[str]:
    """Every framework with an adapter, the oracle first.

    >>> names()[0]
    'numpy'
    """
    found = [m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.ispkg]
    return sorted(found, key=lambda name: (name != "numpy", name != "torch", name))


def is_installed(name: str) -> bool:
    """Whether the framework's own package is on this machine (an adapter has the same name)."""
    if name not in names():  # a dotted name would be imported to be found
        return False
    found = importlib.util.find_spec(name)
    return found is not None and found.origin is not None  # a mere folder of that name has none


def installed() -> list[str]:
    """The frameworks that can be used here."""
    return [name for name in names() if is_installed(name)]


def check_known(name: str) -> None:
    """Raise unless there is an adapter of that name."""
    if name not in names():
        raise unknown("framework", name, [*names(), "fastest"])


def how_to_get(name: str) -> str:
    """What a person can do who lacks a framework."""
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
    """What an adapter's package says of its framework without importing it."""
    check_known(name)
    return getattr(importlib.import_module(f"lockstep.frameworks.{name}"), what, default)


def layout(name: str, model: Model) -> Layout:
    """How a framework's own layers keep a model's arrays; the framework is not imported.

    NumPy has no layers: its layout is the canonical one.

    >>> from lockstep import models, spec
    >>> model = models.build(spec.Linear(), (5,), 1)
    >>> list(layout("torch", model).to_native(model.initial_weights(0)))
    ['1.weight', '1.bias']
    """
    check_known(name)
    if name == "numpy":
        return Layout()
    found: Layout = importlib.import_module(f"lockstep.frameworks.{name}.layout").layout(model)
    return found


def get(name: str) -> Framework:
    """The adapter of a framework, imported now."""
    check_known(name)
    if not is_installed(name):
        raise MissingError(f"framework = {name!r}: is not installed", how_to_get(name))
    threads.spin_briefly(name)
    adapter: Framework = importlib.import_module(f"lockstep.frameworks.{name}.adapter").framework
    return adapter
