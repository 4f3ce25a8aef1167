"""k devices with k times the batch: what that does to accuracy and to the time it takes.

Every run sees the same examples; one on k devices makes k times fewer updates, so that its learning
rate has to grow by some rule, or it falls behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockstep.errors import InputError
from lockstep.report.numbers import metric_name
from lockstep.report.style import FONT, SERIES, new_figure, style
from lockstep.spec import RunSpec, scale_batch
from lockstep.spec.batch_scaling import base_rate
from lockstep.training import Result, train
from lockstep.training.events import EpochCompleted, Event, StepsCompleted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Progress = Callable[[str, float], None]  # what is being trained, and the part of all that is done


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
class Question:
    """Which runs: every number of devices with every rule; one device needs none."""

    spec: RunSpec
    devices: tuple[int, ...]
    rules: tuple[str, ...]
    warmup: int = 0

    def runs(self) -> Iterator[tuple[int, str, RunSpec]]:
        for k in self.devices:
            for rule in self.rules if k > 1 else ("none",):
                scaled = scale_batch(self.spec, k, rule, self.warmup if k > 1 else 0)
                yield k, rule, replace(scaled, devices=k)


def metric_of(spec: RunSpec) -> str:
    """What is compared: accuracy where something is classified, else the loss."""
    if not spec.evaluate:
        remedy = 'Give --evaluate test, or "train".'
        raise InputError("evaluate", spec.evaluate, "nothing is measured after an epoch", remedy)
    split = "test" if "test" in spec.evaluate else "final_train"
    return f"{split}_accuracy" if spec.data.kind == "fashion-mnist" else f"{split}_loss"


def run(asked: Question, progress: Progress = lambda what, done: None) -> list[Curve]:
    """Carry out every run, one after another."""
    metric = metric_of(asked.spec)
    runs = list(asked.runs())
    curves: list[Curve] = []
    for number, (k, rule, spec) in enumerate(runs):
        heard = _Heard(f"{k} devices, {rule}", number, len(runs), spec.epochs, progress)
        result = train(spec, listeners=[heard])
        curves.append(_curve(k, rule, spec, result, heard.seconds, metric))
    return curves


class _Heard:
    """Adds up the seconds of steps at the end of each epoch, and tells how far all has come."""

    def __init__(self, what: str, number: int, count: int, epochs: int, progress: Progress) -> None:
        self.seconds: list[float] = []
        self._total = 0.0
        self._tell = lambda: progress(what, (number + len(self.seconds) / epochs) / count)

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepsCompleted):
            self._total += event.seconds
        elif isinstance(event, EpochCompleted):
            self.seconds.append(self._total)
            self._tell()


def _curve(
    k: int, rule: str, spec: RunSpec, result: Result, seconds: Sequence[float], metric: str
) -> Curve:
    ended = result.history.epochs
    return Curve(
        k,
        rule,
        spec.batch_size,
        base_rate(spec.schedule),
        len(result.history),
        tuple(seconds[: len(ended)]),
        tuple(epoch.metrics[metric] for epoch in ended),
        result.status,
    )


DASHES = {"none": ":", "linear": "-", "square_root": "--"}


def scaled_batch_figure(curves: Sequence[Curve], metric: str, title: str) -> Figure:
    """A colour for each number of devices, a dash for each rule."""
    figure = new_figure(11, 4.2, title)
    by_time, by_epoch = figure.subplots(1, 2, sharey=True)
    name = metric_name(metric)
    style(by_time, f"{name} against time", "seconds in steps", "")
    style(by_epoch, f"{name} against epochs", "epochs", "")
    colours = {
        k: SERIES[i % len(SERIES)] for i, k in enumerate(sorted({c.devices for c in curves}))
    }
    for curve in curves:
        look = {
            "color": colours[curve.devices],
            "linestyle": DASHES[curve.rule] if curve.devices > 1 else "-",
            "marker": "o",
            "markersize": 3,
            "label": curve.label,
        }
        by_time.plot(curve.seconds, curve.values, **look)
        by_epoch.plot(range(1, len(curve.values) + 1), curve.values, **look)
    by_epoch.xaxis.get_major_locator().set_params(integer=True)
    by_epoch.legend(fontsize=FONT - 2, frameon=False)
    return figure
