"""Do the frameworks compute the same numbers, and how fast is each?

Trains the same run in every framework that is usable here, one after another, each in a process of
its own, and in NumPy in float64, the oracle. Every step is judged against the oracle: batches,
learning rate, loss, gradient norm, and the parameters at both ends. Steps are timed apart from
compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from lockstep.comparison import Comparison, Row, compare
from lockstep.experiments import Experiment, Progress, option
from lockstep.experiments.runs import Work
from lockstep.frameworks import environments, registry
from lockstep.report.charts import Bar, Chart, Panel, framework_colour
from lockstep.report.comparison_charts import deviation_panel, hue, note, time_panel
from lockstep.report.comparison_tables import first_beyond
from lockstep.report.quantities import deviation, duration, parse_list, rate
from lockstep.report.tables import TextTable
from lockstep.spec import RunSpec
from lockstep.training.events import Event, RunStarted, StepsCompleted

USABLE = "usable"
COLUMNS = (
    "framework", "largest deviation", "first difference", "steps/s", "middle half", "compile",
    "ran as",
)  # fmt: skip


def _names(text: str) -> tuple[str, ...]:
    names = parse_list(text, "framework")
    for name in names:
        if name != USABLE:
            registry.check_known(name)
    found = (n for name in names for n in (environments.usable() if name == USABLE else [name]))
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Question:
    """`spec` in each `framework`, its first `steps` updates."""

    spec: RunSpec
    framework: tuple[str, ...] = option(
        USABLE, "by name, or usable: all that are here", read=_names, metavar="LIST"
    )
    steps: int = option(40, "of the run", metavar="N")


def run(asked: Question, work: Work) -> Comparison:
    """The comparison; a framework that is missing or fails has a row that says so."""
    folder = next(path for n in count(1) if not (path := work.folder / f"comparison-{n}").exists())
    follow = _follow(work, len(asked.framework) + 1)
    return compare(
        asked.spec, frameworks=asked.framework, steps=asked.steps, out=folder, progress=follow
    )


def _follow(progress: Progress, num_rows: int) -> Callable[[str, Event | str], None]:
    done, num_steps = 0, 1

    def listen(label: str, event: Event | str) -> None:
        nonlocal done, num_steps
        if isinstance(event, RunStarted):
            num_steps = max(1, event.num_steps)
        elif isinstance(event, StepsCompleted):
            share = (event.step + len(event.loss)) / num_steps
            progress(min(1.0, (done + share) / num_rows), f"{label}: step {event.step:,}")
        elif isinstance(event, str) and event != "starting":
            done += 1
            progress(min(1.0, done / num_rows), f"{label}: {event}")

    return listen


# --- what was found -------------------------------------------------------------------------------


def tables(found: Comparison) -> Iterator[TextTable | str]:
    """A row for each framework, the outcome in a sentence, and what is to be said of some."""
    spec = found.spec
    title = f"{spec.name}: {found.num_steps} steps, {spec.precision}, {spec.style}"
    rows = [_cells(row) for row in found.rows]
    yield TextTable(COLUMNS, rows, ("framework", "ran as"), title)
    yield f"{'agree' if found.agree else 'no'}: {found.verdict}"
    if found.hint:
        yield found.hint
    for row in found.rows:
        if row.problem:
            yield f"{row.label} {row.status}: {row.problem}"
    yield (
        f"deviation: of the loss, relative, the largest of all steps; tolerance "
        f"{deviation(found.tolerances['loss'])}; the middle half is that of calls of several steps"
    )
    yield f"every quantity and step: {found.directory / 'report.html'}"


def _cells(row: Row) -> list[str]:
    return [
        row.label,
        "-" if row.oracle else deviation(row.deviation),
        first_beyond(row),
        rate(row.rate.median) if row.rate else "",
        f"{rate(row.rate.low)} to {rate(row.rate.high)}" if row.rate else "",
        duration(row.compile_seconds),
        "; ".join(row.notes) if row.ended else row.status,
    ]


def chart(found: Comparison) -> Chart:
    """Deviation from the oracle, loss against time, and the speed of each framework."""
    trained = [row for row in found.rows if row.rate]
    names = ", ".join(dict.fromkeys(row.framework for row in trained))
    title = f"{found.spec.name}, {found.spec.precision}: the same run in {names}"
    panels = (deviation_panel(found), time_panel(found), speed_panel(trained))
    return Chart(title, panels, note(found))


def speed_panel(rows: Sequence[Row]) -> Panel:
    """Steps per second of every row that made some."""
    bars = tuple(
        Bar(
            place,
            row.rate.median,
            colour=framework_colour(hue(row)),
            low=row.rate.low,
            high=row.rate.high,
        )
        for place, row in enumerate(rows)
        if row.rate
    )
    names = tuple(row.label for row in rows)
    return Panel("speed (compilation apart)", "steps/s", "", bars=bars, rows=names, wide=True)


LOOK_AT = """
Deviation first. In float32 every framework differs from the oracle by rounding: about 1e-7 at the
first steps, and more later, for a difference in one update is carried into the next. A framework
that computed something else would stand out from the first step on. With --precision float64 the
deviations fall to about 1e-15; then what is left is not rounding of float32.

The order of speeds belongs to this model, this batch and this machine. A small model is a test of
how little a framework does beside the arithmetic; a large one of its kernels. Compilation is not in
the speed: its seconds are a column of their own, and a short run may be over before it pays.
"""

EXPERIMENT = Experiment(
    "frameworks",
    __doc__,
    Question,
    run,
    tables,
    Comparison.to_dict,
    chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment frameworks --precision float64",
        "lockstep experiment frameworks airfoil-linear --steps 300",
        "lockstep experiment frameworks fashion-lenet --style concise --framework torch,jax",
    ),
    quick={"steps": 20, "model.num_hiddens": 32, "data.max_tokens": 5000},
    recipe="timemachine-gru",
    seconds=(17, 6),
)
