"""Comparing: one run in several frameworks, or on several numbers of devices, against the oracle.

The oracle is NumPy in float64 on one device. Runs are carried out one after another, each in
processes of its own, so that their times are honest; a framework that is missing, crashes or hangs
spoils its own row only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from lockstep.comparison import verdict
from lockstep.comparison.outcome import Outcome, make_row
from lockstep.comparison.rows import Comparison, row_label
from lockstep.errors import InputError, MissingError, RunDirectoryError
from lockstep.files import disk_error, write_whole
from lockstep.frameworks import environments, registry
from lockstep.frameworks.protocol import Program
from lockstep.ops import Arrays, Snapshot
from lockstep.processes.children import WorkerError
from lockstep.showing import reporting
from lockstep.spec import OwnData, RunSpec
from lockstep.task import Own, Task, assemble
from lockstep.training.audience import Audience
from lockstep.training.carry_out import carry_out
from lockstep.training.events import Event
from lockstep.training.in_processes import Launch, as_launch
from lockstep.training.machine import machine_facts

STEPS = 200  # of a comparison, unless the spec or the call says more
TIMEOUT = 1800.0  # seconds for each row
SILENCE = 300.0  # seconds: covers the longest compilation and evaluation seen
ORACLE = "numpy (oracle)"
EXAMPLES = 64  # about so many are looked at to see whether the oracle learned something

Progress = Callable[[str, Event | str], None]  # row's label, and an event or a status


def compare(
    spec: RunSpec,
    own: Own | None = None,
    *,
    frameworks: Iterable[str] | None = None,
    devices: Iterable[int] | None = None,
    steps: int | None = None,
    tolerance: float | None = None,
    start: Snapshot | None = None,
    launch: Launch | str = "auto",
    out: str | Path | None = None,
    progress: Progress | bool | None = None,
    timeout: float = TIMEOUT,
    interpreters: Mapping[str, str] | None = None,
) -> Comparison:
    """Carry out `spec` in each framework (all usable here, unless named), on each number of devices
    (the spec's, unless given), and judge every step against the oracle.

    `tolerance` is that of the loss, relative; 1e-9 in float64 and 1e-4 in float32 unless given.
    `steps` bounds the run; without it the spec's max_steps or else 200 does. `start` and `launch`
    are as in `train`. `progress(label, event)` gets every event, and a status as text when a row
    starts and ends; without it a terminal or a notebook shows them, unless it is False.
    `interpreters` names a Python for frameworks that are neither here nor in an
    environment of their own. The page, comparison.json and a run folder for each row are written
    below `out`.
    """
    limits = verdict.tolerances(spec.precision, tolerance)
    spec = _bounded(spec, steps)
    cases = _cases(spec, frameworks, devices)
    _check_own(spec, own)
    task = assemble(spec, own)  # the same for every row
    folder = _folder(spec, out)
    launch = replace(as_launch(launch), apart=True, silence=min(SILENCE, timeout), timeout=timeout)

    def run(label: str, case: RunSpec, launch: Launch, report: Progress) -> Outcome:
        name = "oracle" if label == ORACLE else label.replace(" ", "-")
        path = folder / name
        outcome = Outcome(case, path)
        audience = Audience(listeners=[outcome.record, lambda event: report(label, event)])
        report(label, "starting")
        try:
            carry_out(case, own, path, audience, start=start, launch=launch, task=task)
        except (WorkerError, MissingError, RunDirectoryError) as error:
            outcome.fail(error)
        report(label, outcome.status)
        if outcome.status == "interrupted":
            raise KeyboardInterrupt
        return outcome

    oracle_spec = replace(
        spec, framework="numpy", precision="float64", style="scratch", devices=1, threads=0
    )
    with reporting("compare_follower", progress, [ORACLE, *map(_label, cases)]) as report:
        here = Launch(apart=True, python=sys.executable, timeout=timeout)
        oracle = run(ORACLE, oracle_spec, here, report)
        if oracle.error is not None and oracle.status in ("failed", "missing"):
            raise oracle.error  # every row would say the same
        rows = [make_row(oracle, oracle, limits)]
        for case in cases:
            python = (interpreters or {}).get(case.framework, "")
            outcome = run(_label(case), case, replace(launch, python=python), report)
            rows.append(make_row(outcome, oracle, limits))
    before = after = None
    moved = False
    if oracle.ended:
        before, after = _loss_before_and_after(oracle_spec, task, oracle.weights)
        moved = verdict.loss_moved(before, after, limits["loss"])
    facts = machine_facts()
    found = Comparison(spec, tuple(rows), limits, moved, before, after, facts, folder)
    content = json.dumps(found.to_dict(), indent=2).encode()
    write_whole(folder / "comparison.json", content)
    found.report(folder / "report.html")
    return found


def _label(case: RunSpec) -> str:
    return row_label(case.framework, case.devices)


def _cases(
    spec: RunSpec, frameworks: Iterable[str] | None, devices: Iterable[int] | None
) -> list[RunSpec]:
    """The run of every row, one for each framework and number of devices."""
    names = list(dict.fromkeys(frameworks)) if frameworks is not None else environments.usable()
    for name in names:
        registry.check_known(name)
    counts = list(dict.fromkeys(devices)) if devices is not None else [spec.devices]
    cases = [_case(spec, name, count) for name in names for count in counts]
    cases = [case for case in cases if not _is_oracle(case)]
    if not cases:
        raise InputError(
            "frameworks",
            ",".join(names),
            "leaves nothing to compare: numpy in float64 is the oracle itself",
            "Name another framework, such as torch or jax, or --precision float32.",
        )
    return cases


def _case(spec: RunSpec, name: str, devices: int) -> RunSpec:
    # numpy has no layers of its own; its scratch form has the same canonical weights
    style = "scratch" if name == "numpy" else spec.style
    return replace(spec, framework=name, devices=devices, style=style)


def _is_oracle(case: RunSpec) -> bool:
    return case.framework == "numpy" and case.precision == "float64" and case.devices == 1


def _bounded(spec: RunSpec, steps: int | None) -> RunSpec:
    if steps is not None and steps < 1:
        raise InputError("steps", steps, "must be at least 1", "Give a number such as 200.")
    return replace(spec, max_steps=steps or spec.max_steps or STEPS)


def _check_own(spec: RunSpec, own: Own | None) -> None:
    """A worker finds a person's model by its file, so there must be one."""
    if not isinstance(spec.data, OwnData):
        return
    if own is None:
        raise InputError("own", None, "is missing", "Give the task: ls.compare(run, mine).")
    if own.native is not None:
        problem = "is a module of one framework, so there is no oracle to compare it with"
        raise InputError("model", type(own.native).__name__, problem, "Write it over Ops.")
    if not own.reference:
        problem = "has no file in which the other processes can find it"
        raise InputError("model", "own", problem, "Define it with def at the top of a .py file.")


def _folder(spec: RunSpec, out: str | Path | None) -> Path:
    """The folder asked for, which must be new or empty; or a new one below reports/."""
    base = Path("reports") / f"{spec.name}-{spec.hash}"
    path, number = Path(out) if out is not None else base, 1
    while True:
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            if out is not None and path.is_dir() and not any(path.iterdir()):
                return path
            if out is not None:
                raise RunDirectoryError(
                    f"out = {str(out)!r}: is not empty. Choose another folder with --out."
                ) from None
            number += 1
            path = base.with_name(f"{base.name}-{number}")
        except OSError as error:
            raise disk_error(path, error) from error


# --- did the oracle learn anything? Equal losses of runs that stood still prove nothing -----------


def _loss_before_and_after(spec: RunSpec, task: Task, weights: Arrays) -> tuple[float, float]:
    """Mean loss of the first batches under the initial weights, and under `weights`.

    The losses of two steps differ by their batches alone, so the same batches are looked at twice.
    """
    program = registry.get(spec.framework).compile(task, spec)
    count = max(1, EXAMPLES // spec.batch_size)
    batches = [row[None] for block in task.plan.epoch(0) for row in block[:count]][:count]
    return _mean(program, program.initial(), batches), _mean(program, Snapshot(weights), batches)


def _mean(program: Program, snapshot: Snapshot, batches: list[np.ndarray]) -> float:
    state = program.load(snapshot)
    losses = []
    for rows in batches:  # a step's loss is that of the weights before it; the state stays as it is
        _, log = program.steps(state, rows, np.zeros(1), 0)
        losses.append(program.fetch(log)["loss"][0])
    return float(np.mean(losses))
