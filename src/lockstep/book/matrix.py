"""Many chapters in many tabs, one after another, and the matrix of how they ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockstep.book import chapter as chapters
from lockstep.book.notebook_file import is_executed
from lockstep.book.running import ChapterRun
from lockstep.errors import InputError, LockstepError, unknown
from lockstep.report.quantities import duration

SUFFIXES = (".md", ".rst", ".ipynb", ".txt")


@dataclass(frozen=True)
class Entry:
    """One chapter in one tab: its run, or why there is none. `name` tells it from the others."""

    name: str
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
    one that lies in a folder is passed over, as are hidden folders and notebooks that `book run`
    has written."""
    found = []
    for path in map(Path, paths):
        if not path.is_dir():
            found.append(chapters.read(path))
            continue
        for file in sorted(path.rglob("*")):
            hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            if file.suffix in SUFFIXES and not hidden and not is_executed(file):
                try:
                    found.append(chapters.read(file))
                except InputError:
                    continue
    if not found:
        problem, remedy = "has no chapter", "Name files, or folders that have some."
        raise InputError("chapters", list(paths), problem, remedy)
    return found


def names(found: Iterable[chapters.Chapter]) -> dict[Path, str]:
    """What each chapter is called in the table and in its files: as its file, with as many folders
    before it as it takes to tell it from the others."""
    full = {chapter.path: chapter.path.absolute() for chapter in found}
    return {path: _name(own, set(full.values()) - {own}) for path, own in full.items()}


def _name(path: Path, others: set[Path]) -> str:
    for count in range(len(path.parts)):
        own = _tail(path, count)
        if all(_tail(other, count) != own for other in others):
            return "-".join(own)
    return path.name  # beside it lies one of the same name with another ending


def _tail(path: Path, count: int) -> tuple[str, ...]:
    """The names of the last folders of a path, and that of its file without the ending."""
    return *path.parts[-1 - count : -1], path.stem


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
    run: Callable[[str, chapters.Chapter, str], ChapterRun],
) -> Iterator[Entry]:
    """Run each tab that a chapter has, under the chapter's name; a framework that is missing is an
    entry without a run, and Ctrl-C is the last entry."""
    named = names(found)
    for chapter in found:
        name = named[chapter.path]
        for tab in (tab for tab in chapter.tabs if tab in tabs):
            try:
                done = run(name, chapter, tab)
            except LockstepError as error:
                yield Entry(name, chapter, tab, None, str(error))
                continue
            yield Entry(name, chapter, tab, done)
            if done.interrupted:
                return


def matrix(entries: Sequence[Entry]) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table: chapters by tabs."""
    tabs = list(dict.fromkeys(entry.tab for entry in entries))
    words = {(entry.name, entry.tab): entry.word for entry in entries}
    named = dict.fromkeys(entry.name for entry in entries)
    rows = [[name, *(words.get((name, tab), "") for tab in tabs)] for name in named]
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
