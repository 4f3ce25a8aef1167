"""A chapter is read the same from each format; what its cells say is kept to the letter."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.book.chapters import Cells, as_markdown, as_notebook, as_restructured

from lockstep.book import chapter
from lockstep.book.pieces import Cell
from lockstep.errors import InputError

FORMATS: list[Callable[[Cells], str]] = [
    as_markdown,
    lambda cells: as_markdown(cells, "%%tab"),
    as_restructured,
    as_notebook,
]
IDS = ["#@tab", "%%tab", "rst", "notebook"]

CELLS: Cells = [
    (("pytorch", "jax"), "from d2l import torch as d2l\n\ndef f(x):\n    return x  # one"),
    (("all",), "print(f'{1:>3}')"),
    (("jax",), "#@save\nclass A:\n    b = '```'"),
]


def parsed(text: str) -> chapter.Chapter:
    return chapter.parse(text, Path("adding.md"))


@pytest.mark.parametrize("write", FORMATS, ids=IDS)
def test_cells_of_each_tab(write: Callable[[Cells], str]) -> None:
    found = parsed(write(CELLS))
    assert found.title == "Adding"
    assert found.tabs == ("pytorch", "jax")
    codes = [code for _, code in CELLS]
    assert [cell.source for cell in found.cells("pytorch")] == codes[:2]
    assert [cell.source for cell in found.cells("jax")] == codes


words = st.text(st.characters(exclude_characters="`"), min_size=1, max_size=30)
lines = words.map(lambda text: f"x = {text!r}")
codes = st.lists(st.one_of(lines, st.just(""), lines.map(lambda line: f"    {line}")), max_size=4)
sources = st.tuples(lines, codes, lines).map(
    lambda parts: "\n".join([parts[0], *parts[1], parts[2]])
)
tabs = st.lists(st.sampled_from(sorted(chapter.TABS)), min_size=1, max_size=3, unique=True)
cells = st.lists(
    st.tuples(st.one_of(tabs.map(tuple), st.just(("all",))), sources), min_size=1, max_size=5
)


@given(cells, st.sampled_from(FORMATS))
def test_what_was_written_is_read(written: Cells, write: Callable[[Cells], str]) -> None:
    found = parsed(write(written))
    for tab in chapter.TABS:
        wanted = [code for named, code in written if tab in named or "all" in named]
        if tab in found.tabs:
            assert [cell.source for cell in found.cells(tab)] == wanted
        else:
            assert not any(tab in named for named, _ in written)


def test_a_cell_without_a_tab_is_mxnet_among_others() -> None:
    found = parsed(as_markdown([((), "a = 1"), (("pytorch",), "a = 2"), (("all",), "a")]))
    assert [cell.source for cell in found.cells("mxnet")] == ["a = 1", "a"]
    assert [cell.source for cell in found.cells("pytorch")] == ["a = 2", "a"]


@pytest.mark.parametrize("write", FORMATS, ids=IDS)
def test_a_chapter_without_tabs_is_of_the_framework_it_imports(
    write: Callable[[Cells], str],
) -> None:
    found = parsed(write([((), "from d2l import paddle as d2l"), ((), "d2l.zeros(1)")]))
    assert found.tabs == ("paddle",)
    assert len(found.cells("paddle")) == 2


def test_code_of_no_framework_is_for_every_tab() -> None:
    found = parsed(as_markdown([((), "print(1)")]))
    assert found.tabs == tuple(chapter.TABS)
    assert [cell.source for cell in found.cells("jax")] == ["print(1)"]


def test_the_cell_that_chooses_a_tab_is_none_of_the_chapter() -> None:
    chooses = "%load_ext d2lbook.tab\ntab.interact_select('mxnet', 'pytorch')"
    found = parsed(as_markdown([((), chooses), (("pytorch",), "a = 1")], "%%tab"))
    assert found.tabs == ("pytorch",)


def test_prose_of_a_tab_is_seen_in_that_tab() -> None:
    text = as_markdown([(("pytorch", "jax"), "1")]) + "\n:begin_tab:`jax`\nOnly here.\n:end_tab:\n"
    found = parsed(text)
    said = ["\n".join(getattr(piece, "text", "") for piece in found.of_tab(tab))
            for tab in ("pytorch", "jax")]  # fmt: skip
    assert "Only here." not in said[0]
    assert "Only here." in said[1]
    assert ":label:" not in said[0]
    assert "**words**" in said[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# Only words\n", "has no code cell"),
        ("", "has no code cell"),
        ('{"cells": 3}', "is not a notebook"),
        ('{"cells": [{"cell_type": "code"}]}', "is not a notebook"),
        ("{broken", "is not a notebook"),
    ],
)
def test_what_is_no_chapter(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parsed(text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        chapter.read(tmp_path / "none.md")
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        chapter.read(tmp_path / "bytes.md")


def test_a_notebook_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "own.ipynb"
    path.write_text(as_notebook([(("pytorch",), "a = 1")]), encoding="utf-8-sig")
    found = chapter.read(path)
    assert (found.format, found.tabs) == ("notebook", ("pytorch",))


def test_an_unknown_tab() -> None:
    with pytest.raises(InputError, match="Did you mean 'pytorch'"):
        parsed(as_markdown([(("pytorch",), "1")])).cells("torch")


def test_the_five_chapters(seeds: list[Path]) -> None:
    """Against numbers of cells counted by lines of the files, without the reader."""
    wanted = [
        {"mxnet", "pytorch", "paddle"},
        {"mxnet", "pytorch"},
        {"mxnet", "pytorch", "tensorflow", "paddle", "mindspore"},
        {"mxnet", "pytorch", "tensorflow"},
        {"mxnet", "pytorch", "tensorflow"},
    ]
    for path, tabs in zip(seeds, wanted, strict=True):
        found = chapter.read(path)
        assert set(found.tabs) == tabs
        for tab in tabs:
            assert len(found.cells(tab)) == counted(path.read_text(), tab), (path.name, tab)
            for cell in found.cells(tab):
                code = "\n".join(
                    line for line in cell.source.split("\n") if not line.startswith("%")
                )
                compile(code, path.name, "exec")


def counted(text: str, tab: str) -> int:
    if ".. code:: python" in text:  # a panel has one cell, or the link to the discussion
        return len(re.findall(rf'__panel[^>]*id="{tab}-', text)) - 1
    lines = text.split("\n")
    number = 0
    for line, following in itertools.pairwise(lines):
        if line.startswith("```{.python .input"):
            named = following.removeprefix("#@tab ") if following.startswith("#@tab") else "mxnet"
            number += named == "all" or tab in re.split(", *", named)
    return number


def test_a_cell_is_named_by_its_first_telling_line() -> None:
    assert Cell("\n#@save\n", ()).first_line == "#@save"
    assert Cell("", ()).first_line == ""
