"""Experiments: a question, the runs that answer it, and a table and a figure of the answer.

Every module or package of this room is one experiment. The first line of its docstring is the
question, and its `EXPERIMENT` says which options there are, how the answer is found, and how it is
shown; `scaled_batch.py` is the one to read first. The command line finds it by its file. From
outside the package, `lockstep.experiments.add(Experiment(...))` does the same.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lockstep.errors import InputError, unknown
from lockstep.extensions import Registry

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

Asked = TypeVar("Asked")
Found = TypeVar("Found")
Progress = Callable[[float, str], None]  # the share of the work that is done, and what was last


def no_progress(share: float, what: str) -> None:
    """Reports nothing."""


@dataclass(frozen=True)
class Experiment(Generic[Asked, Found]):
    """`about`: the question in its first line, and below it how the answer is found.

    `options` is a frozen dataclass of what can be asked: a field made by `option` is an option of
    the command line, and a field `spec` is a run, with a recipe's name and all options of a run.
    `tables` gives tables and lines for a terminal, `to_dict` plain values for a program. `notes`
    are lines about what was asked, known before anything is run. `besides` are names that may be
    given in place of a recipe's; `spec` is then that name.
    """

    name: str
    about: str
    options: type[Asked]
    run: Callable[[Asked, Progress], Found]
    tables: Callable[[Found], Iterable[RenderableType]]
    to_dict: Callable[[Found], Any]
    figure: Callable[[Found], Figure] | None = None
    notes: Callable[[Asked], Iterable[str]] = lambda asked: ()
    besides: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        return _first_line(self.about)


def option(
    default: Any,
    help: str,
    *,
    read: Callable[[str], Any] | None = None,
    metavar: str = "",
    flag: str = "",
) -> Any:
    """A field of an experiment's options. `read` makes its value from text, the default's too;
    without it the value is a number, a text or, with the default False, a switch. `flag` is the
    option's name where that is not the field's.

    >>> @dataclass(frozen=True)
    ... class Options:
    ...     ways: tuple[str, ...] = option("a b", "which", read=lambda text: tuple(text.split()))
    >>> Options().ways
    ('a', 'b')
    """
    value = read(default) if read else default
    metadata = {"help": help, "text": default, "read": read, "metavar": metavar, "flag": flag}
    return dataclasses.field(default=value, metadata=metadata)


# --- which there are ------------------------------------------------------------------------------

_added: Registry[Experiment[Any, Any]] = Registry("experiment")


def add(experiment: Experiment[Any, Any]) -> None:
    """Make an experiment known by its name, to `lockstep experiment` too."""
    if experiment.name in _files():
        problem = "is the name of an experiment of the package"
        raise InputError("experiment", experiment.name, problem, "Choose another name.")
    _added.add(experiment.name, experiment)


def questions() -> dict[str, str]:
    """Every experiment's question, by name. Reads the files and imports none of them.

    >>> questions()["scaled-batch"]
    'What do k devices with k times the batch do to accuracy, and to the time it takes?'
    """
    texts = {name: file.read_text(encoding="utf-8") for name, file in _files().items()}
    found = {n: _first_line(ast.get_docstring(ast.parse(t)) or "") for n, t in texts.items()}
    return found | {name: experiment.question for name, experiment in _added.items()}


def get(name: str) -> Experiment[Any, Any]:
    """The experiment of that name.

    >>> get("allreduce").name
    'allreduce'
    """
    if name in _added:
        return _added[name]
    if name not in _files():
        raise unknown("experiment", name, questions())
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    experiment: Experiment[Any, Any] = module.EXPERIMENT
    return experiment


def _files() -> dict[str, Path]:
    """The file that an experiment is, or begins with, by name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        path = Path(__path__[0]) / module.name
        file = path / "__init__.py" if module.ispkg else path.with_suffix(".py")
        found[module.name.replace("_", "-")] = file
    return found


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
