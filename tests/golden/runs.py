"""The golden runs: the oracle in float64, on data that needs no download; their losses are text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lockstep import recipes
from lockstep.spec import RunSpec
from lockstep.training import train

FOLDER = Path(__file__).parent

_COMMON = {"precision": "float64", "evaluate": ()}
_GENERATED = {**_COMMON, "data.source": "generated"}
_TEXT = {"model.num_hiddens": 16, "batch_size": 8, "data.window": 10, "max_steps": 40}

RUNS: dict[str, RunSpec] = {
    "airfoil": recipes.airfoil_linear(**_COMMON),
    "gru-before": recipes.timemachine_gru(**_GENERATED, **_TEXT),
    "gru-after": recipes.timemachine_gru(**_GENERATED, **_TEXT, **{"model.reset": "after"}),
    "lenet": recipes.fashion_lenet(
        **_GENERATED, batch_size=32, max_steps=25, optimizer="adam", lr=0.005
    ),
}


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.txt"


def losses(name: str, framework: str = "numpy") -> np.ndarray:
    """The loss of every step of a new run."""
    result = train(RUNS[name].with_fields({"framework": framework}))
    values: np.ndarray = result.history[:, "loss"]
    return values


def read(name: str) -> tuple[list[int], np.ndarray]:
    """Steps and golden losses from the file."""
    rows = [line.split() for line in path_of(name).read_text().splitlines()]
    return [int(step) for step, _ in rows], np.array([float(loss) for _, loss in rows])


def write(name: str) -> Path:
    """Write the losses of a new run, one line `step loss` each, with all digits."""
    lines = [f"{step} {loss!r}\n" for step, loss in enumerate(losses(name).tolist())]
    path_of(name).write_text("".join(lines))
    return path_of(name)
