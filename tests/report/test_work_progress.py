"""How far an installation is: plain lines, few of them, or a bar on a terminal."""

from __future__ import annotations

import io

import pytest

from lockstep.report import progress as module
from lockstep.report.progress import work_progress

from .test_terminal import Terminal


def test_plain_lines_without_escape_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLAIN_SECONDS", 0.0)
    file = io.StringIO()
    with work_progress("jax", file) as report:
        report(0.0, "making the environment")
        report(0.37, "collecting numpy==2.4.6")
        report(1.0, "done")
    begun = [line.partition("  (")[0] for line in file.getvalue().splitlines()]
    assert begun == [
        "jax:   0%  making the environment",
        "jax:  37%  collecting numpy==2.4.6",
        "jax: 100%  done",
    ]
    assert "\x1b" not in file.getvalue()


def test_plain_lines_come_seldom_but_for_the_last() -> None:
    file = io.StringIO()
    with work_progress("jax", file) as report:
        for i in range(200):
            report(i / 200, f"collecting {i}")
        report(1.0, "done")
    lines = file.getvalue().splitlines()
    assert len(lines) == 2
    assert "collecting 0" in lines[0]
    assert "100%  done" in lines[1]


def test_a_terminal_gets_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    file = Terminal()
    with work_progress("jax", file) as report:
        report(0.37, "downloading jaxlib[cuda]")
    text = file.getvalue()
    assert "37 %" in text
    assert "downloading jaxlib[cuda]" in text  # brackets are no markup
    assert text.rstrip().endswith("\x1b[2K")  # the line is cleared at the end


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    file = Terminal()
    with work_progress("jax", file) as report:
        report(0.5, "collecting")
    assert file.getvalue().startswith("jax:  50%  collecting")
