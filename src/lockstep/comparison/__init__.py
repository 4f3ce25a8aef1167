"""Comparing: one run in several frameworks, each in its own process, against the oracle.

The oracle is NumPy in float64. Frameworks run one after another, never two at once, so that their
times are honest; one that is missing, crashes or hangs spoils its own row only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.comparison import verdict
from lockstep.comparison.movement import loss_before_and_after
from lockstep.comparison.result import Comparison, Curve, Rate, Row
from lockstep.comparison.rows import make_row
from lockstep.comparison.running import Outcome, Progress, run_worker
from lockstep.comparison.verdict import Verdict
from lockstep.errors import InputError, LockstepError, RunDirectoryError
from lockstep.files import disk_error, write_whole
from lockstep.frameworks import environments, registry
from lockstep.spec import OwnData, RunSpec
from lockstep.training.machine import machine_facts

if TYPE_CHECKING:
    from lockstep.own_task import Own

STEPS = 200  # of a comparison, unless the spec or the call says more
TIMEOUT = 1800.0  # seconds for each framework
ORACLE = "numpy (oracle)"


def compare(
    spec: RunSpec,
    own: Own | None = None,
    *,
    frameworks: Iterable[str] | None = None,
    steps: int | None = None,
    tolerance: float | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    timeout: float = TIMEOUT,
    interpreters: Mapping[str, str] | None = None,
) -> Comparison:
    """Carry out `spec` in each framework (all usable here, unless named) and judge their paths.

    `tolerance` is that of the loss, relative; 1e-9 in float64 and 1e-4 in float32 unless given.
    `steps` bounds the run; without it the spec's max_steps or else 200 does. `progress(label,
    event)` hears every event, and a status as text when a framework starts and ends. `interpreters`
    names a Python for frameworks that are neither here nor in an environment of their own. The
    page, comparison.json and a run directory for each framework are written below `out`.
    """
    names = _names(spec, frameworks)
    limits = verdict.tolerances(spec.precision, tolerance)
    spec = _bounded(spec, steps)
    _check_own(spec, own)
    folder = _folder(spec, out)

    def go(label: str, run: RunSpec) -> Outcome:
        path = folder / ("oracle" if label == ORACLE else label)
        python = sys.executable if label == ORACLE else (interpreters or {}).get(label)
        return run_worker(
            run, own, path, timeout=timeout, label=label, progress=progress, python=python
        )

    oracle_spec = replace(spec, framework="numpy", precision="float64", style="scratch")
    oracle = go(ORACLE, oracle_spec)
    if oracle.status in ("failed", "missing"):  # every framework would say the same
        raise _told(oracle)
    rows = [make_row(oracle, oracle, limits)]
    for name in names:
        if name != "numpy" or spec.precision != "float64":
            rows.append(make_row(go(name, _in_framework(spec, name)), oracle, limits))
    before = after = None
    moved = False
    if oracle.ended:
        before, after = loss_before_and_after(oracle_spec, own, oracle.weights)
        moved = verdict.loss_moved(before, after, limits["loss"])
    facts = machine_facts()
    found = Comparison(spec, tuple(rows), limits, moved, before, after, facts, folder)
    content = json.dumps(found.to_dict(), indent=2).encode()
    write_whole(folder / "comparison.json", content)
    found.report(folder / "report.html")
    return found


def _names(spec: RunSpec, frameworks: Iterable[str] | None) -> list[str]:
    names = list(dict.fromkeys(frameworks)) if frameworks is not None else environments.usable()
    for name in names:
        registry.check_known(name)
    if not names or (names == ["numpy"] and spec.precision == "float64"):
        raise InputError(
            "frameworks",
            ",".join(names),
            "leaves nothing to compare: numpy in float64 is the oracle itself",
            "Name another framework, such as torch or jax, or --precision float32.",
        )
    return names


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


def _in_framework(spec: RunSpec, name: str) -> RunSpec:
    # numpy has no layers of its own; its scratch form has the same canonical weights
    return replace(spec, framework=name, style="scratch" if name == "numpy" else spec.style)


def _told(outcome: Outcome) -> LockstepError:
    error = LockstepError(outcome.problem)
    error.exit_code = outcome.exit_code
    return error


__all__ = ["Comparison", "Curve", "Rate", "Row", "Verdict", "compare"]
