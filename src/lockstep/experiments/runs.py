"""The runs of an experiment: carried out one after another in its folder, and taken up there.

A run's folder is named after its label and the hash of its spec, so a run that is there already is
never carried out again, whatever else the experiment is asked: more seeds, another framework.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lockstep import recipes
from lockstep.errors import InputError
from lockstep.experiments import Experiment, NoOptions, Progress, no_progress
from lockstep.frameworks import environments, fastest, registry
from lockstep.report.charts import Chart
from lockstep.report.curves import LoggedRun, note, read_run
from lockstep.report.quantities import duration, metric, metric_name, number, parse_list
from lockstep.report.tables import TextTable
from lockstep.spec import RunSpec
from lockstep.spec.batch_scaling import base_rate
from lockstep.spec.convert import flatten
from lockstep.training import resume, train
from lockstep.training.audience import Callback, Listener
from lockstep.training.directory import RunDirectory, holds_run
from lockstep.training.events import Event, RunStarted, StepsCompleted
from lockstep.training.in_processes import Launch, processes_needed


class Interrupted(KeyboardInterrupt):
    """A person stopped the experiment; what is done is kept."""


@dataclass(frozen=True)
class Planned:
    """A run that is to be carried out. `callbacks` steer or watch it; they are called at every
    multiple of `event_steps` at least, and only in this process. `listener(folder)` makes one that
    hears of the run wherever it is carried out, and may keep files in its folder."""

    label: str
    spec: RunSpec
    callbacks: tuple[Callback, ...] = ()
    event_steps: int = 0
    listener: Callable[[Path], Listener] | None = None


@dataclass
class Work:
    """Where and how an experiment is carried out: its folder, who hears of its progress, and what
    is to be changed in every run of it. `quick` are the changes of its quick form."""

    folder: Path
    progress: Progress = no_progress
    changes: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    num_seeds: int = 1
    num_carried_out: int = 0  # runs that were not in the folder already

    def __call__(self, share: float, what: str) -> None:
        self.progress(share, what)

    def carry_out(self, runs: Iterable[Planned], part: tuple[float, float] = (0.0, 1.0)) -> Runs:
        """Carry out what the folder lacks of these runs; all of them, as their folders hold them.
        They are the part of the whole work from share part[0] to part[1]."""
        return self.carry_out_planned(self.planned(runs), part)

    def carry_out_planned(
        self, planned: Sequence[Planned], part: tuple[float, float] = (0.0, 1.0)
    ) -> Runs:
        """The same for runs as `planned` gives them."""
        for run in planned:  # what is missing is named before hours are spent on other runs
            if not _is_over(self._folder(run)):
                if run.callbacks:  # first: an environment would not help
                    _refuse_other_process(run.spec)
                environments.interpreter(run.spec.framework)
        costs = [_cost(run.spec) for run in planned]
        done, (begin, end) = 0.0, part
        found = []
        for run, cost in zip(planned, costs, strict=True):

            def report(share: float, what: str, done: float = done, cost: float = cost) -> None:
                self((begin + (end - begin) * (done + share * cost) / sum(costs)), what)

            found.append(self._carried_out(run, report))
            done += cost
        return Runs(tuple(found))

    def planned(self, runs: Iterable[Planned]) -> list[Planned]:
        """The runs with what was asked changed, once for each framework and seed."""
        runs = list(runs)
        changes = dict(self.changes)
        _refuse_varied(changes, [run.spec for run in runs])
        asked = str(changes.pop("framework", ""))
        named = parse_list(asked, "framework") if asked else ("",)
        everything = {**self.quick, **changes}
        runs = [replace(run, spec=recipes.changed(run.spec, everything)) for run in runs]
        found = [
            replace(
                run,
                label=f"{framework}: {run.label}" if len(named) > 1 else run.label,
                spec=replace(
                    run.spec, framework=_chosen(framework or run.spec.framework, runs), seed=seed
                ),
            )
            for framework in named
            for run in runs
            for seed in range(run.spec.seed, run.spec.seed + self.num_seeds)
        ]
        folders = [folder_name(run) for run in found]
        if len(set(folders)) < len(folders):
            twice = next(name for name in folders if folders.count(name) > 1)
            problem = "the experiment plans the same run twice"
            raise InputError("run", twice, problem, "Leave out what makes its runs equal.")
        return found

    def _folder(self, run: Planned) -> Path:
        return self.folder / "runs" / folder_name(run)

    def _carried_out(self, run: Planned, report: Progress) -> LoggedRun:
        folder = self._folder(run)
        listeners = [_follow(run.label, report)]
        if run.listener is not None:
            listeners.append(run.listener(folder))
        if not _is_over(folder):
            self.num_carried_out += 1
            how: dict[str, Any] = {"listeners": listeners, "callbacks": run.callbacks}
            how |= {"event_steps": run.event_steps, "progress": False}
            begun = holds_run(folder)
            result = resume(folder, **how) if begun else train(run.spec, out=folder, **how)
            if result.status == "interrupted":
                raise Interrupted(f"{run.label}: interrupted at step {len(result.history):,}")
        report(1.0, run.label)
        return read_run(RunDirectory(folder), run.label)


def folder_name(run: Planned) -> str:
    """
    >>> folder_name(Planned("b=10, SGD", recipes.airfoil_linear()))[:11]
    'b=10-sgd-s0'
    """
    label = re.sub(r"[^a-z0-9=.+-]+", "-", run.label.lower()).strip("-")
    return f"{label}-s{run.spec.seed}-{run.spec.hash}"


def _is_over(folder: Path) -> bool:
    """Whether a folder holds a run that has ended; one that diverged has, too."""
    return holds_run(folder) and RunDirectory(folder).status in ("completed", "diverged")


def _refuse_other_process(spec: RunSpec) -> None:
    """Raise for a run that this process does not carry out: no callback sees it."""
    if not processes_needed(spec, Launch()):
        return
    problem = "trains in another process, and this experiment looks into the run as it trains"
    remedy = "Choose a framework that is installed here, such as numpy, and one device."
    if registry.is_installed(spec.framework) and spec.devices > 1:
        raise InputError("devices", spec.devices, f"{spec.framework} {problem}", remedy)
    raise InputError("framework", spec.framework, problem, remedy)


def _refuse_varied(changes: Mapping[str, Any], specs: Sequence[RunSpec]) -> None:
    """Raise for a field whose value is not the same in all runs: it is what is compared."""
    flat = [flatten(spec.to_dict()) | {"lr": _base(spec)} for spec in specs]
    for name, value in changes.items():
        whole = {repr({k: v for k, v in f.items() if f"{k}.".startswith(f"{name}.")}) for f in flat}
        if name != "framework" and len(whole) > 1:
            problem = "is what the runs of this experiment differ in"
            raise InputError(name, value, problem, f"Leave --{name.replace('_', '-')} out.")


def _base(spec: RunSpec) -> float | None:
    try:
        return base_rate(spec.schedule)
    except InputError:
        return None


def _chosen(framework: str, runs: Sequence[Planned]) -> str:
    """A framework's name; "fastest" is the one for the longest run."""
    if framework != fastest.FASTEST:
        return framework
    longest = max((run.spec for run in runs), key=fastest.num_steps)
    return fastest.resolve_fastest(replace(longest, framework=fastest.FASTEST)).framework


def _cost(spec: RunSpec) -> float:
    """About how long a run takes, in seconds; only the ratios matter."""
    known = spec.framework in fastest.COSTS and spec.model.kind in fastest.COLUMNS
    return fastest.seconds(spec.framework, spec) if known else 0.01 * fastest.num_steps(spec)


def _follow(label: str, report: Progress) -> Callable[[Event], None]:
    num_steps = 1

    def listen(event: Event) -> None:
        nonlocal num_steps
        if isinstance(event, RunStarted):
            num_steps = max(1, event.num_steps)
            report(event.step / num_steps, f"{label}: starting")
        elif isinstance(event, StepsCompleted):
            step = event.step + len(event.loss)
            loss = number(float(event.loss[-1]))
            report(step / num_steps, f"{label}: step {step:,}/{num_steps:,}, loss {loss}")

    return listen


# --- what came of them ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Runs:
    """The runs of an experiment as their folders hold them, in the order of their plan."""

    all: tuple[LoggedRun, ...]

    def __iter__(self) -> Iterator[LoggedRun]:
        return iter(self.all)

    def __getitem__(self, label: str) -> LoggedRun:
        """The first run with a label."""
        return next(run for run in self.all if run.label == label)

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(run.label for run in self.all))

    def of(self, label: str) -> list[LoggedRun]:
        """The runs with a label: one for each seed."""
        return [run for run in self.all if run.label == label]

    def mean(self, label: str, quantity: str) -> float:
        """The mean over seeds of a metric at the end; nan where it is not measured."""
        values = [run.metrics.get(quantity, float("nan")) for run in self.of(label)]
        return sum(values) / len(values)

    def table(self, *metrics: str, title: str = "") -> TextTable:
        """A row for each label: how it ended, its metrics (means over seeds), steps and time."""
        rows = []
        for label in self.labels:
            same = self.of(label)
            values = (self.mean(label, name) for name in metrics)
            rows.append(
                [
                    label,
                    ", ".join(dict.fromkeys(run.status for run in same)),
                    *(metric(n, v) for n, v in zip(metrics, values, strict=True)),
                    f"{len(same[0].history):,}",
                    duration(sum(run.history.seconds for run in same) / len(same)),
                ]
            )
        names = [metric_name(name) for name in metrics]
        columns = ("run", "ended", *names, "steps", "time in steps")
        return TextTable(columns, rows, left=("run", "ended"), title=title)

    def chart(self, title: str, *panels: Any, columns: int = 2) -> Chart:
        """Panels under a title, with what every figure says of its runs."""
        return Chart(title, panels, note(self.all), columns)

    def to_dict(self) -> list[dict[str, Any]]:
        return [
            {
                "label": run.label,
                "run": str(run.path),
                "framework": run.spec.framework,
                "seed": run.spec.seed,
                "status": run.status,
                "steps": len(run.history),
                "seconds": run.history.seconds,
                "metrics": run.metrics,
            }
            for run in self.all
        ]


def of_runs(
    name: str,
    about: str,
    runs: Callable[[Any], Iterable[Planned]],
    *,
    tables: Callable[[Runs], Iterable[TextTable | str]],
    chart: Callable[[Runs], Chart],
    to_dict: Callable[[Runs], Any] = Runs.to_dict,
    options: type = NoOptions,
    **others: Any,
) -> Experiment[Any, Runs]:
    """An experiment that is a list of runs, `runs(asked)`, and a table and a figure of them."""

    def run(asked: Any, work: Work) -> Runs:
        return work.carry_out(runs(asked))

    return Experiment(name, about, options, run, tables, to_dict, chart, fields=True, **others)
