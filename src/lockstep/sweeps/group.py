"""A group of settings that one program trains together: same shapes, other rates and seeds.

Each setting gets the losses and metrics that its run alone would have. One whose loss is no longer
finite has diverged: it is left as it was then, and the others go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lockstep.array_files import grouped
from lockstep.frameworks.protocol import ManyProgram, State, Sums
from lockstep.frameworks.step import initial_snapshot
from lockstep.ops import Snapshot
from lockstep.schedules import ReduceOnPlateau
from lockstep.spec import RunSpec
from lockstep.task import Task
from lockstep.training.evaluation import split_metrics, train_metrics, watched
from lockstep.training.rates import Rates
from lockstep.training.run_state import CALL_SECONDS, SAVE_SECONDS

FIRST_CALL = 1e6  # weights times examples times settings of the first call, about

Save = Callable[["Group"], None]
Report = Callable[[int], None]  # steps done, of each setting


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
        self.state: State = None
        # of every setting, in arrays: of small models the host would take longer than the device
        self.rates = [Rates(s.schedule, s.schedule_per) for s in specs]
        self.metrics: list[dict[str, float]] = [{} for _ in specs]
        self.diverged = np.zeros(len(specs), bool)
        self.finite_steps = np.zeros(len(specs), np.int64)  # steps whose loss is finite
        self._loss_sums = np.zeros(len(specs))  # of the epoch
        self._examples = 0  # of the epoch
        self._ended: tuple[np.ndarray, int, dict[str, list[Sums]]] | None = None  # last epoch's
        self._same_batches = all(t is task for t in tasks)
        self._watches = any(isinstance(s.schedule, ReduceOnPlateau) for s in specs)
        self._pace = 32.0

    def start(self) -> None:
        """Canonical initial weights: those of one seed are drawn once."""
        seeds = {spec.seed: (task, spec) for task, spec in zip(self.tasks, self.specs, strict=True)}
        first = {seed: initial_snapshot(*its)() for seed, its in seeds.items()}
        self.state = self.program.load([first[spec.seed] for spec in self.specs])
        size = sum(weight.size for weight in first[self.specs[0].seed].weights.values())
        self._pace += FIRST_CALL / (len(self.specs) * self.specs[0].batch_size * size)

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
    def finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.step == self.num_steps or bool(self.diverged.all())

    def status(self, index: int) -> str:
        """diverged, completed or running."""
        if self.diverged[index]:
            return "diverged"
        return "completed" if self.step == self.num_steps else "running"

    # --- one epoch --------------------------------------------------------------------------------

    def _epoch(self, epoch: int, report: Report) -> None:
        """The rest of an epoch, from the batch it has come to."""
        batch = self.step - epoch * self.steps_per_epoch
        end = min((epoch + 1) * self.steps_per_epoch, self.num_steps)
        if batch == 0:
            self.state = self.program.restart_carry(self.state)
            self._loss_sums[:], self._examples = 0.0, 0
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
        lrs = self._lrs(count, epoch)
        begin = time.perf_counter()
        self.state, log = self.program.steps(self.state, rows, lrs, self.step)
        losses = self.program.fetch(log)
        seconds = time.perf_counter() - begin
        self._record(losses, rows.shape[-1])
        self.step, self.seconds = self.step + count, self.seconds + seconds
        self._pace = min(4 * max(self._pace, count), CALL_SECONDS * count / max(seconds, 1e-9) + 1)
        return count

    def _lrs(self, count: int, epoch: int) -> np.ndarray:
        """The rates of the next `count` steps: (n, S)."""
        same = [rates.same_lr(self.step, epoch) for rates in self.rates]
        if None not in same:
            return np.broadcast_to(np.array(same, np.float64), (count, len(same)))
        return np.stack([rates.lrs(self.step, count, epoch) for rates in self.rates], axis=1)

    def _record(self, losses: np.ndarray, batch_size: int) -> None:
        count = len(losses)
        self.losses[self.step : self.step + count] = losses
        finite = np.isfinite(losses)
        good = np.where(finite.all(axis=0), count, np.argmin(finite, axis=0))
        running = ~self.diverged
        self.finite_steps[running] = (self.step + good)[running]
        # added one by one, as a run alone does
        parts = np.vstack([self._loss_sums, losses * float(batch_size)])
        self._loss_sums = np.add.accumulate(parts)[-1]
        self._examples += count * batch_size
        self._mark_diverged(running & (good < count))

    def _end_epoch(self, epoch: int) -> None:
        spec, last = self.specs[0], self.step == self.num_steps
        found: dict[str, list[Sums]] = {}
        if last or (epoch + 1) % spec.evaluate_epochs == 0:
            found = {split: self.program.evaluate(self.state, split) for split in spec.measured}
        finite = np.isfinite(self._loss_sums)
        for sums in found.values():
            finite &= np.isfinite([one.loss for one in sums])
        self._mark_diverged(~self.diverged & ~finite)
        if self._ended is not None and self._ended[2] and not found:
            self._keep_metrics()  # what was measured then is the newest of its kind
        self._ended = (self._loss_sums.copy(), self._examples, found)
        if last or self._watches:
            self._keep_metrics(watched(spec))

    def _mark_diverged(self, which: np.ndarray) -> None:
        """Leave these settings as they are: with the metrics of their last whole epoch."""
        if which.any():
            self._keep_metrics()
            self.diverged |= which

    def _keep_metrics(self, watched: str = "") -> None:
        """Metrics of the epoch that ended last, for the settings that reached its end; plateaus
        are shown the one that they watch."""
        if self._ended is None:
            return
        sums, examples, found = self._ended
        for i in np.flatnonzero(~self.diverged).tolist():
            metrics = train_metrics(self.tasks[0], float(sums[i]), examples)
            for split, each in found.items():
                metrics |= split_metrics(self.tasks[0], split, each[i])
            self.metrics[i] |= metrics
            self.rates[i].observe(metrics, watched)
        self._ended = None

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
        self._keep_metrics()
        facts = {
            "step": self.step,
            "seconds": self.seconds,
            "rates": [rates.to_dict() for rates in self.rates],
            "metrics": self.metrics,
            "diverged": self.diverged.tolist(),
            "finite_steps": self.finite_steps.tolist(),
            "loss_sums": self._loss_sums.tolist(),
            "examples": self._examples,
        }
        return Snapshot(arrays), facts

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
        self.rates = [
            Rates(s.schedule, s.schedule_per, state)
            for s, state in zip(self.specs, facts["rates"], strict=True)
        ]
        self.metrics = facts["metrics"]
        self.diverged = np.array(facts["diverged"], bool)
        self.finite_steps = np.array(facts["finite_steps"], np.int64)
        self._loss_sums, self._examples = np.array(facts["loss_sums"]), facts["examples"]


_GROUPS = ("weights", "slots", "carry")
