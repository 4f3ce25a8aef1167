"""Pages are whole, refer to nothing outside, and show hostile names as text."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.comparison import Comparison
from lockstep.report.comparison_page import comparison_page
from lockstep.report.run_page import run_page, write_run_page
from lockstep.training.directory import RunDirectory
from lockstep.training.history import History

HOSTILE = "<script>alert('x')</script> & \"quoted\" $math$"
NAME = "b & 'c' &lt; $d$"  # as far as a name may go
FIGURE = {"interactive": '<div class="plot"', "svg": "<svg"}
VOID = {"meta", "br", "img", "link", "hr", "input"}


class Page(HTMLParser):
    """Tags, attributes and text of a document; complains of tags that do not pair."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["script"]:
            self.text += data


def check_self_contained(text: str) -> Page:
    page = Page(text)
    assert not {"link", "img", "iframe", "object", "embed"} & set(page.tags)
    for name, value in page.attributes:
        if name in ("src", "href", "xlink:href", "action", "data"):
            assert value.startswith("#"), (name, value)
        assert not name.startswith("on")
    outside = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"@import|url\((?!#)", outside)
    # Bokeh's script and ours, and the data of each plot
    assert text.count("<script") in (0, 3 + page.tags.count("h4"))
    assert len(text) < 3_000_000
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    return page


def test_a_comparison_shows_the_verdict_first(comparison: Comparison, kind: str) -> None:
    text = comparison_page(comparison)
    page = check_self_contained(text)
    assert text.count(FIGURE[kind]) == {"interactive": 3, "svg": 1}[kind]
    assert page.tags.count("h1") == 1
    assert "Jax differs at step 25: loss; mxnet crashed." in page.text
    assert text.index("differs") < text.index("<table") < text.index(FIGURE[kind])
    for words in ("1.0e-03 from step 25", "segmentation <fault>", "SIGSEGV", "1,000", "3.11"):
        assert words in page.text
    assert 'kind = "airfoil"' in page.text
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_a_comparison_that_agrees_says_so(comparison: Comparison) -> None:
    text = comparison_page(replace(comparison, rows=comparison.rows[:2]))
    assert "They agree." in text
    assert "torch computes the oracle&#x27;s numbers at all 40 steps" in text


def test_unmoved_losses_are_said_to_prove_nothing(comparison: Comparison) -> None:
    still = replace(comparison, rows=comparison.rows[:2], moved=False)
    assert "not a comparison: the loss did not move" in comparison_page(still).lower()


@pytest.fixture(params=["interactive", "svg"], autouse=True)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every page with Bokeh, and as where it is not installed."""
    if request.param == "svg":
        monkeypatch.setattr("lockstep.report.interactive.is_installed", lambda: False)
    return str(request.param)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    spec = ls.recipes.airfoil_linear(name=NAME)
    return RunDirectory.create(tmp_path / "run", spec, {"processor": HOSTILE, "cores": 2})


def test_a_run_has_a_page(directory: RunDirectory, history: History, kind: str) -> None:
    text = write_run_page(directory, history).read_text()
    page = check_self_contained(text)
    # loss, loss of epochs, accuracy, rate, loss against time
    assert text.count(FIGURE[kind]) == {"interactive": 5, "svg": 1}[kind]
    for words in (
        NAME,
        HOSTILE,
        "train loss",
        "90.00 %",
        "eager steps",
        "20 steps/s",
        "unfinished",
    ):
        assert words in page.text
    assert (directory.path / "report.html").exists()


def test_hostile_names_stay_text(directory: RunDirectory, comparison: Comparison) -> None:
    spoilt = replace(
        comparison.rows[3], framework=HOSTILE, problem=HOSTILE, log=(HOSTILE,), notes=(HOSTILE,)
    )
    odd = replace(
        comparison, spec=directory.spec, rows=(*comparison.rows[:2], spoilt), machine={HOSTILE: 1}
    )
    text = comparison_page(odd)
    page = check_self_contained(text)
    assert "<script>alert" not in text
    assert page.text.count(HOSTILE) >= 5


def test_a_run_without_a_step_has_a_page_too(directory: RunDirectory) -> None:
    assert "unfinished" in check_self_contained(run_page(directory, History())).text


def test_without_matplotlib_the_page_says_what_is_left_out(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = check_self_contained(comparison_page(comparison))
    assert "svg" not in page.tags
    if kind == "interactive":  # Bokeh needs no matplotlib
        return
    assert "pip install 'lockstep-train[figures]'" in page.text
