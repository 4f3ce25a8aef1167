"""Lockstep trains one described run in any deep-learning framework and proves they agree.

>>> import lockstep as ls
>>> result = ls.train(ls.recipes.airfoil_linear())
>>> bool(result.metrics["final_train_loss"] < 0.25)
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lockstep import showing

__version__ = "0.4.0"

# public names and where they live; imported when first used, so that `import lockstep` is instant
_HOMES = {
    "RunSpec": "lockstep.spec",
    "Snapshot": "lockstep.ops",
    "compare": "lockstep.comparison.compare",
    "diff": "lockstep.spec",
    "open": "lockstep.training.run_list:open_run",
    "own": "lockstep.task",
    "resume": "lockstep.training.train",
    "runs": "lockstep.training.run_list",
    "scale_batch": "lockstep.spec",
    "sweep": "lockstep.sweeps.sweep",
    "train": "lockstep.training.train",
    **dict.fromkeys(
        (
            "constant",
            "cosine",
            "cosine_restarts",
            "exponential",
            "factor",
            "inverse_power",
            "inverse_time",
            "join",
            "linear",
            "multi_factor",
            "one_cycle",
            "plateau",
            "polynomial",
            "square_root",
            "triangular",
        ),
        "lockstep.schedules",
    ),
}
_ROOMS = (
    "errors", "recipes", "schedules", "spec", "ops", "data", "models", "optimizers", "frameworks",
    "loggers", "report", "experiments", "d2l",
)  # fmt: skip

if TYPE_CHECKING:
    from lockstep import errors as errors
    from lockstep import loggers as loggers
    from lockstep import recipes as recipes
    from lockstep.comparison.compare import compare as compare
    from lockstep.ops import Snapshot as Snapshot
    from lockstep.schedules import constant as constant
    from lockstep.schedules import cosine as cosine
    from lockstep.schedules import cosine_restarts as cosine_restarts
    from lockstep.schedules import exponential as exponential
    from lockstep.schedules import factor as factor
    from lockstep.schedules import inverse_power as inverse_power
    from lockstep.schedules import inverse_time as inverse_time
    from lockstep.schedules import join as join
    from lockstep.schedules import linear as linear
    from lockstep.schedules import multi_factor as multi_factor
    from lockstep.schedules import one_cycle as one_cycle
    from lockstep.schedules import plateau as plateau
    from lockstep.schedules import polynomial as polynomial
    from lockstep.schedules import square_root as square_root
    from lockstep.schedules import triangular as triangular
    from lockstep.spec import RunSpec as RunSpec
    from lockstep.spec import diff as diff
    from lockstep.spec import scale_batch as scale_batch
    from lockstep.sweeps.sweep import sweep as sweep
    from lockstep.task import own as own
    from lockstep.training.run_list import open_run as open  # noqa: F401 - exported by that name
    from lockstep.training.run_list import runs as runs
    from lockstep.training.train import resume as resume
    from lockstep.training.train import train as train


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"lockstep.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'lockstep' has no attribute {name!r}")
    home, _, own_name = _HOMES[name].partition(":")  # where the name would hide a builtin
    return getattr(importlib.import_module(home), own_name or name)


def __dir__() -> list[str]:
    return sorted([*_HOMES, *_ROOMS, "__version__"])


def _presenter(name: str) -> Any:
    return getattr(importlib.import_module("lockstep.report.presenters"), name)


showing.connect(_presenter)
