"""The one way to carry out many runs.

Settings that share everything but schedule and seed are trained together where their framework can
(`Framework.many_program`); the others in processes, as many at a time as there are cores.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from lockstep.checks import whole
from lockstep.errors import InputError
from lockstep.frameworks import registry
from lockstep.frameworks.fastest import resolve_fastest
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.frameworks.protocol import ManyProgram
from lockstep.processes import threads
from lockstep.processes.interrupts import first_interrupt
from lockstep.schedules import constant
from lockstep.showing import reporting
from lockstep.spec import RunSpec
from lockstep.sweeps.grid import LARGEST, Grid
from lockstep.sweeps.group import Group
from lockstep.sweeps.in_workers import Planned, carry_out_in_workers
from lockstep.sweeps.sweep_folder import SweepFolder, open_folder
from lockstep.sweeps.trials import Sweep, Trial, check_metric, chosen_metric
from lockstep.task import Own, Task, assemble, check_net, check_own
from lockstep.training import checkpoints

Progress = Callable[[float, str], None]  # the share of the work that is done, and what was last


class SweepInterrupted(KeyboardInterrupt):
    """A person stopped the sweep; what is done is kept in its folder, if it has one."""


def sweep(
    run: RunSpec,
    own: Own | None = None,
    *,
    grid: Grid | None = None,
    out: str | Path | None = None,
    processes: int = 0,
    metric: str = "",
    progress: Progress | bool | None = None,
    confirmed: bool = False,
    **axes: Iterable[Any],
) -> Sweep:
    """Train a run for every combination of values: `ls.sweep(run, lr=[0.1, 0.3], seed=[0, 1])`.

    An axis is a field by dotted name (`**{"model.num_hiddens": [64, 128]}`), `lr` or `schedule`.
    With `out`, results are kept in that folder, and what is there already is not trained again.
    `metric` says which is best; without it, accuracy or loss of the test split if measured. Where
    settings cannot be trained together, `processes` at a time are (0: as many as cores). More than
    1,000 runs need `confirmed=True`. `progress(share, text)` hears how far it is; without it a
    terminal or a notebook shows that, unless it is False.

    >>> from lockstep import recipes
    >>> found = sweep(recipes.airfoil_linear(framework="jax"), lr=[0.01, 0.05])
    >>> found.best.settings, len(found.rows)
    ({'lr': 0.05}, 2)
    """
    if isinstance(own, Mapping):
        remedy = "Write the axes by name: ls.sweep(run, lr=[0.1, 0.3]), or sweep(run, **axes)."
        raise InputError("own", list(own), "are axes, where a task of your own may be", remedy)
    grid = grid or Grid({name: _listed(name, values) for name, values in axes.items()})
    if grid.size > LARGEST and not confirmed:
        problem, remedy = f"gives {grid.size:,} runs", "Add --yes (confirmed=True) to train them."
        raise InputError("grid", " ".join(grid.axes), problem, remedy)
    if metric:
        check_metric(metric)
    run = resolve_fastest(run)
    planned = [(setting, resolve_fastest(spec)) for setting, spec in grid.specs(run)]
    for name in dict.fromkeys(spec.framework for _, spec in planned):
        registry.check_known(name)
    number = whole("processes", processes or threads.available(), most=4096)
    with ExitStack() as stack:
        report = stack.enter_context(reporting("work_follower", progress, "sweep"))
        if out is not None:
            folder = stack.enter_context(open_folder(Path(out), run, grid))
        else:
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="lockstep-"))
            folder = SweepFolder(Path(place))
        work = _Work(planned, own, folder, number, report, keep=out is not None)
        work.carry_out()
    rows = tuple(work.done[spec.hash] for _, spec in planned)
    chosen = chosen_metric(metric, rows)
    return Sweep(run, grid, rows, chosen, tuple(work.notes), Path(out) if out else None)


class _Work:
    """What is done and what is left of a sweep's settings."""

    def __init__(
        self,
        planned: Sequence[Planned],
        own: Own | None,
        folder: SweepFolder,
        processes: int,
        report: Progress,
        *,
        keep: bool,
    ) -> None:
        self._by_hash = {spec.hash: (setting, spec) for setting, spec in planned}
        self._own, self._folder, self._processes = own, folder, processes
        self._report, self._keep = report, keep
        self.done: dict[str, Trial] = folder.done(self._by_hash) if keep else {}
        self.notes: list[str] = []
        self._shares: dict[str, float] = dict.fromkeys(self.done, 1.0)
        self._stop = threading.Event()
        self._group: Group | None = None
        self._tasks: dict[str, Task] = {}

    def carry_out(self) -> None:
        if self.done:
            self.notes.append(f"{len(self.done)} of {len(self._by_hash)} settings were done before")
        with first_interrupt(self._interrupt):
            alone: list[Planned] = []
            for group in self._groups():
                if self._stop.is_set():
                    break
                if not self._train_together(group):
                    alone += group
            if alone and not self._stop.is_set():
                self._train_in_workers(alone)
        if len(self.done) < len(self._by_hash):
            text = f"interrupted: {len(self.done)} of {len(self._by_hash)} settings are done"
            if not self._keep:
                text += "; with out= they would be kept, and the same call would go on"
            raise SweepInterrupted(text)

    def _interrupt(self) -> None:
        self._stop.set()
        if self._group is not None:
            self._group.stopped = True

    def _groups(self) -> list[list[Planned]]:
        """Settings that are left, those together that differ in schedule and seed alone."""
        groups: dict[RunSpec, list[Planned]] = {}
        for setting, spec in self._by_hash.values():
            if spec.hash not in self.done:
                key = replace(spec, schedule=constant(1.0), seed=0)
                groups.setdefault(key, []).append((setting, spec))
        return [*groups.values()]

    # --- together ---------------------------------------------------------------------------------

    def _train_together(self, planned: list[Planned]) -> bool:
        """Whether the settings could be trained by one program, and were, unless stopped."""
        if not _fits_many(planned[0][1]):
            return False
        tasks: dict[int, Task] = {}
        for _, spec in planned:
            if spec.seed not in tasks:
                tasks[spec.seed] = self._task(spec)
        # data that is generated from the seed cannot be shared
        by_data: dict[str, list[Planned]] = {}
        for setting, spec in planned:
            by_data.setdefault(str(tasks[spec.seed].facts), []).append((setting, spec))
        for part in by_data.values():
            first = part[0][1]
            framework = registry.get(first.framework)
            program = framework.compile_many(tasks[first.seed], first, len(part))
            if program is None:
                return False
            if not self._stop.is_set():
                self._train_group(part, program, [tasks[spec.seed] for _, spec in part])
        return True

    def _train_group(self, part: list[Planned], program: ManyProgram, tasks: list[Task]) -> None:
        specs = [spec for _, spec in part]
        group = self._group = Group(program, tasks, specs)
        kept = self._folder.group_folder(specs)
        found = checkpoints.newest_whole(kept) if self._keep else checkpoints.Found()
        if found.snapshot is not None:
            group.take_up(found.snapshot, found.facts)
            self.notes.append(f"{len(part)} settings went on from step {group.step:,}")
        else:
            group.start()

        def save(group: Group) -> None:
            if self._keep:
                snapshot, facts = group.to_snapshot()
                checkpoints.save(kept, group.step, snapshot, facts)

        def report(step: int) -> None:
            self._shares |= dict.fromkeys((s.hash for s in specs), step / group.num_steps)
            self._show(f"{len(specs)} settings together: step {step:,}/{group.num_steps:,}")

        group.run(save, report)
        self._group = None
        if not group.finished:
            return
        self.notes += [note for note in program.notes if note not in self.notes]
        trials = [_trial(group, i, setting) for i, (setting, _) in enumerate(part)]
        if self._keep:
            self._folder.add(trials, group.losses)
            self._folder.forget_group(specs)
        self.done |= {trial.spec.hash: trial for trial in trials}

    def _task(self, spec: RunSpec) -> Task:
        check_own(spec, self._own, None)
        task = assemble(spec, self._own)
        check_net(task, NumpyOps("float64"))
        return task

    # --- in processes -----------------------------------------------------------------------------

    def _train_in_workers(self, planned: list[Planned]) -> None:
        number = min(self._processes, len(planned))
        self.notes.append(f"{len(planned)} settings in processes, {number} at a time")

        def report(hash: str, share: float) -> None:
            self._shares[hash] = share

        self._show(f"{number} processes start")
        workers = carry_out_in_workers(planned, self._own, self._folder, number, self._stop, report)
        for trial in workers:
            self.done[trial.spec.hash] = trial
            self._shares[trial.spec.hash] = 1.0
            if self._keep:
                self._folder.add([trial])
            self._show(f"{len(self.done)}/{len(self._by_hash)} settings done")

    def _show(self, text: str) -> None:
        self._report(sum(self._shares.values()) / len(self._by_hash), text)


def _fits_many(spec: RunSpec) -> bool:
    """Whether a run may be one of many in this process; its program decides the rest."""
    here = registry.is_installed(spec.framework)
    own_threads = spec.threads and not threads.are(spec.threads)
    # loss between the ends of epochs, and when to stop, is a run's own affair
    alone = spec.evaluate_steps or spec.patience or spec.devices > 1
    if not here or own_threads or alone:
        return False
    return registry.get(spec.framework).many_program is not None


def _trial(group: Group, i: int, setting: dict[str, Any]) -> Trial:
    losses = group.losses[: group.finite_steps[i], i]
    metrics = group.metrics[i] | ({"loss": float(losses[-1])} if len(losses) else {})
    seconds = group.seconds / len(group.specs)
    return Trial(setting, group.specs[i], group.status(i), metrics, seconds, losses)


def _listed(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        remedy = f"Write {name}=[...]."
        raise InputError(f"grid {name}", values, "must be a list of values", remedy)
    return tuple(v.item() if hasattr(v, "item") else v for v in values)
