"""What a person sees of a chapter that runs: a line for each cell, progress of long ones, the
summary; and the files that are written in the end."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Self, TextIO

from rich.cells import cell_len, set_cell_size

from lockstep.book import notebook_file
from lockstep.book.chapter_page import chapter_page
from lockstep.book.kernel import Settings
from lockstep.book.pieces import Cell
from lockstep.book.running import NUM_DEVICES, CellRun, ChapterRun, Listener
from lockstep.files import write_whole
from lockstep.report.progress import Report, work_progress
from lockstep.report.quantities import duration

LONG_SECONDS = 3.0  # a cell that takes longer shows its progress
WIDTH = 48  # of a cell's first line


class CellLines(Listener):
    """Lines on `file`; the progress of long cells on `progress_file`."""

    def __init__(self, file: TextIO, progress_file: TextIO) -> None:
        self._file, self._progress_file = file, progress_file
        self._bar: ExitStack = ExitStack()
        self._report: Report = lambda share, text: None
        self._what = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *stop: object) -> None:
        self._bar.close()

    def begun(self, number: int, total: int, cell: Cell) -> None:
        self._what = cell.first_line
        work = work_progress(f"cell {number} of {total}", self._progress_file)
        self._report = self._bar.enter_context(work)

    def tick(self, share: float, seconds: float) -> None:
        if seconds > LONG_SECONDS:
            self._report(min(share, 0.99), self._what)

    def ended(self, run: CellRun, total: int) -> None:
        self._bar.close()
        print(cell_line(run, total), file=self._file, flush=True)


def cell_line(run: CellRun, total: int) -> str:
    """
    >>> from lockstep.book.execution import Executed
    >>> cell_line(CellRun(3, Cell("import torch", ()), Executed(seconds=2.0)), 12)
    ' 3/12  import torch                                         2.0 s  ok'
    """
    first = run.cell.first_line
    if cell_len(first) > WIDTH:  # in columns: Chinese letters take two
        first = f"{set_cell_size(first, WIDTH - 3)}..."
    outcome = f"failed: {run.executed.problem}" if run.executed.problem else "ok"
    if run.executed.is_cut:
        outcome += "; it printed too much, the rest was not kept"
    number = f"{run.number:>{len(str(total))}}/{total}"
    return (
        f"{number}  {set_cell_size(first, WIDTH)}  {duration(run.executed.seconds):>8}  {outcome}"
    )


def write(run: ChapterRun, folder: Path, name: str = "") -> tuple[Path, Path]:
    """The executed notebook and the page, called as the chapter's file or as `name` says."""
    chapter = name or run.chapter.path.stem
    name = f"{chapter}-{run.tab}{'-quick' if run.settings.quick else ''}"
    notebook = write_whole(folder / f"{name}.ipynb", notebook_file.to_bytes(run))
    page = write_whole(folder / f"{name}.html", chapter_page(run).encode())
    return notebook, page


def print_summary(run: ChapterRun, files: tuple[Path, Path]) -> None:
    """How it ended, what was done otherwise, and where the files are."""
    said = f"all {len(run.cells)} cells ran"
    if not run.is_whole:
        said = f"{run.num_ok} of {len(run.cells)} cells ran"
    how = "; interrupted" if run.interrupted else ""
    print(f"\n{run.chapter.title}, {run.tab}: {said} in {duration(run.seconds)}{how}")
    for note in run.notes:
        print(f"note: {note}")
    for patch in run.patches:
        print(f"changed: {patch}")
    for file in files:
        print(f"{'notebook' if file.suffix == '.ipynb' else 'page'}: {file}")
    print(f"its kernel, for your own Jupyter: {kernel_command(run.settings)}")


def kernel_command(settings: Settings) -> str:
    """What makes a run's kernel known to Jupyter.

    >>> kernel_command(Settings("torch", "pytorch", num_devices=4))
    'lockstep env kernel torch --devices 4'
    """
    devices = settings.num_devices
    words = f" --devices {devices}" if devices not in (0, NUM_DEVICES) else ""
    return f"lockstep env kernel {settings.framework}{words}"
