"""`steps.bin`: what every step of a run has, as records of a fixed size (docs/run-folder.md).

Record i is of step `first` + i, so a checkpoint's step says how many records belong to it. A record
carries a check over its bytes and its step: a torn end is left out, a damaged record is noticed.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lockstep.errors import RunDirectoryError
from lockstep.files import AppendedFile, write_whole
from lockstep.training.events import StepsCompleted

RECORD = np.dtype(
    [
        ("loss", "<f8"),
        ("grad_norm", "<f8"),
        ("lr", "<f8"),
        ("batch", "<i8"),  # -1: not known
        ("seconds", "<f4"),  # the time of its call, divided over the call's steps
        ("check", "<u4"),
    ]
)
HEADER = b"lockstep steps 1 first %016d\n"  # as long as a record
HEADER_SIZE = RECORD.itemsize
BLOCK = 1 << 15  # records looked at together: 1.3 MB, which fits the cache
SMALL = 1 << 14  # records that are kept in memory rather than the file open

# odd numbers with well spread bits, one for each word of a record and one for its step
_WORDS = np.array(
    [0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB,
     0xD6E8FEB86659FD93, 0xC2B2AE3D27D4EB4F], "<u8",
)  # fmt: skip
_STEP = np.uint64(0xFF51AFD7ED558CCD)


def checks(records: np.ndarray, first: int) -> np.ndarray:
    """The check of each record: the upper half of sum_i word_i m_i + (step + 1) m mod 2^64, the
    words being the record's bytes, 8 by 8, with zeros in the place of the check.

    >>> checks(np.zeros(2, RECORD), 0).tolist() != [0, 0]
    True
    """
    words = records.view("<u8").reshape(-1, len(_WORDS))
    last = words[:, -1] & np.uint64(0xFFFFFFFF)
    steps = np.arange(first + 1, first + 1 + len(records), dtype=np.uint64)
    sums = words[:, :-1] @ _WORDS[:-1] + last * _WORDS[-1] + steps * _STEP
    return (sums >> np.uint64(32)).astype("<u4")


def records_of(event: StepsCompleted) -> np.ndarray:
    """The records of an event's steps, without their checks."""
    records = np.zeros(len(event.loss), RECORD)
    records["loss"], records["grad_norm"], records["lr"] = event.loss, event.grad_norm, event.lr
    records["batch"] = event.batch if len(event.batch) else -1
    records["seconds"] = event.seconds / max(1, len(event.loss))
    return records


def lost(count: int) -> np.ndarray:
    """Records of steps about which nothing is known."""
    records = np.zeros(count, RECORD)
    for name in ("loss", "grad_norm", "lr", "seconds"):
        records[name] = np.nan
    records["batch"] = -1
    return records


def column(records: np.ndarray, name: str) -> np.ndarray:
    """One field in float64; a batch that is not known is not a number."""
    values = records[name].astype(np.float64)
    return np.where(values < 0, np.nan, values) if name == "batch" else values


class StepFile:
    """A run's records, as many as are whole now; what is appended later is not seen.

    A long file is kept open and read piece by piece, so that memory does not grow with it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        handle = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(handle).st_size
            self.first = _first(path, os.pread(handle, HEADER_SIZE, 0))
            self._handle = handle
            self._small: np.ndarray | None = None
            self.count = self._whole(max(0, size - HEADER_SIZE) // RECORD.itemsize)
            if self.count <= SMALL:
                self._small = self._read(0, self.count)
        except BaseException:
            os.close(handle)
            raise
        if self._small is not None:
            os.close(handle)
        else:
            weakref.finalize(self, os.close, handle)

    @property
    def end(self) -> int:
        """The step after the last."""
        return self.first + self.count

    def __getitem__(self, step: int) -> np.ndarray:
        """The record of a step, as an array of one."""
        return self._checked(step - self.first, 1)[0]

    def blocks(self) -> Iterator[tuple[np.ndarray, int]]:
        """All records, some at a time; and how many of those are damaged and therefore lost."""
        for start in range(0, self.count, BLOCK):
            yield self._checked(start, min(BLOCK, self.count - start))

    def column(self, name: str) -> np.ndarray:
        """One field of every step, in float64."""
        found = np.empty(self.count)
        at = 0
        for records, _ in self.blocks():
            found[at : at + len(records)] = column(records, name)
            at += len(records)
        return found

    def damaged(self) -> int:
        """How many records do not carry their check."""
        return sum(count for _, count in self.blocks())

    def _checked(self, start: int, count: int) -> tuple[np.ndarray, int]:
        records = self._read(start, count)
        bad = records["check"] != checks(records, self.first + start)
        if damaged := int(np.count_nonzero(bad)):
            records = records.copy()
            records[bad] = lost(damaged)
        return records, damaged

    def _whole(self, count: int) -> int:
        """`count` without the damaged records at the end, which a crash leaves."""
        while count:
            start = max(0, count - BLOCK)
            records = self._read(start, count - start)
            good = np.flatnonzero(records["check"] == checks(records, self.first + start))
            if len(good):
                return start + int(good[-1]) + 1
            count = start
        return 0

    def _read(self, start: int, count: int) -> np.ndarray:
        if self._small is not None:
            return self._small[start : start + count]
        offset = HEADER_SIZE + start * RECORD.itemsize
        content = bytearray(count * RECORD.itemsize)
        view, done = memoryview(content), 0
        while done < len(content):
            read = os.preadv(self._handle, [view[done:]], offset + done)
            if not read:
                raise RunDirectoryError(
                    f"steps = {str(self.path)!r}: became shorter while it was read. Read it again."
                )
            done += read
        return np.frombuffer(content, RECORD)


class StepWriter:
    """Appends records, a block for each event."""

    def __init__(self, path: Path, step: int) -> None:
        """Continue at `step`: records of later steps, which were undone, are removed."""
        self._end = step
        self.lost = prepare(path, step)
        self._file = AppendedFile(path)

    def __call__(self, event: StepsCompleted) -> None:
        records = records_of(event)
        if event.step != self._end:
            raise ValueError(f"step {event.step} does not follow step {self._end - 1}")
        records["check"] = checks(records, event.step)
        self._file.write(records.tobytes())
        self._end += len(records)

    def sync(self) -> None:
        self._file.sync()

    def close(self) -> None:
        self._file.close()


def prepare(path: Path, step: int) -> int:
    """Make `path` end just before `step`; how many of the steps before are not recorded in it.

    A file that has to be cut is written anew: a process that reads the old one is not disturbed.
    """
    try:
        found = StepFile(path)
    except (FileNotFoundError, RunDirectoryError):
        found = None  # none, or one without a readable header: its steps are lost
    if found is None or found.first > step:
        write_whole(path, HEADER % step)
        return step
    count = step - found.first
    size = path.stat().st_size
    if size == HEADER_SIZE + count * RECORD.itemsize and found.count == count:
        return 0
    parts = [HEADER % found.first]
    with path.open("rb") as file:
        file.seek(HEADER_SIZE)
        parts.append(file.read(min(count, found.count) * RECORD.itemsize))
    if found.count < count:
        rest = lost(count - found.count)
        rest["check"] = checks(rest, found.end)
        parts.append(rest.tobytes())
    write_whole(path, b"".join(parts))
    return max(0, count - found.count)


def _first(path: Path, header: bytes) -> int:
    digits = header[-17:-1]
    if not digits.isdigit() or header != HEADER % int(digits):
        raise RunDirectoryError(
            f"steps = {str(path)!r}: is not a file of steps (its first {HEADER_SIZE} bytes). "
            "Remove it: only the record of the steps is lost."
        )
    return int(digits)
