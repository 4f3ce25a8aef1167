"""Environments are made by real venv and pip: whole or not at all, by one process at a time."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lockstep.errors import InputError, LockstepError, MissingError
from lockstep.files import DiskError
from lockstep.frameworks import installing
from lockstep.frameworks.environments import MARKER, Environment
from lockstep.frameworks.installing import EnvironmentFailed, create, remove

from .conftest import Shelf

LIMIT = 120.0  # seconds that anything may take on a busy machine
MakeEnvironment = Callable[[str], Environment]


def output_of(environment: Environment, code: str) -> str:
    """What the environment's own Python prints."""
    return subprocess.run(
        [str(environment.python), "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def wait_until(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def broken_off(shelf: Shelf, process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to the one process, in the middle of pip's work."""
    wait_until(shelf.building.exists, process)
    shelf.building.unlink()
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert out == ""
    assert "Traceback" not in err
    assert Environment("jax").state in ("unfinished", "none")  # the next begins by clearing it


@pytest.mark.usefixtures("nothing_left")
def test_broken_off_and_begun_again_by_several_at_once(shelf: Shelf) -> None:
    """One process is interrupted, the next is killed, the third makes it, the fourth finds it."""
    shelf.ask_for("jax", shelf.source("jax"), shelf.wheel("helper"))
    environment = Environment("jax")
    shelf.hold.touch()
    first = shelf.started("env", "create", "jax")
    wait_until(shelf.building.exists, first)
    second = shelf.started("env", "create", "jax")
    assert second.stderr is not None
    assert "waiting for another process" in second.stderr.readline()
    broken_off(shelf, first, signal.SIGINT)
    broken_off(shelf, second, signal.SIGKILL)

    reported: list[tuple[float, str]] = []
    later: list[subprocess.Popen[str]] = []

    def report(part: float, text: str) -> None:
        reported.append((part, text))
        if text.startswith("waiting"):  # for the pip that outlived the kill, and has the lock
            shelf.hold.unlink()
        elif text == "making the environment":
            later.append(shelf.started("env", "create", "jax"))

    assert create("jax", report) == environment
    assert reported[0] == (0.0, "waiting for another process that makes or removes it")
    parts, texts = zip(*reported, strict=True)
    assert list(parts) == sorted(parts)
    assert parts[-1] == 1.0
    assert "processing helper-1.0-py3-none-any.whl" in texts
    assert texts[-3:] == ("installing collected packages", "importing it", "done")
    assert environment.state == "whole"
    assert output_of(environment, "import jax, helper; print(jax.built)") == "True"
    made = json.loads((environment.path / MARKER).read_text())
    assert made["framework"] == "jax"
    assert made["seconds"] > 0

    before = (environment.path / MARKER).stat().st_mtime_ns
    (fourth,) = later
    out, err = fourth.communicate(timeout=LIMIT)
    assert (fourth.returncode, out) == (0, f"jax  {environment.path}\n")
    assert "waiting for another process" in err
    reported.clear()
    assert create("jax", report) == environment
    assert reported == []  # there was nothing to do
    assert (environment.path / MARKER).stat().st_mtime_ns == before

    assert remove("jax") is True
    assert environment.state == "none"
    assert remove("jax") is False


@pytest.mark.usefixtures("nothing_left")
def test_the_error_of_a_pip_that_fails_is_shown(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as some build services do
    shelf.ask_for("jax", "there-is-no-such-thing==1.0")
    process = shelf.started("env", "create", "jax")
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 2
    assert out == ""
    lines = err.splitlines()
    (begin,) = [i for i, line in enumerate(lines) if line.startswith("lockstep: ")]
    assert "framework = 'jax': its environment could not be made, pip said:" in lines[begin]
    assert "No matching distribution found for there-is-no-such-thing==1.0" in err
    assert lines[-1].endswith("lockstep env create jax")
    assert "Traceback" not in err
    assert "\x1b" not in err
    assert Environment("jax").state == "unfinished"


# as pip 23 writes with an index that is not PyPI (whole addresses) and a package to be built
PIP = """\
Looking in indexes: https://mirror.example/simple
Collecting graphviz==0.8.4 (from -r mxnet.txt (line 2))
  Downloading https://mirror.example/graphviz-0.8.4.tar.gz (16 kB)
  Installing build dependencies: started
  Installing build dependencies: finished with status 'done'
  Getting requirements to build wheel: started
Collecting mxnet==1.9.1 (from -r mxnet.txt (line 3))
  Downloading https://mirror.example/mxnet-1.9.1-py3-none-manylinux2014_x86_64.whl (49.1 MB)

Building wheels for collected packages: graphviz
Requirement already satisfied: numpy==1.23.5 in ./lib (from -r mxnet.txt (line 4))
Collecting requests==2.34.2 (from -r mxnet.txt (line 5))
  Using cached https://mirror.example/requests-2.34.2-py3-none-any.whl (61 kB)
Installing collected packages: numpy, graphviz, requests, mxnet
Successfully installed graphviz-0.8.4 mxnet-1.9.1 numpy-1.23.5 requests-2.34.2
"""


def test_progress_follows_pips_lines(shelf: Shelf, environments_folder: Path) -> None:
    """Pip's part goes from 0.02 to 0.72, a quarter of it for each of four requirements."""
    shelf.ask_for("mxnet", "graphviz==0.8.4", "mxnet==1.9.1", "numpy==1.23.5", "requests==2.34.2")
    environment = Environment("mxnet")
    environment.python.parent.mkdir(parents=True)
    script(environment.python, f"cat <<'END'\n{PIP}END")
    reported: list[tuple[float, str]] = []
    with (environments_folder / "lock").open("w") as lock:
        installing._install(environment, lock.fileno(), lambda *args: reported.append(args))
    expected = [
        (0.195, "collecting graphviz==0.8.4"),
        (0.195, "downloading graphviz-0.8.4.tar.gz"),
        (0.195, "installing build dependencies"),
        (0.195, "installing build dependencies"),
        (0.37, "collecting mxnet==1.9.1"),
        (0.37, "downloading mxnet-1.9.1-py3-none-manylinux2014_x86_64.whl"),
        (0.72, "collecting requests==2.34.2"),
        (0.72, "installing collected packages"),
    ]
    assert [text for _, text in reported] == [text for _, text in expected]
    assert [part for part, _ in reported] == pytest.approx([part for part, _ in expected])


# --- what cannot be made --------------------------------------------------------------------------


@pytest.mark.parametrize("act", [create, remove])
def test_names_that_have_no_environment(
    act: Callable[..., object], environments_folder: Path
) -> None:
    with pytest.raises(EnvironmentFailed, match="'numpy': is always here"):
        act("numpy")
    with pytest.raises(InputError, match="Did you mean 'torch'"):
        act("pytorch")
    assert not environments_folder.exists()


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LOCKSTEP_ENVIRONMENTS", str(tmp_path / "file" / "environments"))
    with pytest.raises(DiskError, match="set LOCKSTEP_ENVIRONMENTS to another folder"):
        create("torch")


# --- which Python it is made with -----------------------------------------------------------------


@pytest.fixture
def newer_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As under Python 3.13; the folder is the whole of PATH."""
    later = SimpleNamespace(version_info=(3, 13, 1), executable=sys.executable)
    monkeypatch.setattr(installing, "sys", later)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def test_a_python_that_is_too_new_looks_for_an_older_one(
    newer_python: Path, environments_folder: Path
) -> None:
    script(newer_python / "python3.11", 'echo "older: $*"; exit 3')
    with pytest.raises(EnvironmentFailed) as caught:
        create("mxnet")
    path = environments_folder / "mxnet"
    assert f"python3.11 said:\n  older: -m venv {path}\n  exit code 3" in str(caught.value)


def test_what_does_not_import_is_not_whole(newer_python: Path, environments_folder: Path) -> None:
    """An interpreter in which pip says nothing and does nothing."""
    inner = f'case "$*" in *pip*) exit 0 ;; *) exec {sys.executable} -S "$@" ;; esac'
    make = f"mkdir -p $3/bin; printf '#!/bin/sh\\n%s\\n' '{inner}' > $3/bin/python"
    script(newer_python / "python3.11", f"PATH=/usr/bin:/bin; {make}; chmod +x $3/bin/python")
    with pytest.raises(EnvironmentFailed, match=r"python said:\n(.*\n)*.*No module named 'mxnet'"):
        create("mxnet")
    assert Environment("mxnet").state == "unfinished"


def test_an_older_python_that_is_missing(
    newer_python: Path, make_environment: MakeEnvironment
) -> None:
    environment = make_environment("mxnet")
    (environment.path / MARKER).write_text('{"constraints": "of another time"}')
    with pytest.raises(MissingError, match=r"needs Python 3\.11.*Install python3\.11"):
        create("mxnet")
    assert environment.state == "outdated"  # as it was: nothing better can be made


def test_other_frameworks_take_the_newer_python(newer_python: Path) -> None:
    assert {installing._base_python(name) for name in ("torch", "jax")} == {sys.executable}


def test_a_python_that_is_not_too_new_is_taken() -> None:
    assert sys.version_info[:2] > (3, 11) or installing._base_python("mxnet") == sys.executable


# --- what takes too long --------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_left")
def test_what_takes_too_long_is_ended_with_all_it_started(
    newer_python: Path, environments_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that holds on to the output must not hold on to us."""
    monkeypatch.setattr(installing, "SECONDS", 0.5)
    sleep = newer_python / "sleep"  # its path names the test's folder: it is seen if it stays
    sleep.symlink_to(str(shutil.which("sleep", path="/usr/bin:/bin")))
    script(newer_python / "python3.11", f"echo downloading; {sleep} 600 &\n{sleep} 600")
    begin = time.monotonic()
    with pytest.raises(LockstepError, match=r"downloading\n  was not done after 0\.5 s"):
        create("mxnet")
    assert time.monotonic() - begin < 60
