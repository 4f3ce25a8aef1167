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
from lockstep.report.quantities import duration, parse_list

SUFFIXES = (".md", ".rst", ".ipynb", ".txt")


@dataclass(frozen=True)
class Entry:
    """One chapter in one tab: its run, or why there is none. `name` tells it from the others; a
    file that cannot be read has no tab."""

    name: str
    path: Path
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
            return "not run" if self.tab else "not read"
        count = f"{self.run.num_ok}/{len(self.run.cells)}"
        return f"{'ok' if self.is_ok else 'failed'} {count}, {duration(round(self.run.seconds))}"


def find(paths: Iterable[str]) -> tuple[list[chapters.Chapter], list[Entry]]:
    """The chapters among files and in folders, and an entry for each file in a folder that cannot
    be read. Every file that is named must be a chapter. In folders, other files, hidden folders
    and notebooks written by `book run` are passed over."""
    found: list[chapters.Chapter] = []
    unread: list[Entry] = []
    for path in map(Path, paths):
        if not path.is_dir():
            found.append(chapters.read(path))
            continue
        for file in sorted(path.rglob("*")):
            hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            if file.suffix in SUFFIXES and file.is_file() and not hidden and not is_executed(file):
                try:
                    found.append(chapters.read(file))
                except chapters.NoChapter:
                    continue
                except InputError as error:
                    unread.append(Entry(str(file), file, "", None, str(error)))
    if not found and not unread:
        problem, remedy = "has no chapter", "Name files, or folders that have some."
        raise InputError("chapters", list(paths), problem, remedy)
    return found, unread


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

    >>> read_tabs("pytorch, mxnet"), len(read_tabs("all"))
    (('pytorch', 'mxnet'), 6)
    """
    names = tuple(chapters.TABS) if text == "all" else parse_list(text, "tabs")
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
    entry without a run, and a run that is interrupted is the last entry."""
    there = dict.fromkeys(tab for chapter in found for tab in chapter.tabs)
    if found and not any(tab in tabs for tab in there):
        remedy = f"They have: {', '.join(there)}."
        raise InputError("tabs", ",".join(tabs), "in none of these chapters", remedy)
    named = names(found)
    for chapter in found:
        name = named[chapter.path]
        for tab in (tab for tab in chapter.tabs if tab in tabs):
            try:
                done = run(name, chapter, tab)
            except LockstepError as error:
                yield Entry(name, chapter.path, tab, None, str(error))
                continue
            yield Entry(name, chapter.path, tab, done)
            if done.interrupted:
                return


def matrix(entries: Sequence[Entry]) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table: chapters by tabs."""
    tabs = list(dict.fromkeys(entry.tab for entry in entries if entry.tab))
    words = {(entry.name, entry.tab): entry.word for entry in entries}
    named = dict.fromkeys(entry.name for entry in entries)
    rows = [
        [name, *(words.get((name, tab), words.get((name, ""), "")) for tab in tabs)]
        for name in named
    ]
    return ["chapter", *tabs], rows


def to_list(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Plain values for a program."""
    return [
        entry.run.to_dict()
        if entry.run
        else {
            "chapter": str(entry.path),
            "tab": entry.tab or None,
            "ok": False,
            "problem": entry.problem,
        }
        for entry in entries
    ]
