"""A run's directory: everything about it, in files a person can read.

spec.toml        what was asked          machine.json   where and with what it ran
events.jsonl     what happened, a line each, only ever appended to
steps.bin        loss, gradient norm, rate, batch and seconds of every step (docs/run-folder.md)
checkpoints/     step-N.safetensors      own.safetensors  a person's own arrays, if any
                                         model.txt        and what their model is
data.json        the file it learns from: digest, standardisation, classes, symbols
generated.txt    text it continued       figures/, report.html
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from math import prod
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from lockstep.errors import RunDirectoryError
from lockstep.files import AppendedFile, locked, write_whole
from lockstep.spec import RunSpec, diff
from lockstep.task import Own, Task, save_data_record, save_own
from lockstep.training import checkpoints
from lockstep.training.events import (
    Event,
    RunCompleted,
    RunDiverged,
    RunInterrupted,
    RunStarted,
    StepsCompleted,
    to_json,
)
from lockstep.training.history import History
from lockstep.training.log import ENDINGS, EventLog, cut, read
from lockstep.training.steps import StepFile

# what a run under way cannot change: its state would not fit, or its steps be counted otherwise
FIXED = ("data.", "model.", "batch_size", "seed")
FREE = (
    "model.weights",  # the run has its own in its first checkpoint
    "data.file",  # it may have moved: its digest must be the same
)
UNRECORDED = ("model.structure",)  # "" in runs that are older than the field

LAST = "last"  # names the newest run
STATUS = {RunCompleted: "completed", RunDiverged: "diverged", RunInterrupted: "interrupted"}


class RunDirectory:
    """An existing run directory; `create` and `find` give one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not holds_run(path):
            raise RunDirectoryError(
                f"run = {str(path)!r}: holds no run. `lockstep runs` lists those there are."
            )

    @classmethod
    def create(
        cls,
        path: Path,
        spec: RunSpec,
        facts: dict[str, Any],
        own: Own | None = None,
        task: Task | None = None,
    ) -> RunDirectory:
        """A new directory for a run; one that holds a run already is refused."""
        refuse_taken(path, spec)
        _write_facts(path, facts)
        if own is not None:
            save_own(path, own)
        if task is not None:
            save_data_record(path, task)
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

    @property
    def steps(self) -> Path:
        return self.path / "steps.bin"

    def refuse_other(self, spec: RunSpec) -> None:
        """Raise if this run cannot be continued with the data, model, batches or seed of `spec`."""
        self._refuse_changed(diff(self.spec, spec))

    def changes_since(self, facts: dict[str, Any], spec: RunSpec) -> list[str]:
        """What `spec` says otherwise than the run did when a checkpoint with these facts was saved;
        raises if that cannot be changed. Checkpoints of version 0.1 do not say."""
        if "spec" not in facts:
            return []
        changed = diff(RunSpec.from_dict(facts["spec"]), spec)
        self._refuse_changed(changed)
        return [f"{name}: {before!r} before, {now!r} now" for name, before, now in changed]

    def _refuse_changed(self, changed: list[tuple[str, object, object]]) -> None:
        fixed = [
            (name, there, here)
            for name, there, here in changed
            if name.startswith(FIXED)
            and name not in FREE
            and not (name in UNRECORDED and "" in (there, here))
        ]
        if fixed:
            raise RunDirectoryError(
                f"run = {str(self.path)!r}: cannot be continued with another {_named(fixed)}. "
                "Train a new run with --out instead."
            )

    def replace_spec(self, spec: RunSpec) -> None:
        """Continue under another spec (another framework, more epochs)."""
        write_whole(self.path / "spec.toml", spec.to_toml().encode())

    @contextmanager
    def taken(self) -> Iterator[None]:
        """While inside, no other process may carry out this run."""
        with locked(self.path / "lock") as holder:
            if holder is not None:
                raise RunDirectoryError(
                    f"run = {str(self.path)!r}: is under way in process {holder or '?'}. "
                    "Wait for its end, or stop it."
                )
            yield

    def open_log(self, step: int) -> EventLog:
        """The log, to be continued at `step`."""
        return EventLog(self.log, self.steps, step)

    def cut_log(self, facts: dict[str, Any]) -> bool:
        """Forget events after the checkpoint with these facts: they will happen again. Whether the
        log up to there is as it was then."""
        return cut(self.log, facts)

    def add(self, event: Event) -> None:
        """Append an event to the log of a run that nobody carries out."""
        with self.taken(), closing(AppendedFile(self.log)) as log:
            log.write(f"{to_json(event)}\n".encode())
            log.sync()

    def events(self, damage: list[str] | None = None) -> Iterator[Event]:
        """The events so far; a last line cut off by a kill is left out.

        A line that cannot be read is an error; with `damage` it is left out and described there.
        What every step has is not among them, but in logs of version 0.1: see `history`.
        """
        return read(self.log, damage)

    def history(self) -> History:
        """What is recorded of the run; `history.damage` describes what cannot be read."""
        damage: list[str] = []
        events = self._plausible(self.events(damage), damage)
        try:
            file = StepFile(self.steps)
        except FileNotFoundError:
            file = None
        except RunDirectoryError as error:
            file = None
            damage.append(str(error))
        history = History(events, file)
        if file is not None and (count := file.damaged()):
            damage.append(f"steps = {str(self.steps)!r}: {count:,} of its records are damaged")
        history.damage += damage
        return history

    def _plausible(self, events: Iterator[Event], damage: list[str]) -> Iterator[Event]:
        """Without steps beyond the end of the run, whose number must be damaged."""
        most = 0
        for event in events:
            if isinstance(event, RunStarted):
                most = max(most, event.num_steps)
            if isinstance(event, StepsCompleted) and not 0 <= event.step < max(most, 1):
                damage.append(
                    f"log = {str(self.log)!r}: step {event.step} is not a step of the run"
                )
            else:
                yield event

    @property
    def saved_step(self) -> int | None:
        """The step of the newest whole checkpoint; None if there is none."""
        try:
            found = checkpoints.newest_whole(self.checkpoint_folder)
        except RunDirectoryError:
            return None
        return None if found.path is None else int(found.facts.get("step", 0))

    @property
    def num_parameters(self) -> int | None:
        """How many weights the model has; None if no checkpoint says."""
        path = checkpoints.newest(self.checkpoint_folder)
        try:
            shapes = checkpoints.shapes(path) if path else {}
        except (OSError, SafetensorError):
            return None
        return sum(map(prod, shapes.values())) if path else None

    @property
    def status(self) -> str:
        """completed, diverged, interrupted or unfinished.

        A run has ended as its log says if the state it ended with is there, whole.
        """
        ending: RunCompleted | RunDiverged | RunInterrupted | None = None
        for event in self.events([]):
            if isinstance(event, ENDINGS):
                ending = event
            elif isinstance(event, RunStarted | StepsCompleted):
                ending = None
        if ending is None:
            return "unfinished"
        step = ending.kept if isinstance(ending, RunDiverged) else ending.step
        try:
            checkpoints.load(checkpoints.path_of(self.checkpoint_folder, step))
        except RunDirectoryError:
            return "unfinished"
        return STATUS[type(ending)]


def _write_facts(path: Path, facts: dict[str, Any]) -> None:
    write_whole(path / "machine.json", json.dumps(facts, indent=2, default=str).encode())


def holds_run(path: Path) -> bool:
    """Whether a folder holds a run: the spec is the last file that a new one gets."""
    return (path / "spec.toml").is_file()


def refuse_taken(path: Path, spec: RunSpec) -> None:
    """Raise if a folder holds a run already, naming the fields in which it is another."""
    if not holds_run(path):
        return
    differences = diff(RunSpec.from_file(path / "spec.toml"), spec)
    if differences:
        raise RunDirectoryError(
            f"out = {str(path)!r}: belongs to another run ({_named(differences)}). "
            "Choose another folder with --out."
        )
    raise RunDirectoryError(
        f"out = {str(path)!r}: holds this run already. "
        f"Continue it with `lockstep resume {path}`, or choose another folder with --out."
    )


def _named(differences: list[tuple[str, object, object]]) -> str:
    return "; ".join(f"{n}: {a!r} there, {b!r} here" for n, a, b in differences)


def find(run: str | Path, root: Path = Path("runs")) -> RunDirectory:
    """The directory of a run given by path, by name below `root`, by a unique beginning, or as
    "last": the one of `root` that was written to last."""
    if not isinstance(run, (str, Path)):
        remedy = "Name a run's folder. A result without one was trained without out=."
        raise RunDirectoryError(f"run = {run!r}: is no folder. {remedy}")
    if holds_run(Path(run)):
        return RunDirectory(Path(run))
    matches = [d for d in all_runs(root) if d.path.name.startswith(str(run))]
    exact = [d for d in matches if d.path.name == str(run)]
    if str(run) == LAST and not exact:
        return _last(root)
    if len(exact or matches) == 1:
        return (exact or matches)[0]
    problem = "names several runs" if matches else "is not a run"
    names = ", ".join(d.path.name for d in (matches or all_runs(root))[:8])
    raise RunDirectoryError(f"run = {str(run)!r}: {problem}. Runs in {root}/: {names or 'none'}.")


def _last(root: Path) -> RunDirectory:
    """The run whose log, or spec, is the newest: one that was resumed counts from then."""
    found = all_runs(root)
    if not found:
        remedy = "Train one, such as `lockstep train airfoil-linear`, or name a run's folder."
        raise RunDirectoryError(f"run = {LAST!r}: there is no run in {root}/. {remedy}")

    def written(directory: RunDirectory) -> int:
        files = (directory.path / "spec.toml", directory.log)
        return max(file.stat().st_mtime_ns for file in files if file.is_file())

    return max(found, key=written)


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
