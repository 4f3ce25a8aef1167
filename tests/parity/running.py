"""How two runs are compared: their losses at every step, relative to those of the first."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lockstep import recipes
from lockstep.data import find
from lockstep.data.data_set import source_named
from lockstep.frameworks import registry
from lockstep.spec import RunSpec
from lockstep.training import Result, train

OTHERS = [name for name in registry.installed() if name != "numpy"]


@cache
def source(name: str) -> str:
    """Real data where this machine has it, generated elsewhere."""
    return "real" if find(source_named(name)) else "generated"


def recipe(name: str, **fields: Any) -> RunSpec:
    """A recipe without evaluation, on real data where there is some; `a__b` names the field a.b."""
    spec = recipes.get(name)
    if spec.data.kind not in ("airfoil", "recall"):  # which is always generated
        fields.setdefault("data__source", source(spec.data.kind))
    lr = fields.pop("lr", None)
    spec = spec.with_fields(
        {"evaluate": (), **{n.replace("__", "."): v for n, v in fields.items()}}
    )
    return spec if lr is None else spec.with_lr(lr)


def walk(spec: RunSpec, **fields: Any) -> Result:
    """The run carried out, to its end."""
    result = train(spec.with_fields(fields))
    assert result.status == "completed"
    assert len(result.history) == spec.max_steps
    return result


def losses(spec: RunSpec, **fields: Any) -> np.ndarray:
    values: np.ndarray = walk(spec, **fields).history[:, "loss"]
    return values


def oracle_losses(spec: RunSpec) -> np.ndarray:
    """Of a run that takes the oracle long; kept for the next interpreter where a folder is named.

    tests/in_environments.py names one: the oracle is the same for each framework that it judges.
    """
    spec = spec.with_fields({"precision": "float64", "framework": "numpy"})
    folder = os.environ.get("LOCKSTEP_ORACLE_LOSSES")
    if folder is None:
        return losses(spec)
    path = Path(folder, f"{spec.hash}.npy")
    if not path.exists():
        np.save(path, losses(spec))
    kept: np.ndarray = np.load(path)
    return kept


def deviations(path: np.ndarray, oracle: np.ndarray) -> np.ndarray:
    """|path - oracle| / |oracle|, step by step."""
    assert np.isfinite(path).all()
    relative: np.ndarray = np.abs(path - oracle) / np.abs(oracle)
    return relative


def assert_same_path(path: np.ndarray, oracle: np.ndarray, tolerance: float, who: str) -> None:
    """Within tolerance at every step; else the first step beyond it is named."""
    relative = deviations(path, oracle)
    beyond = np.flatnonzero(relative > tolerance)
    assert not len(beyond), (
        f"{who}: {relative[beyond[0]]:.2e} from the oracle at step {beyond[0]}, "
        f"largest {relative.max():.2e}, allowed {tolerance:.0e}"
    )


def assert_fell(path: np.ndarray, by: float) -> None:
    """The mean of the last tenth lies at least `by` (a share) below that of the first tenth.

    A run that stands still agrees with any other.
    """
    tenth = max(1, len(path) // 10)
    first, last = path[:tenth].mean(), path[-tenth:].mean()
    assert last < (1 - by) * first, f"the loss went from {first} to {last}"
