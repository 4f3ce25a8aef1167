"""A run's directory: everything about it, in files a person can read.

spec.toml        what was asked          machine.json   where and with what it ran
events.jsonl     what happened, a line each, only ever appended to
checkpoints/     step-N.safetensors      own.safetensors  a person's own arrays, if any
generated.txt    text it continued       figures/, report.html
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lockstep.errors import RunDirectoryError
from lockstep.files import disk_error, write_whole
from lockstep.own_task import Own
from lockstep.spec import RunSpec, diff
from lockstep.training.events import (
    Event,
    RunCompleted,
    RunDiverged,
    RunInterrupted,
    from_json,
    to_json,
)
from lockstep.training.own_arrays import save_own

# what a run under way cannot change: its state would not fit, or its steps be counted otherwise
FIXED = ("data.", "model.", "batch_size", "seed")


class RunDirectory:
    """An existing run directory; `create` and `find` give one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / "spec.toml").is_file():
            raise RunDirectoryError(
                f"run = {str(path)!r}: holds no run. `lockstep runs` lists those there are."
            )

    @classmethod
    def create(
        cls, path: Path, spec: RunSpec, facts: dict[str, Any], own: Own | None = None
    ) -> RunDirectory:
        """A new directory for a run; one that holds a run already is refused."""
        refuse_taken(path, spec)
        _write_facts(path, facts)
        if own is not None:
            save_own(path, own)
        # the spec comes last: a folder with one is a run that can be resumed
        write_whole(path / "spec.toml", spec.to_toml().encode())
        return cls(path)

    @property
    def spec(self) -> RunSpec:
        return RunSpec.from_file(self.path / "spec.toml")

    @property
    def machine(self) -> dict[str, Any]:
        """Where and with what it ran; {} if that cannot be read."""
        try:
            facts = json.loads((self.path / "machine.json").read_text())
        except (OSError, ValueError, RecursionError):
            return {}
        return facts if isinstance(facts, dict) else {}

    def record_machine(self, facts: dict[str, Any]) -> None:
        """Write where and with what it runs."""
        _write_facts(self.path, facts)

    @property
    def checkpoint_folder(self) -> Path:
        return self.path / "checkpoints"

    @property
    def log(self) -> Path:
        return self.path / "events.jsonl"

    def refuse_other(self, spec: RunSpec) -> None:
        """Raise if this run cannot go on as `spec` says: its data, model, batches or seed."""
        changed = [d for d in diff(self.spec, spec) if d[0].startswith(FIXED)]
        if changed:
            raise RunDirectoryError(
                f"run = {str(self.path)!r}: cannot go on with another {_told(changed)}. "
                "Train a new run with --out instead."
            )

    def replace_spec(self, spec: RunSpec) -> None:
        """Go on under another spec (another framework, more epochs)."""
        write_whole(self.path / "spec.toml", spec.to_toml().encode())

    @contextmanager
    def taken(self) -> Iterator[None]:
        """While inside, no other process may carry out this run."""
        with (self.path / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                raise RunDirectoryError(
                    f"run = {str(self.path)!r}: is under way in process {file.read() or '?'}. "
                    "Wait for its end, or stop it."
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def cut_log(self, size: int) -> None:
        """Forget events after a checkpoint: they will happen again. A torn last line goes too."""
        if not self.log.exists():
            return
        try:
            content = self.log.read_bytes()[:size]
            os.truncate(self.log, content.rfind(b"\n") + 1)
        except OSError as error:
            raise disk_error(self.log, error) from error

    def events(self) -> Iterator[Event]:
        """The events so far; a last line cut off by a kill is left out."""
        if not self.log.exists():
            return
        # what is not UTF-8 must come as far as the line that names it
        with self.log.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if line.endswith("\n"):
                    yield self._event(line, number)

    def _event(self, line: str, number: int) -> Event:
        try:
            return from_json(line)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise RunDirectoryError(
                f"log = {str(self.log)!r}: line {number} cannot be read ({error}). Remove it."
            ) from error

    @property
    def status(self) -> str:
        """completed, diverged, interrupted or unfinished."""
        names = {RunCompleted: "completed", RunDiverged: "diverged", RunInterrupted: "interrupted"}
        status = "unfinished"
        for event in self.events():
            status = names.get(type(event), "unfinished" if hasattr(event, "loss") else status)
        return status


class EventLog:
    """Appends events to a run's log, each as one whole line."""

    def __init__(self, directory: RunDirectory) -> None:
        self._path = directory.log
        try:
            self._file = self._path.open("a")
        except OSError as error:
            raise disk_error(self._path, error) from error

    def __call__(self, event: Event) -> None:
        try:
            self._file.write(to_json(event) + "\n")
            self._file.flush()  # a killed process loses nothing that was flushed
        except OSError as error:
            raise disk_error(self._path, error) from error

    def sync(self) -> int:
        """The log's size, all of it safe on the disk, as a checkpoint that names it must be."""
        try:
            os.fsync(self._file.fileno())
            return self._path.stat().st_size
        except OSError as error:
            raise disk_error(self._path, error) from error

    def close(self) -> None:
        with suppress(OSError):  # what could not be written was told already
            self._file.close()


def _write_facts(path: Path, facts: dict[str, Any]) -> None:
    write_whole(path / "machine.json", json.dumps(facts, indent=2, default=str).encode())


def refuse_taken(path: Path, spec: RunSpec) -> None:
    """Raise if a folder holds a run already, naming the fields in which it is another."""
    if not (path / "spec.toml").is_file():
        return
    differences = diff(RunSpec.from_file(path / "spec.toml"), spec)
    if differences:
        raise RunDirectoryError(
            f"out = {str(path)!r}: belongs to another run ({_told(differences)}). "
            "Choose another folder with --out."
        )
    raise RunDirectoryError(
        f"out = {str(path)!r}: holds this run already. "
        f"Go on with `lockstep resume {path}`, or choose another folder with --out."
    )


def _told(differences: list[tuple[str, object, object]]) -> str:
    return "; ".join(f"{n}: {a!r} there, {b!r} here" for n, a, b in differences)


def find(run: str | Path, root: Path = Path("runs")) -> RunDirectory:
    """The directory of a run given by path, by name below `root`, or by a unique beginning."""
    if (Path(run) / "spec.toml").is_file():
        return RunDirectory(Path(run))
    matches = [d for d in all_runs(root) if d.path.name.startswith(str(run))]
    exact = [d for d in matches if d.path.name == str(run)]
    if len(exact or matches) == 1:
        return (exact or matches)[0]
    problem = "names several runs" if matches else "is not a run"
    names = ", ".join(d.path.name for d in (matches or all_runs(root))[:8])
    raise RunDirectoryError(f"run = {str(run)!r}: {problem}. Runs in {root}/: {names or 'none'}.")


def all_runs(root: Path = Path("runs")) -> list[RunDirectory]:
    """Every run below `root`, oldest first."""
    found = sorted(root.glob("*/spec.toml"), key=lambda p: p.stat().st_mtime)
    return [RunDirectory(p.parent) for p in found]


def free_path(spec: RunSpec, root: Path = Path("runs")) -> Path:
    """A folder for a new run: name, framework and hash, numbered when taken."""
    base = f"{spec.name}-{spec.framework}-{spec.hash}"
    number = 1
    while True:
        path = root / (base if number == 1 else f"{base}-{number}")
        if not path.exists():
            return path
        number += 1
