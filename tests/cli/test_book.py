"""`lockstep book`: what it prints and what it refuses; tests/book runs chapters themselves."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.book.chapters import as_markdown
from tests.cli.conftest import Command

from lockstep.book.chapter import Chapter
from lockstep.book.execution import Executed
from lockstep.book.kernel import Settings
from lockstep.book.running import CellRun, ChapterRun


def chapter(folder: Path) -> str:
    cells = [(("pytorch", "mxnet"), "a = 1"), (("pytorch",), "print(a)"), (("all",), "a")]
    (folder / "own.md").write_text(as_markdown(cells))  # type: ignore[arg-type]
    return "own.md"


def test_tabs(lockstep: Command, folder: Path) -> None:
    path = chapter(folder)
    done = lockstep("book", "tabs", path)
    assert done.code == 0
    assert done.out.startswith("Adding (Markdown)\n")
    rows = [line.split()[:2] for line in done.out.splitlines()[3:]]
    assert rows == [["pytorch", "3"], ["mxnet", "2"]]
    tabs = lockstep("book", "tabs", path, "--json").json["tabs"]
    assert [(row["tab"], row["cells"], row["framework"]) for row in tabs] == [
        ("pytorch", 3, "torch"),
        ("mxnet", 2, "mxnet"),
    ]


def test_what_is_refused(mistake: Callable[..., str], folder: Path) -> None:
    path = chapter(folder)
    (folder / "words.md").write_text("# Only words\n")
    (folder / "odd.md").write_text(as_markdown([(("fortran",), "1")]))
    assert "--tab: pytorch, mxnet" in mistake("book", "run", path)
    assert "Did you mean 'pytorch'" in mistake("book", "run", path, "--tab", "torch")
    assert "has no code cell" in mistake("book", "run", "words.md")
    assert "cannot be read" in mistake("book", "tabs", "none.md")
    assert "of no framework" in mistake("book", "run", "odd.md")
    assert "must be positive" in mistake("book", "run", path, "--tab", "pytorch", "--timeout", "0")
    assert "devices = 65" in mistake("book", "run", path, "--tab", "pytorch", "--devices", "65")


def test_a_run(lockstep: Command, folder: Path) -> None:
    done = lockstep("book", "run", chapter(folder), "--tab", "pytorch", "--out", "made")
    assert done.code == 0, done
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["1/3", "2/3", "3/3"]
    assert all(line.endswith("ok") for line in lines[:3])
    assert "all 3 cells ran" in done.out
    files = sorted(path.name for path in (folder / "made").iterdir())
    assert files == ["own-pytorch.html", "own-pytorch.ipynb"]


def test_check_prints_the_matrix(
    lockstep: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCKSTEP_ENVIRONMENTS", str(folder / "none"))
    chapter(folder)
    (folder / "words.md").write_text("# Only words\n")  # no chapter: passed over in a folder
    done = lockstep("book", "check", ".", "--tabs", "pytorch,mxnet", "--quick")
    assert done.code == 1  # mxnet has no environment here
    assert "not run: framework = 'mxnet'" in done.err
    head, row = (line.split() for line in (done.out.splitlines()[-3], done.out.splitlines()[-1]))
    assert head == ["chapter", "pytorch", "mxnet"]
    assert row[:3] == ["own", "ok", "3/3,"]
    assert row[-2:] == ["not", "run"]
    assert (folder / "book" / "own-pytorch-quick.html").exists()


def test_check_refuses(mistake: Callable[..., str], folder: Path) -> None:
    chapter(folder)
    (folder / "empty").mkdir()
    assert "Did you mean 'pytorch'" in mistake("book", "check", ".", "--tabs", "torch")
    assert "has no chapter" in mistake("book", "check", "empty")
    assert "They have: pytorch, mxnet" in mistake("book", "check", ".", "--tabs", "jax")
    for words in (("check", "."), ("compare", "own.md")):
        assert "must be positive" in mistake("book", *words, "--timeout", "0")
        assert "devices = 65" in mistake("book", *words, "--devices", "65")


def test_check_that_is_interrupted_outside_a_cell(
    lockstep: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tabs that ran before are in the table."""

    def run(found: Chapter, settings: Settings, *words: object) -> ChapterRun:
        if settings.tab == "mxnet":
            raise KeyboardInterrupt
        cells = tuple(CellRun(1, cell, Executed()) for cell in found.cells(settings.tab))
        return ChapterRun(found, settings.tab, settings, cells, 2.0)

    monkeypatch.setattr("lockstep.book.running.run", run)
    chapter(folder)
    done = lockstep("book", "check", ".", "--tabs", "pytorch, mxnet")
    assert done.code == 130
    assert done.out.splitlines()[-1].split()[:3] == ["own", "ok", "3/3,"]
    (folder / "latin.md").write_bytes(b"\xe4")
    done = lockstep("book", "check", ".", "--tabs", "pytorch")
    assert done.code == 1
    assert "not read: chapter = 'latin.md': is not text in UTF-8" in done.err


def test_compare(lockstep: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKSTEP_ENVIRONMENTS", str(folder / "none"))
    done = lockstep("book", "compare", chapter(folder), "--tabs", "pytorch", "--json")
    assert done.code == 0, done
    assert done.json["pytorch"]["ok"] is True
    assert done.json["pytorch"]["figures"] == []
    assert [cell["problem"] for cell in done.json["pytorch"]["cells"]] == ["", "", ""]


def test_compare_that_is_interrupted_in_its_own_runs(
    lockstep: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chapter has run: its tables are printed all the same. SIGTERM is taken as Ctrl-C."""

    def interrupt(*words: object, **options: object) -> None:
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("lockstep.book.own_runs.carried_out", interrupt)
    code = "def allreduce(data):\n    pass\nallreduce(())"
    (folder / "own.md").write_text(as_markdown([(("pytorch",), code)]))
    done = lockstep("book", "compare", "own.md")
    assert done.code == 130
    assert "Seconds of each cell" in done.out
