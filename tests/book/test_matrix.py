"""Which files of a folder are chapters, and what each is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.book.chapters import as_markdown, as_notebook

from lockstep.book import chapter as chapters
from lockstep.book import matrix
from lockstep.book.execution import Executed
from lockstep.book.kernel import Settings
from lockstep.book.running import CellRun, ChapterRun
from lockstep.errors import InputError

CELL = as_markdown([(("pytorch",), "1")])


def written(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(CELL)


def test_a_name_has_the_folders_that_tell_it_from_the_others(tmp_path: Path) -> None:
    written(tmp_path, "en/sums.md", "de/sums.md", "de/only.md", "de/two.md", "de/two.rst")
    found = matrix.names(matrix.find([str(tmp_path)])[0])
    assert [found[path] for path in sorted(found)] == [
        "only", "de-sums", "two.md", "two.rst", "en-sums",
    ]  # fmt: skip


def test_what_lies_in_a_folder_and_is_no_chapter_is_passed_over(tmp_path: Path) -> None:
    """A second check does not run the notebooks that the first has written."""
    written(tmp_path, "sums.md", ".hidden/sums.md")
    own = as_notebook([(("pytorch",), "1")])
    (tmp_path / "mine.ipynb").write_text(own)
    executed = json.loads(own) | {"metadata": {"lockstep": {"tab": "pytorch"}}}
    (tmp_path / "sums-pytorch.ipynb").write_text(json.dumps(executed))
    (tmp_path / "broken.ipynb").write_text("[1]")
    (tmp_path / "folder.md").mkdir()
    found, unread = matrix.find([str(tmp_path)])
    assert [chapter.path.name for chapter in found] == ["mine.ipynb", "sums.md"]
    assert unread == []


def test_a_file_that_cannot_be_read_is_an_entry(tmp_path: Path) -> None:
    written(tmp_path, "sums.md")
    (tmp_path / "latin.md").write_bytes(CELL.encode() + b"\xe4")
    (tmp_path / "broken.ipynb").write_text(as_notebook([(("pytorch",), "1")])[:-9])
    (chapter,), unread = matrix.find([str(tmp_path)])
    assert [entry.path.name for entry in unread] == ["broken.ipynb", "latin.md"]
    assert "is not text in UTF-8" in unread[1].problem
    assert not unread[0].is_ok
    ran = next(matrix.check([chapter], ["pytorch"], ran_in))
    head, rows = matrix.matrix([*unread, ran])
    assert head == ["chapter", "pytorch"]
    assert [row[1] for row in rows] == ["not read", "not read", "ok 1/1, 2 s"]
    assert matrix.to_list(unread)[0]["tab"] is None


def ran_in(
    name: str, found: chapters.Chapter, tab: str, *, interrupted: bool = False
) -> ChapterRun:
    cells = tuple(CellRun(1, cell, Executed()) for cell in found.cells(tab))
    settings = Settings(chapters.TABS[tab], tab)
    return ChapterRun(found, tab, settings, cells, 2.0, interrupted=interrupted)


def test_an_interrupted_run_is_the_last(tmp_path: Path) -> None:
    written(tmp_path, "a.md", "b.md", "c.md")
    found, _ = matrix.find([str(tmp_path)])

    def run(name: str, chapter: chapters.Chapter, tab: str) -> ChapterRun:
        return ran_in(name, chapter, tab, interrupted=name == "b")

    entries = list(matrix.check(found, ["pytorch"], run))
    assert [entry.name for entry in entries] == ["a", "b"]


def test_tabs_that_no_chapter_has(tmp_path: Path) -> None:
    written(tmp_path, "a.md")
    found, _ = matrix.find([str(tmp_path)])
    with pytest.raises(InputError, match="none of these chapters"):
        next(matrix.check(found, ["jax"], ran_in))
