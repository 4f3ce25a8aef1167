"""Many chapters in many tabs, one after another, and the matrix of how they ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockstep.book import chapter as chapters
from lockstep.book.running import ChapterRun
from lockstep.errors import InputError, LockstepError, unknown
from lockstep.report.quantities import duration

SUFFIXES = (".md", ".rst", ".ipynb", ".txt")


@dataclass(frozen=True)
class Entry:
    """One chapter in one tab: its run, or why there is none."""

    chapter: chapters.Chapter
    tab: str
    run: ChapterRun | None
    problem: str = ""

    @property
    def is_ok(self) -> bool:
        return self.run is not None and self.run.is_whole

    @property
    def word(self) -> str:
        """How it ended, for a table."""
        if self.run is None:
            return "not run"
        count = f"{self.run.num_ok}/{len(self.run.cells)}"
        return f"{'ok' if self.is_ok else 'failed'} {count}, {duration(round(self.run.seconds))}"


def find(paths: Iterable[str]) -> list[chapters.Chapter]:
    """The chapters among files and in folders; a file that is named and is none is an InputError,
    one that lies in a folder is passed over."""
    found = []
    for path in map(Path, paths):
        if not path.is_dir():
            found.append(chapters.read(path))
            continue
        for file in sorted(path.rglob("*")):
            if file.suffix in SUFFIXES:
                try:
                    found.append(chapters.read(file))
                except InputError:
                    continue
    if not found:
        problem, remedy = "has no chapter", "Name files, or folders that have some."
        raise InputError("chapters", list(paths), problem, remedy)
    return found


def read_tabs(text: str) -> tuple[str, ...]:
    """Names with commas between them, or all.

    >>> read_tabs("pytorch,mxnet"), len(read_tabs("all"))
    (('pytorch', 'mxnet'), 6)
    """
    names = tuple(chapters.TABS) if text == "all" else tuple(text.split(","))
    for name in names:
        if name not in chapters.TABS:
            raise unknown("tabs", name, [*chapters.TABS, "all"])
    return names


def check(
    found: Sequence[chapters.Chapter],
    tabs: Sequence[str],
    run: Callable[[chapters.Chapter, str], ChapterRun],
) -> Iterator[Entry]:
    """Run each tab that a chapter has; a framework that is missing is an entry without a run, and
    Ctrl-C is the last entry."""
    for chapter in found:
        for tab in (name for name in chapter.tabs if name in tabs):
            try:
                done = run(chapter, tab)
            except LockstepError as error:
                yield Entry(chapter, tab, None, str(error))
                continue
            yield Entry(chapter, tab, done)
            if done.interrupted:
                return


def matrix(entries: Sequence[Entry]) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table: chapters by tabs."""
    tabs = list(dict.fromkeys(entry.tab for entry in entries))
    words = {(entry.chapter.path, entry.tab): entry.word for entry in entries}
    paths = dict.fromkeys(entry.chapter.path for entry in entries)
    rows = [[path.stem, *(words.get((path, tab), "") for tab in tabs)] for path in paths]
    return ["chapter", *tabs], rows


def to_list(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Plain values for a program."""
    return [
        entry.run.to_dict()
        if entry.run
        else {
            "chapter": str(entry.chapter.path),
            "tab": entry.tab,
            "ok": False,
            "problem": entry.problem,
        }
        for entry in entries
    ]
