"""Prose and formulas on the page, without a kernel."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from lockstep.book import chapter, chapter_page, running
from lockstep.book.execution import Executed
from lockstep.book.kernel import Settings
from lockstep.book.mathematics import FORMULA, formula

TEXT = """\
# Sums & <tags>
:label:`sec_sums`

A *word*, `code`, $a_1 * b_1$ and $c * d$, <script>alert(1)</script>.

$$\\begin{aligned} x &= 1,\\\\ y &= \\frac{1}{2} \\end{aligned}$$

![A picture](../img/none.svg)

```{.python .input}
#@tab pytorch
print('<b>')
```
"""


def made(outputs: list[dict[str, object]], problem: str = "") -> str:
    found = chapter.parse(TEXT, Path("sums.md"))
    settings = Settings("torch", "pytorch")
    (cell,) = found.cells("pytorch")
    done = running.CellRun(1, cell, Executed(outputs, 0.5, problem))
    return chapter_page.chapter_page(running.ChapterRun(found, "pytorch", settings, (done,), 0.5))


def test_what_comes_from_outside_is_escaped() -> None:
    text = made([{"output_type": "stream", "name": "stdout", "text": "<i>said</i>"}])
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "&lt;i&gt;said&lt;/i&gt;" in text
    assert "Sums &amp; &lt;tags&gt;" in text
    assert "sec_sums" not in text
    assert "<em>Figure: A picture</em>" in text


def test_formulas_are_drawn() -> None:
    text = made([])
    assert text.count('class="math drawn"') == 3
    assert 'alt="a_1 * b_1"' in text  # the stars are no emphasis
    (aligned,) = re.findall(r'<div class="math drawn">(.*?)</div>', text)
    assert aligned.count("<img") == 2


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("$a$ and $b_1$.", ["$a$", "$b_1$"]),
        ("It costs $5 and $6 here.", []),
        ("From $a\n+ b$ on, $ c $ too.", ["$a\n+ b$", "$ c $"]),
        ("A single $ here\n\nand there $ b$.", []),
        ("$$a\n\nb$$", ["$$a\n\nb$$"]),
    ],
)
def test_what_is_a_formula(text: str, formulas: list[str]) -> None:
    assert FORMULA.findall(text) == formulas


@pytest.mark.parametrize("text", [r"$\nosuch{x}$", "$$$$", "$%$", r"$\frac{1}$", "$<a>$"])
def test_what_cannot_be_drawn_is_shown_as_it_is(text: str) -> None:
    found = formula(text)
    assert "<a>" not in found
    for coded in re.findall('base64,([^"]*)', found):
        assert b"<svg" in base64.b64decode(coded)


def test_a_terminals_colours_are_not_on_the_page() -> None:
    text = made([{"output_type": "stream", "name": "stdout", "text": "\x1b[1m9/10\x1b[0m ok"}])
    assert '<pre class="stdout">9/10 ok</pre>' in text


def test_images_and_errors() -> None:
    error = {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["one", "<two>"]}
    image = {"output_type": "display_data", "metadata": {}, "data": {
        "text/plain": "figure: a", "image/png": "iVBORw0KGgo="}}  # fmt: skip
    text = made([image, error], "E: v")
    assert '<img alt="figure: a" src="data:image/png;base64,iVBORw0KGgo=">' in text
    assert "&lt;two&gt;" in text
    assert "0 of 1 cells ran" in text
