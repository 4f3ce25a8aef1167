"""Do k devices train the same model as one, and at which cost?

Trains the chapter's LeNet (average pooling, b=256, lr 0.2, 10 epochs, float64) on 1, 2, 4 and 8
devices. `batch_size` is that of all devices together: each computes its part of every batch, and
the gradients are summed over all of them. So every run sees the same batches in the same order and
makes the same updates, up to the order in which numbers are added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from lockstep import recipes
from lockstep.experiments import option
from lockstep.experiments.allreduce import algorithms
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import SERIES, Bar, Chart, Panel
from lockstep.report.curves import LoggedRun, panel
from lockstep.report.quantities import duration, format_size, metric, parse_device_counts
from lockstep.report.tables import TextTable
from lockstep.spec import RunSpec
from lockstep.task import model_of

ACCURACY = "test_accuracy"
COLUMNS = (
    "run", "ran as", "test accuracy", "points from 1 device", "time in steps", "sent by a device",
)  # fmt: skip
WIDTHS = (7.0, 4.4, 2.6, 1.3)  # curves that coincide are seen one upon the other


@dataclass(frozen=True)
class Question:
    """Numbers of devices; one device is always trained too, for all are compared with it."""

    devices: tuple[int, ...] = option(
        "1,2,4,8", "how many", read=parse_device_counts, metavar="LIST"
    )


def runs(asked: Question) -> Iterator[Planned]:
    fields = {"model.pooling": "avg", "precision": "float64", "framework": "torch"}
    spec = recipes.fashion_lenet(lr=0.2, epochs=10, **fields)
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


def points(run: LoggedRun, found: Runs) -> float:
    """By how many points of test accuracy a run is better than the same on one device."""
    same = (run.spec.framework, run.spec.seed)
    one = next(r for r in found if r.spec.devices == 1 and (r.spec.framework, r.spec.seed) == same)
    ours, theirs = (each.metrics.get(ACCURACY, math.nan) for each in (run, one))
    return 100 * (ours - theirs)


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
    """Accuracy against epochs and against time; time and bytes of each number of devices."""
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
        by_time,
        Panel("time of all steps", "seconds", "", bars=bars, rows=names),
        Panel("sent by each device (counted)", "MB", "", bars=moved, rows=names),
    )


def _colour(run: LoggedRun, counts: list[int]) -> str:
    return SERIES[counts.index(run.spec.devices) % len(SERIES)]


LOOK_AT = """
Against epochs the curves lie upon each other: k devices make the updates of one device, so the
accuracy is the same, and the number of devices is a question of time only.

The runs are in float64. In float32 the order of sums, which depends on the number of devices,
changes the last digits, and ten epochs later these alone move the accuracy by up to a point: a
difference that says nothing about data parallelism.

Against time they part. As many devices as this machine has cores share the arithmetic; with more of
them the same work is cut into smaller parts, and each step waits for the slowest of more devices
and exchanges more. What a device sends hardly grows: 2 S (k-1)/k is S for two devices and never
more than 2 S.
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
        "lockstep experiment devices --precision float32",
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
)
