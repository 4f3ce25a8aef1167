"""Experiments: a question, the runs that answer it, and a table and a figure of the answer.

A module or package of this room whose first line is a question is one experiment. Its `EXPERIMENT`
says which options there are, how the answer is found, how it is shown, what to look at, and its
quick form; `replacement.py` is the one to read first. The command line finds it by its file. From
outside the package, `lockstep.experiments.add(Experiment(...))` does the same. What they share:

- `runs.py`: the runs of an experiment, carried out in its folder and taken up there
- `asking.py`: an experiment carried out; tables, figures and page of its answer in that folder
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lockstep.errors import InputError, unknown
from lockstep.extensions import Registry

if TYPE_CHECKING:
    from lockstep.experiments.runs import Work
    from lockstep.report.charts import Chart
    from lockstep.report.tables import TextTable

Asked = TypeVar("Asked")
Found = TypeVar("Found")
Progress = Callable[[float, str], None]  # the share of the work that is done, and what was last


def no_progress(share: float, what: str) -> None:
    """Reports nothing."""


@dataclass(frozen=True)
class Experiment(Generic[Asked, Found]):
    """`about`: the question in its first line, and below it how the answer is found.

    `options` is a frozen dataclass of what can be asked: a field made by `option` is an option of
    the command line, and a field `spec` is a run: a recipe (`recipe`, unless another is named) with
    all options of a run. `recipe_fields` are fields in which the experiment differs from it,
    unless they are given. `run(asked, work)` finds the answer: `work.carry_out` trains runs in the
    experiment's folder, `work(share, text)` reports progress. `tables` gives tables and lines,
    `chart` the figure, `to_dict` plain values for a program.

    `look_at` says what the figure shows, in sentences; `to_change` are commands to try next.
    `quick` are options, and fields of runs, of a smaller version that takes seconds. `seconds` is
    what both took on two cores: in full, and quick. `notes` are lines about what was asked, known
    before anything is run. `besides` are names that may be given in place of a recipe's; `spec` is
    then that name. With `fields`, fields of all its runs can be changed by options; their framework
    is then `framework`, unless another is asked for.
    """

    name: str
    about: str
    options: type[Asked]
    run: Callable[[Asked, Work], Found]
    tables: Callable[[Found], Iterable[TextTable | str]]
    to_dict: Callable[[Found], Any]
    chart: Callable[[Found], Chart] | None = None
    look_at: str = ""
    to_change: tuple[str, ...] = ()
    quick: Mapping[str, Any] = field(default_factory=dict)
    seconds: tuple[float, float] | None = None
    recipe: str = ""
    recipe_fields: Mapping[str, Any] = field(default_factory=dict)
    notes: Callable[[Asked], Iterable[str]] = lambda asked: ()
    besides: tuple[str, ...] = ()
    fields: bool = False
    framework: str = "fastest"

    @property
    def question(self) -> str:
        return _first_line(self.about)

    @property
    def how(self) -> str:
        """How the answer is found: the paragraph below the question."""
        return " ".join([*self.about.strip().split("\n\n"), ""][1].split())

    @property
    def takes_run(self) -> bool:
        """Whether it is asked about a run: a recipe, with all options of a run."""
        return any(item.name == "spec" for item in dataclasses.fields(self.options))  # type: ignore[arg-type]


@dataclass(frozen=True)
class NoOptions:
    """For an experiment that asks one question only."""


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
    if experiment.name in _own_questions():
        problem = "is the name of an experiment of the package"
        raise InputError("experiment", experiment.name, problem, "Choose another name.")
    _added.add(experiment.name, experiment)


def questions() -> dict[str, str]:
    """Every experiment's question, by name. Reads the first line of files and imports none.

    >>> questions()["scaled-batch"]
    'What do k devices with k times the batch do to accuracy, and to the time it takes?'
    """
    return _own_questions() | {name: item.question for name, item in _added.items()}


def get(name: str) -> Experiment[Any, Any]:
    """The experiment of that name.

    >>> get("allreduce").name
    'allreduce'
    """
    if name in _added:
        return _added[name]
    if name not in _own_questions():
        raise unknown("experiment", name, questions())
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    experiment: Experiment[Any, Any] = module.EXPERIMENT
    return experiment


def _own_questions() -> dict[str, str]:
    """The experiments of this room: modules and packages whose first line is a question."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        path = Path(__path__[0]) / module.name
        file = path / "__init__.py" if module.ispkg else path.with_suffix(".py")
        with file.open(encoding="utf-8") as lines:
            line = lines.readline().strip().strip('"')
        if line.endswith("?"):
            found[module.name.replace("_", "-")] = line
    return found


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
