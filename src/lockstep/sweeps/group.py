"""A group of settings that one program trains together: same shapes, other rates and seeds.

Each setting gets the losses and metrics that its run alone would have. One whose loss is no longer
finite has diverged: it is left as it was then, and the others go on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lockstep.array_files import grouped
from lockstep.frameworks.protocol import ManyProgram, State, Sums
from lockstep.frameworks.step import initial_snapshot
from lockstep.ops import Snapshot
from lockstep.spec import RunSpec
from lockstep.task import Task
from lockstep.training.evaluation import split_metrics, train_metrics
from lockstep.training.rates import Rates
from lockstep.training.run_state import CALL_SECONDS, SAVE_SECONDS

Save = Callable[["Group"], None]
Report = Callable[[int], None]  # steps done, of each setting


@dataclass
class Progress:
    """What the host knows of one setting."""

    rates: Rates
    status: str = "running"
    num_steps: int = 0  # whose loss is finite
    sums: list[float] = field(default_factory=lambda: [0.0, 0.0])  # of the epoch: losses, examples
    metrics: dict[str, float] = field(default_factory=dict)


class Group:
    """Settings under way. `tasks` has the task of every setting: those of one seed share theirs."""

    def __init__(
        self, program: ManyProgram, tasks: Sequence[Task], specs: Sequence[RunSpec]
    ) -> None:
        self.program, self.tasks, self.specs = program, tasks, specs
        task, spec = tasks[0], specs[0]
        self.steps_per_epoch = task.plan.num_batches
        total = spec.epochs * self.steps_per_epoch
        self.num_steps = min(total, spec.max_steps) if spec.max_steps else total
        self.step, self.seconds, self.stopped = 0, 0.0, False
        self.losses = np.full((self.num_steps, len(specs)), np.nan)
        self.settings = [Progress(Rates(s.schedule, s.schedule_per)) for s in specs]
        self.state: State = None
        self._same_batches = all(t is task for t in tasks)
        self._pace = 32.0

    def start(self) -> None:
        """Canonical initial weights: those of one seed are drawn once."""
        seeds = {spec.seed: (task, spec) for task, spec in zip(self.tasks, self.specs, strict=True)}
        first = {seed: initial_snapshot(*its)() for seed, its in seeds.items()}
        self.state = self.program.load([first[spec.seed] for spec in self.specs])

    def run(self, save: Save, report: Report) -> None:
        """Train to the end, or until `stopped`. `save` is called at most every ten seconds, after
        an epoch, and when the group is stopped."""
        self.program.prepare(self.state, self._blocks(0))
        saved = time.monotonic()
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            while not self.finished and not self.stopped:
                epoch = self.step // self.steps_per_epoch
                self._epoch(epoch, report)
                if not self.finished and time.monotonic() - saved > SAVE_SECONDS:
                    save(self)
                    saved = time.monotonic()
        if self.stopped and not self.finished:
            save(self)

    @property
    def alive(self) -> bool:
        """Whether any setting still trains."""
        return any(setting.status == "running" for setting in self.settings)

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.step == self.num_steps or not self.alive

    # --- one epoch --------------------------------------------------------------------------------

    def _epoch(self, epoch: int, report: Report) -> None:
        """The rest of an epoch, from the batch it has come to."""
        batch = self.step - epoch * self.steps_per_epoch
        end = min((epoch + 1) * self.steps_per_epoch, self.num_steps)
        if batch == 0:
            self.state = self.program.restart_carry(self.state)
            for setting in self.settings:
                setting.sums = [0.0, 0.0]
        for block in self._blocks(epoch):
            start = min(batch, len(block))
            batch -= start
            while start < len(block) and self.step < end and not self.stopped:
                size = min(int(self._pace), end - self.step)
                start += self._call(block[start : start + size], epoch)
                report(self.step)
        if self.step == end:
            self._end_epoch(epoch)

    def _blocks(self, epoch: int) -> list[np.ndarray]:
        """Rows (n, b) where all settings have the same batches, else (n, S, b)."""
        if self._same_batches:
            return self.tasks[0].plan.epoch(epoch)
        plans = {id(task): task.plan.epoch(epoch) for task in self.tasks}
        blocks = zip(*(plans[id(task)] for task in self.tasks), strict=True)
        return [np.stack(block, axis=1) for block in blocks]

    def _call(self, rows: np.ndarray, epoch: int) -> int:
        count = len(rows)
        lrs = np.stack([s.rates.lrs(self.step, count, epoch) for s in self.settings], axis=1)
        begin = time.perf_counter()
        self.state, log = self.program.steps(self.state, rows, lrs, self.step)
        losses = self.program.fetch(log)
        seconds = time.perf_counter() - begin
        self._record(losses, rows.shape[-1])
        self.step, self.seconds = self.step + count, self.seconds + seconds
        self._pace = min(4 * max(self._pace, count), CALL_SECONDS * count / max(seconds, 1e-9) + 1)
        return count

    def _record(self, losses: np.ndarray, batch_size: int) -> None:
        count = len(losses)
        self.losses[self.step : self.step + count] = losses
        finite = np.isfinite(losses)
        good = np.where(finite.all(axis=0), count, np.argmin(finite, axis=0))
        before = np.array([setting.sums[0] for setting in self.settings])
        # added one by one, as a run alone does
        totals = np.add.accumulate(np.vstack([before, losses * float(batch_size)]))[-1]
        for i, setting in enumerate(self.settings):
            if setting.status != "running":
                continue
            setting.num_steps = self.step + int(good[i])
            setting.sums = [float(totals[i]), setting.sums[1] + count * batch_size]
            if good[i] < count:
                setting.status = "diverged"

    def _end_epoch(self, epoch: int) -> None:
        task, spec = self.tasks[0], self.specs[0]
        last = self.step == self.num_steps
        found: dict[str, list[Sums]] = {}
        if last or (epoch + 1) % spec.evaluate_epochs == 0:
            found = {split: self.program.evaluate(self.state, split) for split in spec.evaluate}
        watched = "test_loss" if "test" in spec.evaluate else "train_loss"
        for i, setting in enumerate(self.settings):
            if setting.status != "running":
                continue
            metrics = train_metrics(task, *setting.sums)
            for split, sums in found.items():
                metrics |= split_metrics(task, split, sums[i])
            if not all(math.isfinite(v) for n, v in metrics.items() if n.endswith("_loss")):
                setting.status = "diverged"
                continue
            setting.rates.observe(metrics, watched)
            setting.metrics |= metrics
            setting.status = "completed" if last else "running"

    # --- kept on disk -----------------------------------------------------------------------------

    def to_snapshot(self) -> tuple[Snapshot, dict[str, Any]]:
        """The state of all settings as one set of arrays, and what the host knows beside it."""
        each = self.program.dump(self.state)
        arrays = {
            f"{group}/{name}": np.stack([getattr(s, group)[name] for s in each])
            for group in ("weights", "slots", "carry")
            for name in getattr(each[0], group)
        }
        arrays["losses"] = self.losses[: self.step]
        settings = [vars(s) | {"rates": s.rates.to_dict()} for s in self.settings]
        return Snapshot(arrays), {"step": self.step, "seconds": self.seconds, "settings": settings}

    def take_up(self, snapshot: Snapshot, facts: dict[str, Any]) -> None:
        """Continue where `to_snapshot` was."""
        arrays = grouped(snapshot.weights)
        each = [
            Snapshot(*({n: v[i] for n, v in arrays.get(g, {}).items()} for g in _GROUPS))
            for i in range(len(self.specs))
        ]
        self.state = self.program.load(each)
        self.step, self.seconds = facts["step"], facts["seconds"]
        self.losses[: self.step] = arrays["losses"][""]
        self.settings = [
            replace(Progress(**values), rates=Rates(s.schedule, s.schedule_per, values["rates"]))
            for values, s in zip(facts["settings"], self.specs, strict=True)
        ]


_GROUPS = ("weights", "slots", "carry")
