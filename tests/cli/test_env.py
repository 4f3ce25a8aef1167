"""`lockstep env`: what is told of environments, and its exit codes."""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lockstep.book.kernel import Settings, jupyter_name
from lockstep.errors import MissingError
from lockstep.frameworks import environments, registry
from lockstep.frameworks.environments import MARKER, Environment

from .conftest import Command

MakeEnvironment = Callable[[str], Environment]
Hide = Callable[..., None]
OTHERS = [name for name in registry.names() if name not in ("numpy", "torch", "jax")]


@pytest.fixture
def without_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody sees it: it is removed with the check's folder."""
    monkeypatch.setattr("lockstep.comparison.Comparison.report", lambda self, path: path)


# --- list -----------------------------------------------------------------------------------------


@pytest.fixture
def three(make_environment: MakeEnvironment, hide: Hide) -> Path:
    """torch whole, jax unfinished, and one of the others outdated; none is installed here."""
    hide(*environments.names())
    folder = make_environment("torch").path.parent
    (make_environment("jax").path / MARKER).unlink()
    (make_environment(OTHERS[0]).path / MARKER).write_text('{"constraints": "of another time"}')
    return folder


def test_list(lockstep: Command, three: Path) -> None:
    done = lockstep("env", "list")
    assert (done.code, done.err) == (0, "")
    lines = {line.split()[0]: line.split(maxsplit=1)[1].rstrip() for line in done.out.splitlines()}
    assert list(lines) == registry.names()
    assert lines["numpy"] == "installed here"
    assert lines["torch"].split() == ["whole", str(three / "torch")]
    # what cannot be used says how it can
    assert lines["jax"].split(maxsplit=1) == ["unfinished", "lockstep env create jax"]
    outdated, none = OTHERS[:2]
    assert lines[outdated].split(maxsplit=1) == ["outdated", f"lockstep env create {outdated}"]
    assert lines[none].split(maxsplit=1) == ["none", f"lockstep env create {none}"]


def test_list_json(lockstep: Command, three: Path) -> None:
    rows = {row["framework"]: row for row in lockstep("env", "list", "--json").json}
    assert list(rows) == registry.names()
    assert rows["numpy"] == {
        "framework": "numpy",
        "state": "installed here",
        "environment": None,
    }
    states = {name: (row["state"], row["environment"]) for name, row in rows.items()}
    assert states["torch"] == ("whole", str(three / "torch"))
    assert states["jax"] == ("unfinished", str(three / "jax"))
    assert states[OTHERS[1]] == ("none", None)


# --- create and remove ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["create", "remove", "check"])
def test_names_are_looked_at_before_anything_is_done(
    mistake: Callable[..., str], three: Path, command: str
) -> None:
    before = sorted(three.iterdir())
    said = mistake("env", command, "torch", "pytorch")
    assert "framework = 'pytorch': is not known. Did you mean 'torch'?" in said
    assert "framework = 'numpy': is always here" in mistake("env", command, "torch", "numpy")
    assert sorted(three.iterdir()) == before


@pytest.mark.parametrize("command", ["create", "remove"])
def test_a_name_is_needed(lockstep: Command, command: str) -> None:
    done = lockstep("env", command)
    assert done.code == 2
    assert "required: FRAMEWORK" in done.err


def test_env_alone(lockstep: Command) -> None:
    done = lockstep("env")
    assert done.code == 2
    assert "required: COMMAND" in done.err


def test_create_what_is_there(lockstep: Command, three: Path) -> None:
    marker = three / "torch" / MARKER
    before = marker.stat().st_mtime_ns
    done = lockstep("env", "create", "torch", "torch")
    assert (done.code, done.out, done.err) == (0, f"torch  {three / 'torch'}\n", "")
    assert marker.stat().st_mtime_ns == before


def test_one_that_cannot_be_made_keeps_no_other_from_it(
    lockstep: Command, three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under a Python that MXNet is too old for."""
    monkeypatch.setattr(registry, "newest_python", {"mxnet": (3, 2)}.get)
    done = lockstep("env", "create", "mxnet", "torch")
    assert done.code == 2
    assert "framework = 'mxnet': needs Python 3.2, and python3.2 is not on this PATH" in done.err
    assert done.out == f"torch  {three / 'torch'}\n"


def test_remove(lockstep: Command, three: Path) -> None:
    done = lockstep("env", "remove", "torch", OTHERS[1])
    assert done.code == 0
    assert done.out == f"torch  removed\n{OTHERS[1]}  had no environment\n"
    assert not (three / "torch").exists()
    assert (three / "jax").exists()
    done = lockstep("env", "remove", "all")
    told = dict(line.split(maxsplit=1) for line in done.out.splitlines())
    assert list(told) == environments.names()
    assert {name for name, words in told.items() if words == "removed"} == {"jax", OTHERS[0]}
    assert not [path for path in three.iterdir() if path.is_dir()]


# --- check ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not {"torch", "jax"} <= set(registry.installed()), reason="needs torch and jax")
@pytest.mark.usefixtures("without_page")
def test_check_trains_in_what_is_usable(lockstep: Command, hide: Hide) -> None:
    hide(*OTHERS)  # where they are installed: two are enough
    done = lockstep("env", "check")
    assert done.code == 0, done
    lines = [line.split(maxsplit=3) for line in done.out.splitlines()]
    assert [line[:2] for line in lines] == [["ok", "torch"], ["ok", "jax"]]
    for _, name, version, detail in lines:
        assert version.split("+")[0] == importlib.metadata.version(name).split("+")[0]
        assert detail == "20 steps as the oracle"
    assert "torch: completed after" in done.err  # progress


@pytest.mark.skipif(not registry.is_installed("torch"), reason="needs torch")
@pytest.mark.usefixtures("without_page")
def test_check_tells_what_is_wrong(
    lockstep: Command, hide: Hide, make_environment: MakeEnvironment
) -> None:
    """torch in an environment that trains something else, jax in none."""
    environment = make_environment("torch")
    real = shutil.copy(
        environment.python, environment.python.with_name("real"), follow_symlinks=False
    )
    environment.python.unlink()
    job = """ "$(printf %s "$4" | sed 's/"base": 0.05/"base": 0.06/')" """
    environment.python.write_text(f"#!/bin/sh\nexec {real} $1 $2 $3 {job}\n")
    environment.python.chmod(0o755)
    hide("torch", "jax")
    done = lockstep("env", "check", "torch", "jax", "--json")
    assert (done.code, done.err) == (1, "")
    torch, jax = done.json
    assert (torch["framework"], torch["ok"]) == ("torch", False)
    assert torch["version"].split("+")[0] == importlib.metadata.version("torch").split("+")[0]
    assert torch["detail"].startswith("differs at step ")
    assert (jax["framework"], jax["ok"], jax["version"]) == ("jax", False, "")
    assert "lockstep env create jax" in jax["detail"]


def test_check_where_there_is_nothing_to_check(mistake: Callable[..., str], hide: Hide) -> None:
    hide(*environments.names())
    assert "lockstep env create torch" in mistake("env", "check")


# --- kernel ---------------------------------------------------------------------------------------


def test_a_missing_framework_keeps_no_kernel_of_another_away(
    lockstep: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def register(settings: Settings) -> Path:
        if settings.framework == "torch":
            raise MissingError("torch is not installed here", "lockstep env create torch")
        return Path("kernels") / jupyter_name(settings)

    monkeypatch.setattr("lockstep.book.kernel.register", register)
    done = lockstep("env", "kernel", "torch", "paddle", "jax", "--devices", "3")
    assert done.code == MissingError.exit_code
    assert done.out.split() == [
        "paddle", "kernels/lockstep-paddle", "paddle", "kernels/lockstep-paddle-3-devices",
        "jax", "kernels/lockstep-jax",
    ]  # fmt: skip
    assert done.err.count("torch is not installed") == 1
