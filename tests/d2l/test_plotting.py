"""Figures in a terminal and in a folder; in a notebook they are tested with the chapters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lockstep.d2l import drawing, options, plotting


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    drawing.finish()
    plotting.pyplot().close("all")
    options.set(figures="auto")


def grown() -> plotting.Animator:
    animator = plotting.Animator("epoch", "loss", legend=["train", "test"], xlim=[0, 4])
    for epoch in range(1, 5):
        animator.add(epoch, (1 / epoch, None if epoch % 2 else 2 / epoch))
    return animator


def test_points_without_a_value_are_left_out() -> None:
    animator = grown()
    assert animator.X == [[1, 2, 3, 4], [2, 4]]
    assert animator.Y == [[1, 1 / 2, 1 / 3, 1 / 4], [1.0, 0.5]]


def test_a_terminal_gets_text_once(capsys: pytest.CaptureFixture[str]) -> None:
    options.set(figures="terminal")
    grown()
    assert capsys.readouterr().out == ""  # it is not finished
    drawing.finish()
    out = capsys.readouterr().out
    assert "A = train" in out
    assert "B = test" in out
    assert "loss" in out
    assert "<Figure" not in out
    drawing.finish()
    assert capsys.readouterr().out == ""


def test_another_figure_finishes_the_one_before(capsys: pytest.CaptureFixture[str]) -> None:
    options.set(figures="terminal")
    plotting.plot([1, 2, 3], [[1, 4, 9], [1, 2, 3]], "x", "y", legend=["square", "line"])
    plotting.pyplot().gca().set_xscale("log")
    grown()
    assert "A = square" in capsys.readouterr().out


def test_figures_that_change_again_are_drawn_again(capsys: pytest.CaptureFixture[str]) -> None:
    """A cell goes on with the figure of a cell before; two figures of a cell grow in turns."""
    options.set(figures="terminal")
    first, second = (plotting.Animator(legend=[name, "b"]) for name in ("first", "second"))
    for epoch in range(3):
        first.add(epoch, (1, 2))
        second.add(epoch, (1, 2))
    drawing.finish()
    out = capsys.readouterr().out
    assert (out.count("A = first"), out.count("A = second")) == (1, 1)
    first.add(3, (1, 2))
    drawing.finish()
    out = capsys.readouterr().out
    assert (out.count("A = first"), out.count("A = second")) == (1, 0)


def test_a_folder_gets_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options.set(figures=str(tmp_path))
    grown()
    drawing.finish()
    plotting.plot(np.arange(5.0))
    drawing.finish()
    files = sorted(tmp_path.glob("*.svg"))
    assert len(files) == 2
    assert all("<svg" in file.read_text() for file in files)
    assert re.findall(r"figure: (.*)", capsys.readouterr().err) == [str(file) for file in files]


@pytest.mark.parametrize(
    ("x", "y", "wanted"),
    [
        ([1, 2], None, [([0, 1], [1, 2])]),
        ([1, 2], [3, 4], [([1, 2], [3, 4])]),
        ([1, 2], [[3, 4], [5, 6]], [([1, 2], [3, 4]), ([1, 2], [5, 6])]),
        ([[1], [2, 3]], [[4], [5, 6]], [([1], [4]), ([2, 3], [5, 6])]),
        (np.arange(2), np.ones((2, 2)), [([0, 1], [1, 1]), ([0, 1], [1, 1])]),
    ],
)
def test_what_plot_draws(
    x: object, y: object, wanted: list[tuple[list[float], list[float]]]
) -> None:
    options.set(figures="terminal")
    plotting.plot(x, y)
    lines = plotting.pyplot().gca().get_lines()
    drawn = [(list(line.get_xdata()), list(line.get_ydata())) for line in lines]
    assert drawn == wanted


def test_figures_in_words() -> None:
    assert drawing.described(grown().draw()) == "figure: loss against epoch"


def test_the_size_is_that_of_the_next_figure() -> None:
    options.set(figures="terminal")
    sizes = []
    for ask in (True, False):
        if ask:
            plotting.set_figsize([6, 3])
        plotting.plot([1, 2])
        sizes.append(tuple(plotting.pyplot().gcf().get_size_inches()))
        drawing.finish()
    assert sizes == [(6, 3), (3.5, 2.5)]
