"""The runs below a folder: a list of them that shows itself, and a run of it as a result.

`lockstep.runs` and `lockstep.open`. Nothing here carries out a run, or changes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from lockstep.errors import LockstepError, RunDirectoryError
from lockstep.showing import ShowsItself
from lockstep.task import Own, Task, assemble, check_own, load_own, refuse_other_file
from lockstep.training import checkpoints, columns
from lockstep.training.directory import RunDirectory, all_runs, find
from lockstep.training.history import History
from lockstep.training.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame


class RunList(ShowsItself, Sequence[Result], as_="runs"):
    """The runs below a folder, the oldest first, as they are when this is made.

    `runs[-1]` and `runs["name"]` are results, opened when they are asked for; `runs[:5]` are fewer.
    `rows` says of each what `lockstep runs --json` does.
    """

    def __init__(self, directories: Sequence[RunDirectory], root: Path) -> None:
        self.root = root
        self.paths = [directory.path for directory in directories]
        self.rows = [outline_of(directory) for directory in directories]

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, key: int | str) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> RunList: ...
    def __getitem__(self, key: int | str | slice) -> Result | RunList:
        if isinstance(key, slice):
            return RunList([RunDirectory(path) for path in self.paths[key]], self.root)
        return open_run(find(key, self.root).path if isinstance(key, str) else self.paths[key])

    def __iter__(self) -> Iterator[Result]:
        return map(open_run, self.paths)

    def to_dict(self) -> dict[str, list[Any]]:
        """Each column as a list: what a run is, how it ended, and every metric that any has."""
        names = dict.fromkeys(name for row in self.rows for name in row["metrics"])
        fixed = ("run", "framework", "style", "status", "steps")
        metrics = {name: [row["metrics"].get(name) for row in self.rows] for name in names}
        table = {name: [row[name] for row in self.rows] for name in fixed}
        return table | metrics | {"folder": [str(path) for path in self.paths]}

    def to_csv(self, path: str | Path) -> Path:
        """Write the table as CSV."""
        return columns.to_csv(self.to_dict(), path)

    def to_pandas(self) -> DataFrame:
        """The table as a DataFrame, its rows named by run."""
        return columns.to_frame(self.to_dict(), index="run")


def runs(root: str | Path = "runs") -> RunList:
    """The runs below a folder, the oldest first."""
    return RunList(all_runs(Path(root)), Path(root))


def open_run(run: str | Path = "last", own: Own | None = None) -> Result:
    """The result of a run from its folder, as far as it has come: spec, history, weights, metrics.

    `run` is the folder, its name below runs/, the beginning of that, or "last". Nothing is carried
    out: the result's `ran` is False. Its data is read when `result.task` is asked for, so a run
    whose data is gone can be opened too. `own` is the task of a run of own arrays whose model is in
    no file.
    """
    directory = find(run)
    found = checkpoints.newest_whole(directory.checkpoint_folder)
    if found.snapshot is None:
        remedy = "It has saved no state yet: resume it."
        raise RunDirectoryError(f"run = {str(run)!r}: has no weights to open. {remedy}")
    task = partial(_task, directory, own)
    history, status = directory.history(), directory.status
    return Result(directory.spec, task, history, found.snapshot, status, directory.path, ran=False)


def _task(directory: RunDirectory, own: Own | None) -> Task:
    spec = directory.spec
    own = own or load_own(directory.path, spec)
    check_own(spec, own, directory.path)
    task = assemble(spec, own)
    refuse_other_file(directory.path, task)
    return task


# --- what a list says of a run --------------------------------------------------------------------


def outline_of(directory: RunDirectory) -> dict[str, Any]:
    """A run's outline, with the `problem` of one that cannot be read, which hides no other."""
    try:
        return outline(directory, directory.history()) | {"problem": ""}
    except LockstepError as error:
        return {
            "run": directory.path.name,
            "framework": "",
            "frameworks": [],
            "style": "",
            "status": "unreadable",
            "steps": 0,
            "metrics": {},
            "best": None,
            "last_batch_loss": None,
            "remarks": [],
            "damage": [],
            "problem": str(error),
        }


def outline(directory: RunDirectory, history: History) -> dict[str, Any]:
    """What a list of runs says of one, as plain values."""
    spec = directory.spec
    return {
        "run": directory.path.name,
        "framework": spec.framework,
        "frameworks": [[name, step] for name, step in history.frameworks],
        "style": spec.style,
        "status": directory.status,
        "steps": len(history),
        "metrics": history.metrics,
        "best": history.best_to_dict(),
        "last_batch_loss": history.metrics.get("loss"),
        "remarks": history.remarks,
        "damage": history.damage,
    }
