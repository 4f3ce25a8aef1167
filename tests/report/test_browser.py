"""Pages in a real browser: drawn, with values under the pointer, names that hide curves, no error,
no request, and readable in the light, in the dark and on a phone."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.report import browser as chromium
from tests.report.browser import Browser

import lockstep as ls
from lockstep.comparison import Comparison
from lockstep.report import page
from lockstep.report.charts import SERIES, Bar, Chart, Guide, Heat, Panel, Series
from lockstep.report.comparison_page import write_comparison_page
from lockstep.report.run_page import write_run_page
from lockstep.report.run_rows import read_runs
from lockstep.report.runs_page import write_runs_page
from lockstep.training.directory import RunDirectory
from lockstep.training.history import History

pytest.importorskip("bokeh", reason="interactive pages need Bokeh")
pytestmark = pytest.mark.skipif(
    chromium.program() is None, reason="no Chromium here: apt-get install chromium"
)
HOSTILE = "</script><b>$$x$$"
SIDES = ("left", "right", "top", "bottom")
STEPS = np.arange(201.0)
FALLING = 2 * 0.99**STEPS


def chart() -> Chart:
    gap = np.where((STEPS > 80) & (STEPS < 120), np.nan, 0.5 * FALLING)
    curves = (
        Series("one", STEPS, FALLING, low=0.8 * FALLING, high=1.2 * FALLING),
        Series(HOSTILE, STEPS, gap, dash="dashed"),
    )
    times = (Series("one", STEPS / 10, FALLING), Series("points", [1, 9], [1, 1.5], line=False))
    rates = (Series("one", [0, 100, 200], [0.3, 0.2, 0.1], steps=True),)
    bars = (Bar(0, 3, text="3 ms", low=2.5, high=3.5), Bar(1, 5, colour=SERIES[1], label="send"))
    heat = Heat(["1", "2"], ["a", HOSTILE], np.array([[1.0, 2.0], [np.nan, 4.0]]), "loss")
    guides = (Guide(0.5, "tolerance"), Guide(150, "from here", "x"))
    panels = (
        Panel("loss", "step", "loss", curves, guides=guides, wide=True),
        Panel("time", "seconds $$y$$", "loss", times, x_log=True, y_log=True),
        Panel("rate", "step", "rate", rates, y_zero=True, x_ticks={0: "0", 200: "end"}),
        Panel("bars", "ms", "", bars=bars, rows=("a row with a name that is long", HOSTILE)),
        Panel("cells", "x", "y", heat=heat),
    )
    return Chart(f"all kinds {HOSTILE}", panels, "generated data")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.browser() as found:
        yield found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages") / "page.html"
    parts = page.heading(HOSTILE, "x"), page.section("all", page.chart(chart(), "all", HOSTILE))
    made.write_text(page.document(HOSTILE, *parts))
    return made


def check(browser: Browser, path: Path) -> None:
    """What holds for every page that is open: nothing is amiss, asked for or too wide."""
    assert browser.complaints == []
    assert browser.requests == [path.resolve().as_uri()]
    assert path.stat().st_size < 3_000_000
    width, window = browser.run("[document.documentElement.scrollWidth, innerWidth]")
    assert width <= window


def box(browser: Browser, selector: str) -> list[float]:
    """left, top, width, height of an element, scrolled into the window."""
    found: list[float] = browser.run(
        f"(() => {{ const e = document.querySelector({selector!r});"
        "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
        "return [r.left, r.top, r.width, r.height]; })()"
    )
    return found


def colours_in(browser: Browser, selector: str) -> set[tuple[int, int, int]]:
    """The colours of the pixels of an element."""
    from PIL import Image

    left, top, width, height = map(int, box(browser, selector))
    with Image.open(io.BytesIO(browser.screenshot())) as image:
        part = image.convert("RGB").crop((left, top, left + width, top + height))
        return set(map(tuple, np.asarray(part).reshape(-1, 3).tolist()))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_curves_have_the_page_s_colours(browser: Browser, path: Path, dark: bool) -> None:
    browser.open(path, dark=dark)
    check(browser, path)
    assert browser.run("document.documentElement.dataset.drawn") == "5"
    drawn = colours_in(browser, "#all-0")
    first, paper = ((79, 176, 240), (26, 32, 38)) if dark else ((0, 114, 178), (254, 254, 254))
    assert {first, paper} <= drawn
    body = browser.run("getComputedStyle(document.body).backgroundColor")
    assert body == ("rgb(18, 22, 26)" if dark else "rgb(244, 246, 248)")


def test_colours_follow_a_change(browser: Browser, path: Path) -> None:
    browser.open(path)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.send("Emulation.setEmulatedMedia", features=dark)
    browser.wait(
        "Bokeh.documents[0].roots()[0].background_fill_color === '#1a2026'"
        "&& getComputedStyle(document.body).backgroundColor === 'rgb(18, 22, 26)'"
    )


def readout(browser: Browser, name: str, x: float, y: float) -> str:
    """What is said of a place of a plot."""
    left, top, *_ = box(browser, f"#{name}")
    for shift in range(40):  # a page that was scrolled notices the pointer when it moves on
        browser.move(left + x + shift % 2, top + y)
        text: str = browser.run(f"document.querySelector('#{name} .readout').innerText")
        if text:
            return text
        browser.run("new Promise(done => setTimeout(done, 50))")
    raise AssertionError(f"{name} says nothing")


def test_a_value_under_the_pointer(browser: Browser, path: Path) -> None:
    browser.open(path)
    # where the plot itself has step 50
    x = browser.run("Bokeh.index.roots[0].frame.x_scale.compute(50)")
    text = readout(browser, "all-0", x, 135)
    assert "step 50" in text
    assert "one" in text
    assert f"{2 * 0.99**50:.4g}" in text  # the formula of the curve
    assert HOSTILE in text  # as text
    assert browser.run("document.querySelectorAll('.readout script, .readout span b').length") == 0


def test_cells_and_bars_tell_their_values(browser: Browser, path: Path) -> None:
    browser.open(path)
    assert readout(browser, "all-4", 190, 80) == "y a, x 1: loss 1.000"
    long = "a row with a name that is long"
    assert readout(browser, "all-3", 200, 55) == f"{long}, 3 ms: 3.000 (2.500 to 3.500)"


def test_a_click_on_a_name_hides_its_curves_everywhere(browser: Browser, path: Path) -> None:
    browser.open(path)
    visible = (
        "Bokeh.documents.map(d => d.roots()[0].renderers.filter(r => r.name === 'one')"
        ".map(r => r.visible)).flat()"
    )
    # the curve and its band, and those in the two other panels
    assert browser.run(visible) == [True] * 4
    left, top, width, height = box(browser, '[data-label="one"]')
    browser.click(left + width / 2, top + height / 2)
    assert browser.run(visible) == [False] * 4
    pressed = "[...document.querySelectorAll('[data-label=one]')].map(b => b.ariaPressed)"
    assert browser.run(pressed) == ["false"] * 3
    browser.run("new Promise(done => setTimeout(done, 200))")
    assert (0, 114, 178) not in colours_in(browser, "#all-0 > :first-child")
    left, top, width, height = box(browser, '[data-label="one"]')
    browser.click(left + width / 2, top + height / 2)
    assert browser.run(visible) == [True] * 4


def test_a_phone_shows_panels_below_each_other(browser: Browser, path: Path) -> None:
    browser.open(path, width=360, height=740)
    check(browser, path)
    lefts = browser.run(
        "[...document.querySelectorAll('.plot')].map(e => e.getBoundingClientRect().left)"
    )
    assert len(set(lefts)) == 1


def test_pages_of_runs_and_comparisons(
    browser: Browser, comparison: Comparison, tmp_path: Path
) -> None:
    for name, batch_size in (("one", 10), ("two", 100)):
        ls.train(ls.recipes.airfoil_linear(epochs=1, batch_size=batch_size), out=tmp_path / name)
    one, two = (RunDirectory(tmp_path / name) for name in ("one", "two"))
    pages = {
        write_run_page(one, one.history()): 1000,
        write_runs_page(read_runs([one, two]), tmp_path / "runs.html", "examples"): 360,
        write_comparison_page(comparison, tmp_path / "comparison.html"): 360,
    }
    for made, width in pages.items():
        browser.open(made, width=width, dark=width == 360)
        check(browser, made)
        assert int(browser.run("document.documentElement.dataset.drawn")) >= 3


def test_a_notebooks_picture_says_what_is_under_the_pointer(
    browser: Browser, history: History, tmp_path: Path
) -> None:
    """Without a script: by style alone, which a notebook keeps."""
    file = tmp_path / "output.html"
    html = history._repr_html_()
    file.write_text(f"<!DOCTYPE html><html data-drawn><body>{html}</body></html>")
    browser.open(file)
    said = (
        "[...document.querySelectorAll('.lockstep-at text')]"
        ".filter(t => getComputedStyle(t).visibility === 'visible').map(t => t.textContent)"
    )
    box = "document.querySelector('.lockstep-at').getBoundingClientRect()"
    left, right, top, bottom = (browser.run(f"{box}.{side}") for side in SIDES)
    assert browser.run(said) == []
    # the first step is at the left end of the curves, the 40th at their right end
    for x, step in ((left + 3, 0), (right - 3, 39)):
        browser.move(x, (top + bottom) / 2)
        (words,) = browser.wait(f"{said}.length === 1 && {said}")
        assert words == f"step {step}: each step {2 - 0.05 * step:#.4g}"
    assert browser.requests == [file.as_uri()]
