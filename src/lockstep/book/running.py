"""A chapter's cells of one tab, run in their order in a kernel of the tab's framework."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from lockstep.book import gone_names
from lockstep.book import kernel as kernels
from lockstep.book.chapter import TABS, Chapter
from lockstep.book.execution import Executed, execute
from lockstep.book.pieces import Cell
from lockstep.d2l import has_virtual_devices
from lockstep.errors import InputError

TIMEOUT = 4 * 3600.0  # seconds for a cell; training in full takes long on a laptop
ANSWER_SECONDS = 60.0  # for what is asked between cells
NUM_DEVICES = 2
NOT_RUN = Executed(problem="not run")

# in a cell that asks for GPUs by name, or for several; try_gpu() alone takes what there is
_DEVICES = re.compile(
    r"\bcuda\b|try_gpu\(\s*[^)\s]|try_all_gpus|DataParallel|\bnpx\.gpu|[\"']gpu:|num_gpus"
)


@dataclass(frozen=True)
class CellRun:
    """A cell of the chapter, its number from 1, and how it ended."""

    number: int
    cell: Cell
    executed: Executed


@dataclass(frozen=True)
class ChapterRun:
    """What came out of a chapter's tab. `facts` are versions; `notes` what was done otherwise than
    asked, `patches` what was run in another spelling than the cell's."""

    chapter: Chapter
    tab: str
    settings: kernels.Settings
    cells: tuple[CellRun, ...]
    seconds: float
    facts: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    interrupted: bool = False  # by Ctrl-C

    @property
    def num_ok(self) -> int:
        return sum(not run.executed.problem for run in self.cells)

    @property
    def is_whole(self) -> bool:
        """Whether every cell ran."""
        return self.num_ok == len(self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a program."""
        return {
            "chapter": str(self.chapter.path),
            "tab": self.tab,
            "framework": self.settings.framework,
            "ok": self.is_whole,
            "interrupted": self.interrupted,
            "seconds": self.seconds,
            "facts": self.facts,
            "notes": list(self.notes),
            "patches": list(self.patches),
            "cells": [
                {
                    "number": run.number,
                    "first_line": run.cell.first_line,
                    "seconds": run.executed.seconds,
                    "problem": run.executed.problem,
                }
                for run in self.cells
            ],
        }


class Listener:
    """Told what happens while a chapter runs; this one says nothing."""

    def begun(self, number: int, total: int, cell: Cell) -> None: ...

    def tick(self, share: float, seconds: float) -> None: ...

    def ended(self, run: CellRun, total: int) -> None: ...


def settings_for(
    chapter: Chapter, tab: str, *, quick: bool = False, num_devices: int = NUM_DEVICES
) -> kernels.Settings:
    """How a tab is run; virtual devices are there only if its cells ask for several devices, and
    if its framework's names can have them."""
    cells = chapter.cells(tab)
    if tab not in TABS:
        known = [name for name in chapter.tabs if name in TABS]
        remedy = f"Run another one: {', '.join(known)}." if known else "Name its tabs otherwise."
        raise InputError("tab", tab, "is of no framework that Lockstep knows", remedy)
    framework = TABS[tab]
    wanted = has_virtual_devices(framework) and any(_DEVICES.search(cell.source) for cell in cells)
    return kernels.Settings(framework, tab, quick, num_devices if wanted else 0)


def run(
    chapter: Chapter,
    settings: kernels.Settings,
    folder: Path,
    listener: Listener | None = None,
    timeout: float = TIMEOUT,
) -> ChapterRun:
    """Run every cell of the tab. A cell that fails keeps no other from being run; a kernel that
    dies, and Ctrl-C, end the chapter, and the cells after that are marked as not run."""
    listener = listener or Listener()
    cells = chapter.cells(settings.tab)
    begin = time.monotonic()
    runs: list[CellRun] = []
    patches: list[str] = []  # what was run otherwise than it is written
    folder.mkdir(parents=True, exist_ok=True)
    facts: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    interrupted = False
    try:
        with kernels.started(settings, folder) as kernel:
            facts, notes = _ask(kernel, settings.framework)  # in case that it dies later
            for number, cell in enumerate(cells, 1):
                listener.begun(number, len(cells), cell)
                source, said = gone_names.patched(
                    cell.source, settings.framework, partial(_has_name, kernel)
                )
                patches += [f"cell {number}: {words}" for words in said]
                executed = execute(kernel, source, timeout, listener.tick)
                problem = gone_names.explained(executed.problem, cell.source, settings.framework)
                runs.append(CellRun(number, cell, replace(executed, problem=problem)))
                listener.ended(runs[-1], len(cells))
                if executed.is_last:
                    interrupted = executed.interrupted
                    break
            else:
                known, said = _ask(kernel, settings.framework)
                facts, notes = facts | known, said or notes
    except KeyboardInterrupt:  # between cells; what ran is kept, and where nothing did, old files
        if not runs:
            raise
        interrupted = True
    rest = enumerate(cells[len(runs) :], len(runs) + 1)
    runs += [CellRun(number, cell, NOT_RUN) for number, cell in rest]
    seconds = time.monotonic() - begin
    return ChapterRun(
        chapter, settings.tab, settings, tuple(runs), seconds, facts, notes, tuple(patches),
        interrupted,
    )  # fmt: skip


def _ask(kernel: kernels.Kernel, framework: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The versions in the kernel, and what its d2l names did otherwise than asked."""
    expressions = {
        "python": "__import__('platform').python_version()",
        framework: f"getattr(__import__('sys').modules.get({framework!r}), '__version__', '')",
        "notes": "__import__('lockstep.d2l.options').d2l.options.current().notes",
    }
    values = _values(kernel, expressions)
    notes: Sequence[str] = values.pop("notes", ())
    return {name: str(value) for name, value in values.items() if value}, tuple(notes)


def _values(kernel: kernels.Kernel, expressions: dict[str, str]) -> dict[str, Any]:
    """The values of Python expressions in the kernel. One that raises is left out; if the kernel
    does not answer in time, all are."""
    try:
        reply = kernel.client.execute(
            "", silent=True, allow_stdin=False, user_expressions=expressions, reply=True,
            timeout=ANSWER_SECONDS,
        )  # fmt: skip
    except TimeoutError:
        return {}
    answers = reply["content"].get("user_expressions", {})
    return {
        name: ast.literal_eval(answer["data"]["text/plain"])
        for name, answer in answers.items()
        if answer.get("status") == "ok"
    }


def _has_name(kernel: kernels.Kernel, name: str) -> bool:
    """Whether what is installed beside the kernel has a dotted name; True where it cannot say, so
    that the cell is run as it stands."""
    resolved = f"__import__('pkgutil').resolve_name({name!r}) is not None"
    found = _values(kernel, {"answers": "True", "there": resolved})
    return "there" in found or "answers" not in found
