"""A sweep's folder: what was asked, what came of every setting, and what is needed to go on.

sweep.json          the run and the grid
results.jsonl       a line for each setting that is done, only ever appended to
losses/             the losses of every step of settings that were trained together
groups/             the state of settings that are being trained together (as checkpoints have it)
runs/               the run folders of settings that were trained in processes
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

from lockstep.array_files import from_file, to_bytes
from lockstep.errors import RunDirectoryError
from lockstep.files import AppendedFile, json_safe, locked, remove, truncate, write_whole
from lockstep.spec import RunSpec, diff
from lockstep.sweeps.grid import Grid
from lockstep.sweeps.trials import Trial
from lockstep.training.directory import RunDirectory, holds_run


def sweep_hash(run: RunSpec, grid: Grid) -> str:
    """Twelve hex digits that name a run and its grid."""
    text = json.dumps([run.hash, grid.to_dict()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def default_path(run: RunSpec, grid: Grid) -> Path:
    """Where a command keeps its sweep: the same for the same command."""
    return Path("sweeps") / f"{run.name}-{run.framework}-{sweep_hash(run, grid)}"


class SweepFolder:
    """The folder of one sweep; `open_folder` gives it, new or taken up."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def group_folder(self, specs: Sequence[RunSpec]) -> Path:
        return self.path / "groups" / group_key(specs)

    def run_folder(self, spec: RunSpec) -> Path:
        return self.path / "runs" / spec.hash

    def add(self, trials: Sequence[Trial], losses: np.ndarray | None = None) -> None:
        """Record settings that are done; `losses` (steps, S) of those trained together."""
        key = ""
        if losses is not None:
            key = group_key([trial.spec for trial in trials])
            write_whole(self._losses(key), to_bytes({"loss": losses}, {}))
        lines = [
            json.dumps(json_safe(trial.to_dict() | {"group": key, "column": column}))
            for column, trial in enumerate(trials)
        ]
        file = AppendedFile(self.results)
        try:
            file.write("".join(f"{line}\n" for line in lines).encode())
            file.sync()
        finally:
            file.close()

    def forget_group(self, specs: Sequence[RunSpec]) -> None:
        """Remove the state of a group that is done."""
        folder = self.group_folder(specs)
        for file in folder.glob("step-*.safetensors"):
            remove(file)

    @property
    def results(self) -> Path:
        return self.path / "results.jsonl"

    def done(self, planned: Mapping[str, tuple[dict[str, Any], RunSpec]]) -> dict[str, Trial]:
        """The settings that are done, by the hash of their spec. A line that a kill cut off, or
        whose losses cannot be read, is left out: the setting is trained again."""
        found: dict[str, Trial] = {}
        if not self.results.exists():
            return found
        content = self.results.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            truncate(self.results, len(whole))
        columns: dict[str, np.ndarray] = {}
        for line in whole.splitlines():
            try:
                values = json.loads(line)
                settings, spec = planned[values["hash"]]
                losses = self._read_losses(values, spec, columns)
                metrics = {name: float(value) for name, value in values["metrics"].items()}
                status, seconds = str(values["status"]), float(values["seconds"])
            except (KeyError, TypeError, ValueError, OSError, RunDirectoryError):
                continue
            except safetensors.SafetensorError:
                continue
            if status in ("completed", "diverged"):  # one that failed is tried again
                found[spec.hash] = Trial(settings, spec, status, metrics, seconds, losses)
        return found

    def _read_losses(
        self, values: dict[str, Any], spec: RunSpec, columns: dict[str, np.ndarray]
    ) -> np.ndarray:
        if not values["group"]:
            return RunDirectory(self.run_folder(spec)).history()[:, "loss"]
        key = values["group"]
        if key not in columns:
            columns[key] = from_file(self._losses(key))[0]["loss"]
        return columns[key][: values["steps"], values["column"]]

    def _losses(self, key: str) -> Path:
        return self.path / "losses" / f"{key}.safetensors"


@contextmanager
def open_folder(path: Path, run: RunSpec, grid: Grid) -> Iterator[SweepFolder]:
    """The folder of a sweep, new or taken up; while inside, no other process carries it out. One
    that holds something else is refused."""
    asked = {"run": run.to_dict(), "grid": grid.to_dict()}
    _refuse_other(path, run, asked)
    file = path / "sweep.json"
    if not file.exists():
        write_whole(file, json.dumps(asked, indent=2).encode())
    with locked(path / "lock") as holder:
        if holder is not None:
            raise RunDirectoryError(
                f"out = {str(path)!r}: is under way in process {holder or '?'}. "
                "Wait for its end, or stop it."
            )
        yield SweepFolder(path)


def _refuse_other(path: Path, run: RunSpec, asked: dict[str, Any]) -> None:
    elsewhere = "Choose another folder with --out."
    if path.exists() and not path.is_dir():
        raise RunDirectoryError(f"out = {str(path)!r}: is a file. {elsewhere}")
    if holds_run(path):
        raise RunDirectoryError(f"out = {str(path)!r}: holds a run. {elsewhere}")
    file = path / "sweep.json"
    if not file.exists():
        held = sorted(item.name for item in path.iterdir()) if path.exists() else []
        held = [name for name in held if name != "lock" and not name.endswith(".part")]
        if held:
            names = ", ".join(held[:4])
            raise RunDirectoryError(
                f"out = {str(path)!r}: holds other files ({names}). {elsewhere}"
            )
        return
    try:
        there = json.loads(file.read_text())
        before, grid = RunSpec.from_dict(there["run"]), dict(there["grid"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        problem = f"its sweep.json cannot be read ({error})"
        raise RunDirectoryError(f"out = {str(path)!r}: {problem}. {elsewhere}") from error
    differs = [f"{n}: {a!r} there, {b!r} here" for n, a, b in diff(before, run)]
    here = asked["grid"]
    differs += [
        f"grid {name}: {_short(grid.get(name))} there, {_short(here.get(name))} here"
        for name in dict.fromkeys([*grid, *here])
        if grid.get(name) != here.get(name)
    ]
    if differs:
        what = "; ".join(differs)
        raise RunDirectoryError(f"out = {str(path)!r}: holds another sweep ({what}). {elsewhere}")


def _short(values: list[Any] | None) -> str:
    if values is None:
        return "none"
    shown = [f"{v:g}" if isinstance(v, float) and math.isfinite(v) else str(v) for v in values]
    return ",".join(shown if len(shown) <= 4 else [*shown[:2], "...", shown[-1]])


def group_key(specs: Sequence[RunSpec]) -> str:
    """The name of a group: that of its settings, in their order."""
    return hashlib.sha256("".join(spec.hash for spec in specs).encode()).hexdigest()[:12]
