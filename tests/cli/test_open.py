"""`--open`: the page that a command wrote is shown in the browser. No real browser is opened."""

from __future__ import annotations

import os
import subprocess
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from .conftest import Command
from .test_process import command, environment


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser was asked for."""
    found: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: found.append(address) or True)
    return found


def title_at(address: str) -> str:
    """What a browser would write on its tab."""
    parts = urlparse(address)
    assert (parts.scheme, parts.netloc) == ("file", "")
    page = Path(unquote(parts.path)).read_text(encoding="utf-8")
    return page.partition("<title>")[2].partition("</title>")[0]


TRAIN = ("train", "airfoil-linear", "--epochs", "1", "--quiet", "--out", "runs/one")
SMALL = ("airfoil-linear", "--epochs", "1", "--quiet")


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (("show", "--open"), "airfoil-linear in numpy"),
        (("show", "last", "--open", "--json"), "airfoil-linear in numpy"),
        (("report", "one", "--out", "a page.html", "--title", "mine", "--open"), "mine"),
        (("compare", *SMALL, "--frameworks", "numpy", "--open"), "airfoil-linear"),
        (("sweep", *SMALL, "--framework", "numpy", "--grid", "lr=0.1,0.2", "--open"), "sweep"),
        (("experiment", "horovod", "--open"), "horovod"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_the_page_is_opened(
    lockstep: Command, opened: list[str], words: tuple[str, ...], title: str
) -> None:
    if words[0] in ("show", "report"):
        assert lockstep(*TRAIN).code == 0
    done = lockstep(*words)
    assert done.code == 0, done.err
    (address,) = opened
    assert title in title_at(address).lower()


@pytest.mark.parametrize("words", [("show", "one", "--report"), ("show",)])
def test_nothing_is_opened_unasked(
    lockstep: Command, opened: list[str], words: tuple[str, ...]
) -> None:
    assert lockstep(*TRAIN).code == 0
    assert lockstep(*words).code == 0
    assert opened == []


def test_a_page_of_several_runs_is_another_command(
    lockstep: Command, opened: list[str], mistake: Callable[..., str]
) -> None:
    assert lockstep(*TRAIN).code == 0
    assert "lockstep report RUN... --out FILE" in mistake("show", "one", "one", "--open")
    assert "open = True" in mistake("show", "one", "--against", "one", "--open")
    assert opened == []


def test_without_a_browser_the_place_is_said(
    lockstep: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert lockstep(*TRAIN).code == 0
    done = lockstep("show", "--open")
    assert done.code == 0
    page = Path("runs/one/report.html").resolve().as_uri()
    assert f"no browser was found; the page is {page}" in done.err


@pytest.mark.skipif(os.name == "nt", reason="the browser of this test is a shell script")
def test_the_browser_that_BROWSER_names(lockstep: Command, folder: Path) -> None:
    assert lockstep(*TRAIN).code == 0
    browser = folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {folder}/asked\n')
    browser.chmod(0o755)
    variables = {**environment(), "BROWSER": f"{browser} %s"}
    done = subprocess.run(
        command("show", "--open"), cwd=folder, env=variables, capture_output=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert title_at((folder / "asked").read_text().strip())
