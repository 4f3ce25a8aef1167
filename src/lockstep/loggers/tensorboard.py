"""TensorBoard: a run's curves, its notes and what was asked, in an event file written by
TensorBoard's own writer. Neither TensorFlow nor torch is needed."""

from __future__ import annotations

import itertools
import os
import socket
import time
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lockstep.checks import whole
from lockstep.errors import InputError, MissingError
from lockstep.loggers.points import points, replayed, stride
from lockstep.spec.convert import flatten
from lockstep.training.directory import RunDirectory, free_path, holds_run
from lockstep.training.events import Event, ProgramCompiled, RemarkMade, RunStarted

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.training.history import History

SUFFIX = ".lockstep"  # of the event files that are written here
MARKER = "lockstep-run.txt"  # which run a folder is of
_numbers = itertools.count()


class TensorBoard:
    """A logger: `ls.train(run, listeners=[ls.loggers.TensorBoard("logs")])`, then
    `tensorboard --logdir logs`.

    A run writes into a folder of its own below `folder`, named as the run's folder. Every step is
    logged of up to 10,000, of a longer run evenly chosen ones, or every multiple of `every`. Values
    are float32, as TensorBoard keeps them. A run that is resumed goes on with the same curve, which
    it first writes anew: the steps that it repeats are not doubled.
    """

    def __init__(self, folder: str | Path, every: int | None = None) -> None:
        self.folder = Path(folder)
        if every is not None:
            whole("every", every)
        self._every = every
        self._run: RunDirectory | None = None
        self._file: EventFile | None = None

    def __str__(self) -> str:
        return f"the log for TensorBoard in {self.folder}"

    def begin(self, spec: RunSpec, folder: Path | None) -> None:
        """Refuse what cannot be logged; the file itself begins with the run's first event."""
        import_tensorboard()
        require_folder("tensorboard", self.folder)
        self._spec, self._folder, self._file, self._run = spec, folder, None, None
        if folder is None:
            self._place = free_path(spec, self.folder)
            return
        self._place = self.folder / folder.resolve().name
        self._run = RunDirectory(folder) if holds_run(folder) else None
        own, marker = str(folder.resolve()), self._place / MARKER
        known = marker.read_text().strip() if marker.is_file() else ""
        if self._place.exists() and (self._run is None or known not in ("", own)):
            named = f" ({known})" if known else ""
            problem = f"there is a {self._place.name} already, of another run{named}"
            raise InputError("tensorboard", str(self.folder), problem, "Name another folder.")

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            every = self._every or stride(event.num_steps)
            self._file = EventFile(self._place, self._spec, every, self._folder)
            if event.step and self._run is not None:
                end = self._run.log.stat().st_mtime
                self._file.write_history(self._run.history(), end, event.step)
        if self._file is not None:
            self._file.write(event, time.time())

    def end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class EventFile:
    """A new event file in `folder`, which is noted to be of a `run` that has a folder. What files
    before it say of the run counts no longer."""

    def __init__(self, folder: Path, spec: RunSpec, every: int, run: Path | None) -> None:
        tools = self._pb = import_tensorboard()
        self._every = every
        folder.mkdir(parents=True, exist_ok=True)
        if run is not None:
            (folder / MARKER).write_text(f"{run.resolve()}\n")
        unique = f"{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
        self.path = folder / f"events.out.tfevents.{int(time.time()):010}.{unique}{SUFFIX}"
        # its EventFileWriter has a thread, in which a full disk would be a traceback
        self._writer = tools.RecordWriter(self.path.open("xb"))
        self._add(time.time(), file_version="brain.Event:2")
        start = tools.SessionLog(status=tools.SessionLog.START)
        self._add(time.time(), step=0, session_log=start)  # its readers forget what was before
        self._write_spec(spec)

    def write(self, event: Event, at: float) -> None:
        """Append what is to be seen of an event that ended at a time."""
        for point in points(event, at, self._every):
            values = [
                self._pb.Summary.Value(tag=n, simple_value=v) for n, v in point.values.items()
            ]
            self._add(point.time, step=point.step, summary=self._pb.Summary(value=values))
        if isinstance(event, ProgramCompiled):
            self._write_text("ran as", "\n\n".join(event.notes), at)
        elif isinstance(event, RemarkMade):
            self._write_text("note", event.text, at, event.step)
        self._writer.flush()

    def write_history(self, history: History, end: float, before: int | None = None) -> None:
        """Append the events of a run that was carried out before, up to the time `end`."""
        for event, at in replayed(history, end, before):
            self.write(event, at)

    def close(self) -> None:
        self._writer.close()

    def _write_spec(self, spec: RunSpec) -> None:
        now = time.time()
        self._write_text("spec", indent(spec.to_toml(), "    "), now)
        values = {name: _plain(value) for name, value in flatten(spec.to_dict()).items()}
        summary = self._pb.hparams_pb(values, start_time_secs=now)
        self._add(now, step=0, summary=summary)

    def _write_text(self, tag: str, text: str, at: float, step: int = 0) -> None:
        tensor = self._pb.make_tensor_proto([text.encode()])
        metadata = self._pb.create_text_metadata(display_name=tag, description="")
        value = self._pb.Summary.Value(tag=tag, tensor=tensor, metadata=metadata)
        self._add(at, step=step, summary=self._pb.Summary(value=[value]))

    def _add(self, at: float, **fields: Any) -> None:
        self._writer.write(self._pb.Event(wall_time=at, **fields).SerializeToString())


def write_events(run: RunDirectory, history: History, folder: Path) -> Path:
    """Write what a run has come to so far into a new event file in `folder`."""
    end = run.log.stat().st_mtime if run.log.exists() else time.time()
    file = EventFile(folder, run.spec, stride(len(history)), run.path)
    file.write(ProgramCompiled(history.compile_seconds, history.notes), end - history.seconds)
    file.write_history(history, end)
    for text in history.remarks:
        file.write(RemarkMade(len(history), text), end)
    file.close()
    return file.path


def event_files(folder: Path) -> list[Path]:
    """TensorBoard's files in a folder."""
    return sorted(folder.glob("*tfevents*"))


def require_folder(field: str, place: Path) -> None:
    """Raise unless a folder is there, or can be made there."""
    there = next(path for path in (place.absolute(), *place.absolute().parents) if path.exists())
    if not there.is_dir():
        raise InputError(field, str(place), f"{there} is a file", "Name a folder.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(field, str(place), f"{there} cannot be written to", "Name another folder.")


def import_tensorboard() -> SimpleNamespace:
    """Those of TensorBoard's own tools that write an event file."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event as EventProto
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.plugins.text.metadata import create_summary_metadata
        from tensorboard.summary.writer.record_writer import RecordWriter
        from tensorboard.util.tensor_util import make_tensor_proto
    except ImportError:
        remedy = "Install it with: pip install 'lockstep-train[tensorboard]'"
        raise MissingError("tensorboard is not installed", remedy) from None
    return SimpleNamespace(
        Event=EventProto,
        SessionLog=SessionLog,
        Summary=Summary,
        hparams_pb=hparams_pb,
        create_text_metadata=create_summary_metadata,
        RecordWriter=RecordWriter,
        make_tensor_proto=make_tensor_proto,
    )


def _plain(value: Any) -> Any:
    """A value that its table of settings can hold."""
    return value if isinstance(value, bool | int | float | str) else str(value)
