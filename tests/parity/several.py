"""Runs on several devices, in a process of their own: JAX and TensorFlow have as many devices as a
process starts with.

`python -m tests.parity.several FOLDER` carries out the runs of FOLDER/specs.json, in this
interpreter, and writes their outcomes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lockstep.frameworks import registry
from lockstep.spec import RunSpec

ROOT = Path(__file__).resolve().parent.parent.parent
MOST = 8  # devices of one process, the first of which are used
TESTED = os.environ.get("LOCKSTEP_TESTED")  # the only one that its own interpreter need test
IN_ONE_PROCESS = [
    name
    for name in ([TESTED] if TESTED else registry.installed())
    if not registry.devices_are_processes(name)
]
SECONDS = 280.0  # below the limit of a test


@dataclass(frozen=True)
class Outcome:
    """The quantities of every step, the arrays at the end ("weights/w"), the metrics and notes."""

    loss: np.ndarray
    grad_norm: np.ndarray
    arrays: dict[str, np.ndarray]
    metrics: dict[str, float]
    notes: list[str]


def carry_out(*specs: RunSpec, seconds: float = SECONDS) -> list[Outcome]:
    """The runs, all of one framework, one after another in one process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "specs.json").write_text(json.dumps([spec.to_dict() for spec in specs]))
        run_apart("-m", "tests.parity.several", folder, seconds=seconds)
        return [_read(path / str(i)) for i in range(len(specs))]


def run_apart(*argv: str, seconds: float = SECONDS) -> str:
    """What Python prints with these arguments, in the root of the project."""
    variables = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, *argv],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def main(folder: Path) -> None:
    from lockstep.training import train

    specs = [RunSpec.from_dict(d) for d in json.loads((folder / "specs.json").read_text())]
    registry.get(specs[0].framework).show_devices(MOST)
    for i, spec in enumerate(specs):
        result = train(spec)
        assert result.status == "completed"
        groups = ("weights", "slots", "carry")
        arrays = {f"{g}/{n}": v for g in groups for n, v in getattr(result.snapshot, g).items()}
        steps = {name: result.history[:, name] for name in ("loss", "grad_norm")}
        np.savez(folder / f"{i}.npz", **arrays, **steps)
        facts = {"metrics": result.history.metrics, "notes": result.history.notes}
        (folder / f"{i}.json").write_text(json.dumps(facts))


def _read(path: Path) -> Outcome:
    with np.load(path.with_suffix(".npz")) as file:
        arrays = dict(file)
    facts = json.loads(path.with_suffix(".json").read_text())
    return Outcome(arrays.pop("loss"), arrays.pop("grad_norm"), arrays, **facts)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
