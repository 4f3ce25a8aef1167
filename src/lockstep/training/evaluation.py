"""Metrics of an epoch, and those measured between: sums and counts, divided once."""

from __future__ import annotations

import math

from lockstep.frameworks.protocol import Sums
from lockstep.spec import RunSpec
from lockstep.task import Task
from lockstep.training.events import StepsEvaluated
from lockstep.training.run_state import Training, keep_last_good


def epoch_metrics(run: Training, epoch: int) -> dict[str, float]:
    """train_loss (mean over the epoch's steps), its perplexity for symbols, evaluated splits'."""
    metrics = train_metrics(run.task, run.sums.loss, run.sums.count)
    return metrics | evaluate_splits(run) if _measures(run, epoch) else metrics


def train_metrics(task: Task, loss: float, count: float) -> dict[str, float]:
    """Those of an epoch's steps, from the sum of its losses."""
    metrics = {"train_loss": loss / count} if count else {}
    if task.time_first and metrics:
        metrics["train_perplexity"] = perplexity(metrics["train_loss"])
    return metrics


def _measures(run: Training, epoch: int) -> bool:
    """Whether the end of an epoch that has come to it is one at which splits are measured."""
    return run.step == run.num_steps or (epoch + 1) % run.spec.evaluate_epochs == 0


def evaluate_if_due(run: Training, epoch: int) -> None:
    """Measure at multiples of evaluate_steps, unless the end of the epoch does it anyway."""
    every = run.spec.evaluate_steps
    if not every or run.step % every or (run.step == run.epoch_end and _measures(run, epoch)):
        return
    metrics = evaluate_splits(run)
    if not stop_if_broken(run, metrics):
        run.emit(StepsEvaluated(run.step, epoch, metrics, run.seconds))
        run.observe(metrics)


def evaluate_splits(run: Training) -> dict[str, float]:
    """The metrics of every split that the run evaluates."""
    metrics: dict[str, float] = {}
    for split in run.spec.measured:
        metrics |= evaluate_split(run, split)
    return metrics


def evaluate_split(run: Training, split: str) -> dict[str, float]:
    """Loss over every example of a split; perplexity of symbols; accuracy of a classifier; own
    metrics."""
    return split_metrics(run.task, split, run.program.evaluate(run.state, split))


def split_metrics(task: Task, split: str, sums: Sums) -> dict[str, float]:
    """The metrics of a split, from the sums over it."""
    loss = sums.loss / task.total_weight(split)
    values = {"loss": loss, "perplexity": perplexity(loss), "accuracy": sums.correct / sums.count}
    if task.metrics:
        examples = task.num_examples(split)
        own = zip(task.metrics, sums.metrics, strict=True)
        values |= {name: value / examples for name, value in own}
    return {name: values[kind] for kind, name in task.metric_names(split).items()}


def watched(spec: RunSpec) -> str:
    """The metric that a plateau watches: the same one throughout a run."""
    splits = [split for split in ("validation", "test") if split in spec.measured]
    return f"{splits[0]}_loss" if splits else "train_loss"


def stop_if_broken(run: Training, metrics: dict[str, float]) -> bool:
    """Whether a measured loss is not finite. If so, the run stops at the last state that was good;
    of initial weights there is none."""
    broken = _broken_loss(metrics)
    last = run.previous_call  # its last update broke the weights that were measured
    if broken is None or last is None:
        return False
    keep_last_good(run, last, len(last.rows), broken)
    return True


def _broken_loss(metrics: dict[str, float]) -> float | None:
    """A loss that is not finite, None where all are."""
    losses = (value for name, value in metrics.items() if name.endswith("_loss"))
    return next((loss for loss in losses if not math.isfinite(loss)), None)


def perplexity(loss: float) -> float:
    """exp of the mean loss per symbol.

    >>> round(perplexity(math.log(28)), 6)
    28.0
    """
    return math.exp(loss) if loss < 700 else math.inf
