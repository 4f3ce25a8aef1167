"""What do k devices with k times the batch do to accuracy, and to the time it takes?

Trains a recipe on k devices with k times the batch, its learning rate kept, multiplied by the
square root of k, or by k, the last also with a warm-up from the old rate. Every run sees the same
examples; one on k devices makes k times fewer updates, so without a larger learning rate it falls
behind. Compare the accuracy of the rules at the same epoch, and the time at which each reaches it.
Unless another recipe is named: LeNet, 64 images a device, lr 0.05, 8 epochs of 15,000 images.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lockstep.errors import InputError
from lockstep.experiments import option
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import SERIES, Chart
from lockstep.report.curves import LoggedRun, panel
from lockstep.report.quantities import (
    duration,
    lr,
    metric,
    metric_name,
    parse_device_counts,
    parse_list,
)
from lockstep.report.tables import TextTable
from lockstep.spec import RunSpec, scale_batch
from lockstep.spec.batch_scaling import RULES, base_rate

KEPT, WARMED = "none", "linear with warm-up"
LOOKS = {KEPT: "dotted", "square_root": "dashed", "linear": "solid", WARMED: "dashdot"}


@dataclass(frozen=True)
class Case:
    """One run: so many devices and a rule of the learning rate."""

    devices: int
    rule: str
    spec: RunSpec

    @property
    def label(self) -> str:
        """
        >>> from lockstep import recipes
        >>> Case(2, "linear", recipes.fashion_lenet(lr=0.6)).label
        '2 devices, lr 0.6 (linear)'
        """
        rate = f"lr {lr(base_rate(self.spec.schedule))}"
        if self.devices == 1:
            return f"1 device, {rate}"
        return f"{self.devices} devices, {rate} ({self.rule})"


@dataclass(frozen=True)
class Question:
    """Which runs: every number of devices with every rule, and the linear one with warm-up too; one
    device needs none."""

    spec: RunSpec
    devices: tuple[int, ...] = option("1,4", "how many", read=parse_device_counts, metavar="LIST")
    rules: tuple[str, ...] = option(
        ",".join(RULES), "of the learning rate", read=partial(parse_list, field="rules"),
        metavar="LIST",
    )  # fmt: skip
    warmup: int = option(
        2, "of the linear rule once more, in the schedule's unit; 0: without it", metavar="N"
    )

    def __post_init__(self) -> None:
        metric_of(self.spec)
        list(self.cases())  # what cannot be asked is refused before anything is written

    def cases(self) -> Iterator[Case]:
        spec = self.spec
        for k in self.devices:
            for rule in self.rules if k > 1 else (KEPT,):
                yield Case(k, rule, replace(scale_batch(spec, k, rule), devices=k))
            if k > 1 and "linear" in self.rules and self.warmup:
                warmed = scale_batch(spec, k, "linear", self.warmup)
                yield Case(k, WARMED, replace(warmed, devices=k))


def runs(asked: Question) -> Iterator[Planned]:
    for case in asked.cases():
        yield Planned(case.label, case.spec)


def metric_of(spec: RunSpec) -> str:
    """What is compared: accuracy where something is classified, else the loss."""
    if not spec.evaluate:
        remedy = 'Give --evaluate test, or "train".'
        raise InputError("evaluate", spec.evaluate, "nothing is measured after an epoch", remedy)
    split = "test" if "test" in spec.evaluate else "final_train"
    return f"{split}_accuracy" if spec.data.kind == "fashion-mnist" else f"{split}_loss"


def rule_of(run: LoggedRun) -> str:
    """The rule that a run's label names."""
    return next((rule for rule in LOOKS if run.label.endswith(f"({rule})")), KEPT)


def tables(found: Runs) -> Iterator[TextTable | str]:
    """A row for each run: what it was, and how it ended."""
    name = metric_of(found.all[0].spec)
    columns = (
        "devices", "rule", "batch size", "lr", "updates", "time in steps", metric_name(name),
        "ended",
    )  # fmt: skip
    rows = []
    for label in found.labels:
        same = found.of(label)
        run = same[0]
        rows.append(
            [
                str(run.spec.devices),
                rule_of(run),
                f"{run.spec.batch_size:,}",
                lr(base_rate(run.spec.schedule)),
                f"{len(run.history):,}",
                duration(sum(each.history.seconds for each in same) / len(same)),
                metric(name, found.mean(label, name)),
                ", ".join(dict.fromkeys(each.status for each in same)),
            ]
        )
    yield TextTable(columns, rows, left=("rule", "ended"))


def to_dict(found: Runs) -> dict[str, Any]:
    name = metric_of(found.all[0].spec)
    values = []
    for run, facts in zip(found, found.to_dict(), strict=True):
        own = {"devices": run.spec.devices, "rule": rule_of(run), "batch_size": run.spec.batch_size}
        own |= {"lr": base_rate(run.spec.schedule), "num_steps": len(run.history)}
        met = [event for event in run.history.epochs if name in event.metrics]
        own |= {"seconds": tuple(event.seconds for event in met)}
        own |= {"values": tuple(event.metrics[name] for event in met)}
        values.append({**facts, **own})
    return {"metric": name, "runs": values}


def chart(found: Runs) -> Chart:
    """The metric against epochs and against time: a colour for each number of devices, a dash for
    each rule."""
    spec = found.all[0].spec
    counts = sorted({run.spec.devices for run in found})
    looks = {
        "colour": lambda run: SERIES[counts.index(run.spec.devices) % len(SERIES)],
        "dash": lambda run: "solid" if run.spec.devices == 1 else LOOKS[rule_of(run)],
        "marker": "circle",
    }
    title = f"{spec.name} in {spec.framework}: k devices, k times {_small(found)} examples"
    panels = [panel(found.all, metric_of(spec), x, looks=looks) for x in ("epoch", "seconds")]
    return found.chart(title, *panels)


def _small(found: Runs) -> int:
    """The batch of one device."""
    return found.all[0].spec.batch_size // found.all[0].spec.devices


LOOK_AT = """
Look at the curves against epochs first. With the rate kept, k times the batch makes k times fewer
updates, each no larger than before, and falls behind. A larger rate makes up for it: the square
root for a part, the linear rule for most. With warm-up the first epochs keep a rate near the old
one, and are behind in them: it is meant for rates that are too large at the very beginning, when
the weights change fastest, and costs a little where they are not.

There is a limit: at some k the scaled rate is more than the model bears, with or without warm-up,
and accuracy falls to that of guessing. Try --lr 0.3, the recipe's own.

Against time the picture depends on the machine: k devices save time only where there are k cores,
or cards, to compute on. On fewer they take turns; a larger batch then helps only in that fewer
steps have fewer fixed costs.
"""

EXPERIMENT = of_runs(
    "scaled-batch",
    __doc__,
    runs,
    tables=tables,
    chart=chart,
    to_dict=to_dict,
    options=Question,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment scaled-batch --devices 1,2,4,8 --rules linear",
        "lockstep experiment scaled-batch --lr 0.1",
        "lockstep experiment scaled-batch fashion-mlp --devices 1,8 --warmup 5",
    ),
    quick={
        "devices": "1,2",
        "rules": "none,linear",
        "lr": 0.15,
        "batch_size": 32,
        "epochs": 3,
        "data.max_examples": 4096,
    },
    recipe="fashion-lenet",
    # rates that LeNet bears four times as large, and a size that is over in minutes
    recipe_fields={"lr": 0.05, "batch_size": 64, "epochs": 8, "data.max_examples": 15000},
    seconds=(71, 22),
)
