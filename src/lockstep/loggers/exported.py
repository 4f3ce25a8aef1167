"""Runs that were carried out, written for other tools: as tables, or as a logger would have logged
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.errors import InputError
from lockstep.loggers.tensorboard import SUFFIX, event_files, require_folder, write_events
from lockstep.training import columns
from lockstep.training.directory import RunDirectory
from lockstep.training.history import History


@dataclass(frozen=True)
class Written:
    """A file that was written: a table of so many rows, or the steps' events."""

    run: str
    table: str
    path: Path
    rows: int


def export(
    runs: Mapping[str, RunDirectory], form: str, out: Path, *, replace: bool = False
) -> list[Written]:
    """Write runs, by the names that they get, below the folder `out`; `form` is csv, parquet or
    tensorboard. What is there already is refused before anything is written, unless it is to be
    replaced."""
    require_folder("out", out)
    runs = _by_file_names(runs)
    histories = {name: run.history() for name, run in runs.items()}
    for name, history in histories.items():
        for path in _targets(name, history, form, out):
            if path.exists() and not replace:
                raise InputError(
                    "out", str(out), f"{path.name} is there already", "Name another, or --replace."
                )
    written: list[Written] = []
    for name, history in histories.items():
        if form == "tensorboard":
            written.append(_as_events(runs[name], name, history, out))
        else:
            written += _as_tables(runs[name], name, history, form, out)
    return written


def _by_file_names(runs: Mapping[str, RunDirectory]) -> dict[str, RunDirectory]:
    """Runs by names without slashes: several with one name have got their paths as names."""
    found: dict[str, RunDirectory] = {}
    for name, run in runs.items():
        plain = name.strip("/").replace("/", "-")
        if plain in found:
            problem = f"would be written as {plain}, as {found[plain].path} is"
            raise InputError("runs", str(run.path), problem, "Export it to another folder.")
        found[plain] = run
    return found


def tables(history: History) -> dict[str, columns.Columns]:
    """The tables of a run, by name: its steps, its epochs, and the evaluations between if any."""
    found: dict[str, columns.Columns] = {
        "steps": history.columns(),
        "epochs": history.epochs.columns(),
    }
    return found | ({"evaluations": history.evaluations.columns()} if history.evaluations else {})


def _targets(name: str, history: History, form: str, out: Path) -> Sequence[Path]:
    if form == "tensorboard":
        return event_files(out / name)
    return [out / f"{name}-{table}.{form}" for table in tables(history)]


def _as_tables(
    run: RunDirectory, name: str, history: History, form: str, out: Path
) -> list[Written]:
    about = {"lockstep.run": name, "lockstep.spec": run.spec.to_toml()}
    written = []
    for table, values in tables(history).items():
        path = out / f"{name}-{table}.{form}"
        if form == "csv":
            columns.to_csv(values, path)
        else:
            columns.to_parquet(values, path, about)
        written.append(Written(name, table, path, len(next(iter(values.values())))))
    return written


def _as_events(run: RunDirectory, name: str, history: History, out: Path) -> Written:
    before = event_files(out / name)
    path = write_events(run, history, out / name)
    for old in before:
        if old.name.endswith(SUFFIX):  # another tool's is not ours to remove
            old.unlink()
    return Written(name, "events", path, len(history))
