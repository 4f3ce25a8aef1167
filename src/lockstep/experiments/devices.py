"""Do k devices train the same model as one, and at which cost?

Trains the chapter's LeNet (average pooling, b=256, lr 0.2, 10 epochs, the last two at a tenth of
the rate) on 1, 2, 4 and 8 devices. `batch_size` is that of all devices together: each computes its
part of every batch, and the gradients are summed over all of them. So every run sees the same
batches in the same order and makes the same updates, up to the order of additions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lockstep import recipes
from lockstep.comparison.verdict import relative_deviation
from lockstep.experiments import option
from lockstep.experiments.allreduce import algorithms
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import SERIES, Bar, Chart, Guide, Panel, Series, thinned
from lockstep.report.comparison_charts import LEAST
from lockstep.report.curves import LoggedRun, panel
from lockstep.report.quantities import duration, format_size, metric, parse_device_counts
from lockstep.report.tables import TextTable
from lockstep.schedules import multi_factor
from lockstep.spec import RunSpec
from lockstep.task import model_of

ACCURACY = "test_accuracy"
SAME = 1e-6  # a relative deviation of the loss that nobody would see
COLUMNS = (
    "run", "ran as", "test accuracy", "points from 1 device", f"loss within {SAME:g} until",
    "time in steps", "sent by a device",
)  # fmt: skip
WIDTHS = (7.0, 4.4, 2.6, 1.3)  # curves that coincide are seen one upon the other


@dataclass(frozen=True)
class Question:
    """Numbers of devices; one device is always trained too, for all are compared with it."""

    devices: tuple[int, ...] = option(
        "1,2,4,8", "how many", read=parse_device_counts, metavar="LIST"
    )


def runs(asked: Question) -> Iterator[Planned]:
    fields = {"model.pooling": "avg", "framework": "torch"}
    # at 0.2 to the end, the accuracy is an accident of the last batches: it moves by a point
    drop = multi_factor(0.2, milestones=(8,), factor=0.1)
    spec = recipes.fashion_lenet(schedule=drop, epochs=10, **fields)
    for count in sorted({1, *asked.devices}):
        name = "1 device" if count == 1 else f"{count} devices"
        yield Planned(name, recipes.changed(spec, {"devices": count}))


def sent(spec: RunSpec, num_steps: int) -> int:
    """Bytes of gradients that a device sends in so many steps, counted by the plan of the ring:
    2 S (k-1)/k a step, S the size of the gradient.

    >>> spec = recipes.fashion_lenet(precision="float64", devices=4)  # 61,706 weights
    >>> sent(spec, 10), 10 * 2 * 8 * 61706 * 3 // 4
    (7404800, 7404720)
    """
    length = sum(array.size for array in model_of(spec).initial_weights(0).values())
    itemsize = int(spec.precision.removeprefix("float")) // 8
    return num_steps * itemsize * max(algorithms.ring(spec.devices, length).sent)


def one_device(run: LoggedRun, found: Runs) -> LoggedRun:
    """The same run on one device."""
    same = (run.spec.framework, run.spec.seed)
    return next(r for r in found if r.spec.devices == 1 and (r.spec.framework, r.spec.seed) == same)


def points(run: LoggedRun, found: Runs) -> float:
    """By how many points of test accuracy a run is better than the same on one device."""
    both = run, one_device(run, found)
    ours, theirs = (each.metrics.get(ACCURACY, math.nan) for each in both)
    return 100 * (ours - theirs)


def deviations(run: LoggedRun, found: Runs) -> np.ndarray:
    """Of the loss of every step from that on one device: relative, the largest so far."""
    losses = [np.asarray(each.history[:, "loss"]) for each in (run, one_device(run, found))]
    return np.maximum.accumulate(relative_deviation(*losses))


def _same_until(run: LoggedRun, found: Runs) -> str:
    beyond = np.flatnonzero(deviations(run, found) > SAME)
    return f"step {beyond[0]:,}" if len(beyond) else "the end"


def tables(found: Runs) -> Iterator[TextTable | str]:
    rows = []
    for label in found.labels:
        same = found.of(label)
        first = same[0]
        seconds = sum(run.history.seconds for run in same) / len(same)
        rows.append(
            [
                label,
                ", ".join(first.history.notes),
                metric(ACCURACY, found.mean(label, ACCURACY)),
                "" if first.spec.devices == 1 else _widest(points(run, found) for run in same),
                "" if first.spec.devices == 1 else _same_until(first, found),
                duration(seconds),
                format_size(sent(first.spec, len(first.history))),
            ]
        )
    yield TextTable(COLUMNS, rows, left=COLUMNS[:2])
    yield (
        "what a device sends is counted, not measured: gradients summed over a ring, 2 S (k-1)/k "
        "bytes a step"
    )


def _widest(values: Iterator[float]) -> str:
    """The difference that is the largest in size, of all seeds."""
    return f"{max(values, key=abs):+.2f}"


def chart(found: Runs) -> Chart:
    """Accuracy against epochs and against time; how far the losses are from one device's; time and
    bytes of each number of devices."""
    counts = sorted({run.spec.devices for run in found})
    looks = {"width": lambda run: WIDTHS[min(counts.index(run.spec.devices), len(WIDTHS) - 1)]}
    everything = list(found)
    by_epoch, by_time = (
        panel(everything, ACCURACY, x, looks=looks, y_log=False) for x in ("epoch", "seconds")
    )
    firsts = [found[label] for label in found.labels]
    times = [found.of(label) for label in found.labels]
    bars = tuple(
        Bar(
            place,
            sum(run.history.seconds for run in same) / len(same),
            colour=_colour(same[0], counts),
            low=min(run.history.seconds for run in same),
            high=max(run.history.seconds for run in same),
        )
        for place, same in enumerate(times)
    )
    moved = tuple(
        Bar(place, sent(run.spec, len(run.history)) / 1e6, colour=_colour(run, counts))
        for place, run in enumerate(firsts)
    )
    names = tuple(found.labels)
    return found.chart(
        "LeNet on k devices, the same batches",
        by_epoch,
        deviation_panel(found),
        by_time,
        Panel("time of all steps", "seconds", "", bars=bars, rows=names),
        Panel("sent by each device (counted)", "MB", "", bars=moved, rows=names),
    )


def deviation_panel(found: Runs) -> Panel:
    """How far the loss is from that of one device, step by step; of seeds the first."""
    series = []
    for label in found.labels:
        run = found[label]
        if run.spec.devices > 1:
            values = np.maximum(deviations(run, found), LEAST)
            series.append(Series(label, *thinned(np.arange(len(values)), values)))
    y = f"relative, largest so far (0 drawn at {LEAST:g})"
    title = "deviation of the loss from one device's"
    return Panel(title, "step", y, tuple(series), y_log=True, guides=(Guide(SAME, f"{SAME:g}"),))


def _colour(run: LoggedRun, counts: list[int]) -> str:
    return SERIES[counts.index(run.spec.devices) % len(SERIES)]


LOOK_AT = """
Look at the deviation of the loss from that of one device. At first it is that of rounding, about
1e-7: k devices make the updates of one device. Nothing but the order in which numbers are added
depends on k.

Then it grows. While the loss falls fast, this training makes any difference larger from step to
step, and after some hundred steps runs that differed in the seventh digit have different losses. In
float64 it begins at 1e-16, and the losses stay together longer: try --precision float64. From there
on the accuracies are equal as those of two equally good runs are: at the full rate they may differ
at the end of an epoch by about as much as one epoch's differs from the next, and at a tenth of it,
in the last two epochs, they come together again.

Against time the picture is this machine's. As many devices as it has cores share the arithmetic;
more of them take turns, and each step waits for the slowest. What a device sends hardly grows:
2 S (k-1)/k is S for two devices and never more than 2 S.
"""

EXPERIMENT = of_runs(
    "devices",
    __doc__,
    runs,
    tables=tables,
    chart=chart,
    options=Question,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment devices --precision float64 --devices 1,2",
        "lockstep experiment devices --framework jax",
        "lockstep experiment devices --devices 1,2 --batch-size 1024 --seeds 3",
    ),
    # LeNet with max-pooling learns something in so few steps, the other form does not
    quick={
        "devices": "1,2",
        "epochs": 2,
        "batch_size": 32,
        "data.max_examples": 4096,
        "model.pooling": "max",
    },
    framework="torch",
    seconds=(600, 9),
)
