"""An experiment carried out: in its folder, with its tables, figure and page written there.

experiments/NAME/   experiment.json   what was asked, by which command, and how long it took
                    answer.json       the answer as plain values
                    figure.png, figure.svg, page.html
                    runs/             a folder for each run
"""

from __future__ import annotations

import dataclasses
import json
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lockstep
from lockstep import experiments, recipes
from lockstep.errors import InputError, MissingError, unknown
from lockstep.experiments import Experiment, Progress, no_progress
from lockstep.experiments.runs import Work
from lockstep.files import json_safe, write_whole
from lockstep.frameworks.fastest import resolve_fastest
from lockstep.report.charts import Chart
from lockstep.report.experiment_page import Told, experiment_markdown, experiment_page
from lockstep.report.figures import draw, save_figure
from lockstep.report.tables import TextTable, show
from lockstep.training.machine import machine_facts

ROOT = Path("experiments")
FACTS = "experiment.json"


@dataclass(frozen=True)
class Outcome:
    """What an experiment found, and the files that show it."""

    experiment: Experiment[Any, Any]
    found: Any
    folder: Path
    files: tuple[Path, ...]
    missing: tuple[str, ...] = ()  # why a figure was not drawn

    @property
    def parts(self) -> list[TextTable | str]:
        return list(self.experiment.tables(self.found))

    @property
    def chart(self) -> Chart | None:
        return self.experiment.chart(self.found) if self.experiment.chart else None

    def to_dict(self) -> Any:
        return self.experiment.to_dict(self.found)

    def show(self) -> None:
        """Print the tables and lines of the answer."""
        show(self.parts)


@dataclass(frozen=True)
class How:
    """How an experiment is carried out: where, in which form, and with which changes to all its
    runs. `command` is what a person types for the same."""

    out: Path | None = None
    quick: bool = False
    num_seeds: int = 1
    changes: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""


def ask(
    name: str,
    *,
    out: str | Path | None = None,
    quick: bool = False,
    seeds: int = 1,
    progress: Progress = no_progress,
    **given: Any,
) -> Outcome:
    """Carry out the experiment of that name. What is given by name is an option of it, or else a
    field of all its runs: `ask("minibatch", seeds=3, framework="jax")`."""
    experiment = experiments.get(name)
    own = {item.name for item in dataclasses.fields(experiment.options)}
    options = {key: value for key, value in given.items() if key in own}
    changes = {key: value for key, value in given.items() if key not in own}
    if changes and not experiment.fields and not experiment.takes_run:
        raise unknown("option", next(iter(changes)), own)
    if experiment.takes_run and "spec" not in options:
        smaller = {n: v for n, v in experiment.quick.items() if quick and n not in own}
        fields = {"framework": "fastest", **experiment.recipe_fields, **smaller, **changes}
        options["spec"] = resolve_fastest(recipes.get(experiment.recipe, **fields))
        changes = {}
    how = How(Path(out) if out else None, quick, seeds, changes)
    return carry_out(experiment, asked_with(experiment, options, quick), how, progress)


def asked_with(experiment: Experiment[Any, Any], given: Mapping[str, Any], quick: bool) -> Any:
    """The experiment's options with these values, read from text where they are text. In the quick
    form, options that are not given are those of that form."""
    values = {}
    for item in dataclasses.fields(experiment.options):
        value = given.get(item.name)
        if quick and value is None:
            value = experiment.quick.get(item.name)
        if value is not None:
            read = item.metadata.get("read")
            values[item.name] = read(value) if read and isinstance(value, str) else value
    return experiment.options(**values)


def carry_out(
    experiment: Experiment[Any, Any],
    asked: Any,
    how: How = How(),  # noqa: B008 - frozen
    progress: Progress = no_progress,
) -> Outcome:
    """Find the answer and write its files. Runs that the folder has already are not run again."""
    folder = how.out or default_folder(experiment.name, how.quick)
    refuse_other(folder, experiment.name)
    known = {item.name for item in dataclasses.fields(asked)}
    changes, quick = dict(how.changes), {}
    if experiment.fields and not experiment.takes_run:  # else the run that is asked about has them
        changes.setdefault("framework", experiment.framework)
        quick = {name: value for name, value in experiment.quick.items() if name not in known}
    work = Work(folder, progress, changes, quick if how.quick else {}, how.num_seeds)
    begin = time.perf_counter()
    _write_facts(folder, experiment, asked, how, None)
    found = experiment.run(asked, work)
    runs = folder / "runs"
    new = work.num_carried_out == len(list(runs.iterdir())) if runs.is_dir() else True
    # the time of all of it is known only if nothing was there before
    _write_facts(folder, experiment, asked, how, time.perf_counter() - begin if new else None)
    return _written(experiment, asked, found, folder, how)


def default_folder(name: str, quick: bool) -> Path:
    """Below the current folder; the quick form has one of its own.

    >>> default_folder("minibatch", True).as_posix()
    'experiments/minibatch-quick'
    """
    return ROOT / (f"{name}-quick" if quick else name)


def refuse_other(folder: Path, name: str) -> None:
    """Raise unless the folder is empty, missing, or of this experiment."""
    remedy = "Choose another folder with --out."
    if folder.exists() and not folder.is_dir():
        raise InputError("out", str(folder), "is a file", remedy)
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    held = recorded(folder).get("experiment")
    if held != name:
        what = f"belongs to the experiment {held}" if held else "holds other files"
        raise InputError("out", str(folder), what, remedy)


def recorded(folder: Path) -> dict[str, Any]:
    """What the folder of an experiment says of it; {} if it is none."""
    try:
        facts = json.loads((folder / FACTS).read_text())
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def seconds_here(name: str, quick: bool) -> float | None:
    """How long the experiment took here, None if it was not carried out below this folder."""
    value = recorded(default_folder(name, quick)).get("seconds")
    return float(value) if isinstance(value, int | float) else None


def _write_facts(
    folder: Path, experiment: Experiment[Any, Any], asked: Any, how: How, seconds: float | None
) -> None:
    before = recorded(folder).get("seconds")
    facts = {
        "experiment": experiment.name,
        "options": _settings(asked, how),
        "command": how.command,
        "lockstep": lockstep.__version__,
        "seconds": seconds if seconds is not None else before,
    }
    write_whole(folder / FACTS, json.dumps(facts, indent=2, default=str).encode())


def _settings(asked: Any, how: How) -> dict[str, Any]:
    values = {item.name: getattr(asked, item.name) for item in dataclasses.fields(asked)}
    spec = values.pop("spec", None)
    shown = {} if spec is None else {"run": getattr(spec, "name", spec)}
    shown |= {name: _plain(value) for name, value in values.items()}
    return shown | {"seeds": how.num_seeds} | {n: str(v) for n, v in how.changes.items()}


def _plain(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def _written(
    experiment: Experiment[Any, Any], asked: Any, found: Any, folder: Path, how: How
) -> Outcome:
    chart = experiment.chart(found) if experiment.chart else None
    files: list[Path] = []
    missing: list[str] = []
    answer = json.dumps(json_safe(experiment.to_dict(found)), default=str)
    write_whole(folder / "answer.json", answer.encode())
    if chart is not None:
        try:
            files = [save_figure(draw(chart), folder / f"figure{s}") for s in (".png", ".svg")]
        except MissingError as error:
            missing.append(str(error))
    told = Told(
        experiment.name,
        experiment.question,
        experiment.how,
        experiment.look_at,
        experiment.to_change,
        _settings(asked, how),
        machine_facts(),
        how.command or shlex.join(["lockstep", "experiment", experiment.name]),
        how.quick,
    )
    parts = list(experiment.tables(found))
    page = experiment_page(told, parts, chart)
    write_whole(folder / "page.html", page.encode())
    text = experiment_markdown(told, parts, files[-1].name if files else "")
    write_whole(folder / "answer.md", text.encode())
    return Outcome(experiment, found, folder, (*files, folder / "page.html"), tuple(missing))
