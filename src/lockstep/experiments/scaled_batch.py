"""What do k devices with k times the batch do to accuracy, and to the time it takes?

Trains a recipe on k devices with k times the batch, its learning rate multiplied by a rule (none,
linear, square_root). Every run sees the same examples; one on k devices makes k times fewer
updates, so without a larger learning rate it falls behind. Compare the accuracy of the rules at
the same epoch, and the time at which each reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lockstep.errors import InputError
from lockstep.experiments import Experiment, Progress, no_progress, option
from lockstep.report.charts import SERIES
from lockstep.report.figures import FONT, new_figure, style
from lockstep.report.quantities import metric, metric_name, parse_device_counts, parse_list
from lockstep.report.tables import filled
from lockstep.spec import RunSpec, scale_batch
from lockstep.spec.batch_scaling import base_rate
from lockstep.training import train
from lockstep.training.events import EpochCompleted, Event, StepsCompleted

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

DASHES = {"none": ":", "linear": "-", "square_root": "--"}


@dataclass(frozen=True)
class Question:
    """Which runs: every number of devices with every rule; one device needs none."""

    spec: RunSpec
    devices: tuple[int, ...] = option("1,2", "how many", read=parse_device_counts, metavar="LIST")
    rules: tuple[str, ...] = option(
        ",".join(DASHES), "of the learning rate", read=partial(parse_list, field="rules"),
        metavar="LIST",
    )  # fmt: skip
    warmup: int = option(0, "before the schedule, in its unit", metavar="N")

    def runs(self) -> Iterator[tuple[int, str, RunSpec]]:
        for k in self.devices:
            for rule in self.rules if k > 1 else ("none",):
                scaled = scale_batch(self.spec, k, rule, self.warmup if k > 1 else 0)
                yield k, rule, replace(scaled, devices=k)


@dataclass(frozen=True)
class Curve:
    """One run: its metric after each epoch, against the seconds spent in steps so far."""

    devices: int
    rule: str
    batch_size: int
    lr: float
    num_steps: int
    seconds: tuple[float, ...]
    values: tuple[float, ...]
    status: str

    @property
    def label(self) -> str:
        """
        >>> Curve(2, "linear", 512, 0.4, 118, (), (), "completed").label
        '2 devices, lr 0.4 (linear)'
        """
        rule = f" ({self.rule})" if self.devices > 1 else ""
        return f"{self.devices} device{'s'[: self.devices > 1]}, lr {self.lr:.3g}{rule}"


@dataclass(frozen=True)
class Answer:
    """The curves of all runs, and the metric that they show."""

    spec: RunSpec
    metric: str
    curves: tuple[Curve, ...]


def metric_of(spec: RunSpec) -> str:
    """What is compared: accuracy where something is classified, else the loss."""
    if not spec.evaluate:
        remedy = 'Give --evaluate test, or "train".'
        raise InputError("evaluate", spec.evaluate, "nothing is measured after an epoch", remedy)
    split = "test" if "test" in spec.evaluate else "final_train"
    return f"{split}_accuracy" if spec.data.kind == "fashion-mnist" else f"{split}_loss"


def run(asked: Question, progress: Progress = no_progress) -> Answer:
    """Carry out every run, one after another."""
    name = metric_of(asked.spec)
    runs = list(asked.runs())
    curves: list[Curve] = []
    for number, (k, rule, spec) in enumerate(runs):

        def report(share: float, what: str, done: int = number) -> None:
            progress((done + share) / len(runs), what)

        curves.append(_curve(k, rule, spec, name, report))
    return Answer(asked.spec, name, tuple(curves))


def _curve(k: int, rule: str, spec: RunSpec, name: str, progress: Progress) -> Curve:
    """Carry out one run."""
    in_steps = 0.0
    seconds: list[float] = []  # spent in steps at the end of each epoch

    def listen(event: Event) -> None:
        nonlocal in_steps
        if isinstance(event, StepsCompleted):
            in_steps += event.seconds
        elif isinstance(event, EpochCompleted):
            seconds.append(in_steps)
            progress(len(seconds) / spec.epochs, f"{k} devices, {rule}")

    result = train(spec, listeners=[listen])
    values = tuple(epoch.metrics[name] for epoch in result.history.epochs)
    steps, lr, known = len(result.history), base_rate(spec.schedule), tuple(seconds[: len(values)])
    return Curve(k, rule, spec.batch_size, lr, steps, known, values, result.status)


def tables(answer: Answer) -> Iterator[Table]:
    """A row for each run: what it was, and how it ended."""
    columns = (
        "devices", "rule", "batch size", "lr", "updates", "time", metric_name(answer.metric),
        "ended",
    )  # fmt: skip
    rows = [
        (
            str(curve.devices),
            curve.rule,
            str(curve.batch_size),
            f"{curve.lr:.3g}",
            str(curve.num_steps),
            f"{curve.seconds[-1]:.1f} s" if curve.seconds else "",
            metric(answer.metric, curve.values[-1]) if curve.values else "",
            curve.status,
        )
        for curve in answer.curves
    ]
    yield filled(columns, rows, left=("rule", "ended"))


def to_dict(answer: Answer) -> dict[str, Any]:
    return {"metric": answer.metric, "runs": [asdict(curve) for curve in answer.curves]}


def figure(answer: Answer) -> Figure:
    """The metric against time and against epochs: a colour for each number of devices, a dash for
    each rule."""
    spec, name = answer.spec, metric_name(answer.metric)
    title = f"{spec.name} in {spec.framework}: k devices, k times {spec.batch_size} examples"
    made = new_figure(11, 4.2, title)
    by_time, by_epoch = made.subplots(1, 2, sharey=True)
    style(by_time, f"{name} against time", "seconds in steps", "")
    style(by_epoch, f"{name} against epochs", "epochs", "")
    counts = sorted({curve.devices for curve in answer.curves})
    for curve in answer.curves:
        look = {
            "color": SERIES[counts.index(curve.devices) % len(SERIES)],
            "linestyle": DASHES[curve.rule] if curve.devices > 1 else "-",
            "marker": "o",
            "markersize": 3,
            "label": curve.label,
        }
        by_time.plot(curve.seconds, curve.values, **look)
        by_epoch.plot(range(1, len(curve.values) + 1), curve.values, **look)
    by_epoch.xaxis.get_major_locator().set_params(integer=True)
    by_epoch.legend(fontsize=FONT - 2, frameon=False)
    return made


EXPERIMENT = Experiment("scaled-batch", __doc__, Question, run, tables, to_dict, figure)
