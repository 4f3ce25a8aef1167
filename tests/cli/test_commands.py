"""The commands without a run: help, version, recipes, doctor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.frameworks import registry
from lockstep.frameworks.environments import MARKER, Environment

from .conftest import Command


def test_help_names_every_command_and_the_exit_codes(lockstep: Command) -> None:
    done = lockstep("--help")
    assert done.code == 0
    for command in (
        "train", "resume", "compare", "runs", "show", "generate", "recipes", "schedule", "data",
        "env", "doctor",
    ):  # fmt: skip
        assert f"  {command} " in done.out
    assert "exit codes: 0" in done.out


@pytest.mark.parametrize(
    "command",
    [
        "train", "resume", "compare", "runs", "show", "generate", "recipes", "schedule", "env",
        "doctor",
    ],
)  # fmt: skip
def test_every_command_has_help(lockstep: Command, command: str) -> None:
    done = lockstep(command, "--help")
    assert done.code == 0
    assert done.out.startswith(f"usage: lockstep {command}")


def test_version(lockstep: Command) -> None:
    assert lockstep("--version").out == f"lockstep {ls.__version__}\n"


def test_no_command(lockstep: Command) -> None:
    done = lockstep()
    assert done.code == 2
    assert "usage: lockstep" in done.out + done.err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["trian"], "command = 'trian': is not known. Did you mean 'train'?"),
        (["train"], "the following arguments are required: RECIPE"),
        (["runs", "--all"], "unrecognized arguments: --all"),
        (["runs", "--model.kind", "gru"], "unrecognized arguments: --model.kind gru"),
        (["doctor", "now"], "unrecognized arguments: now"),
        (["generate", "run", "--num", "many"], "invalid int value: 'many'"),
        (["schedule", "0.1", "--at=--"], "argument --at: expected one argument"),
    ],
)
def test_usage(lockstep: Command, argv: list[str], words: str) -> None:
    done = lockstep(*argv)
    assert done.code == 2
    assert words in done.err


# --- recipes --------------------------------------------------------------------------------------


def test_recipes(lockstep: Command) -> None:
    done = lockstep("recipes")
    assert done.code == 0
    lines = dict(line.split(maxsplit=1) for line in done.out.splitlines())
    assert set(lines) == set(ls.recipes.RECIPES)
    assert lines["timemachine-gru"].startswith("A GRU on The Time Machine")
    assert lockstep("recipes", "--json").json.keys() == lines.keys()


@pytest.mark.parametrize("name", ls.recipes.RECIPES)
def test_one_recipe(lockstep: Command, name: str) -> None:
    import tomllib

    toml = lockstep("recipes", name).out
    recipe = ls.recipes.get(name, framework="fastest")
    assert ls.RunSpec.from_dict(tomllib.loads(toml)) == recipe
    assert toml.endswith("\n")
    done = lockstep("recipes", name, "--json")
    assert ls.RunSpec.from_dict(done.json) == recipe
    assert done.out.endswith("\n")


def test_an_unknown_recipe(mistake: Callable[..., str]) -> None:
    assert "Did you mean 'fashion-mlp'?" in mistake("recipes", "fashion-mpl")


# --- doctor ---------------------------------------------------------------------------------------


def test_doctor(lockstep: Command) -> None:
    done = lockstep("doctor")
    assert done.code == 0
    assert "\x1b" not in done.out
    rows = {row["what"]: row for row in lockstep("doctor", "--json").json}
    assert rows["python"]["ok"]
    assert rows["numpy"]["ok"]
    assert "cpu" in rows["numpy"]["detail"]
    assert rows["data airfoil"]["ok"]
    assert rows["disk"]["ok"]
    for name in registry.names():
        assert f"{name} " in done.out


def test_doctor_says_how_to_get_what_is_missing(
    lockstep: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "is_installed", lambda name: name == "numpy")
    done = lockstep("doctor")
    assert done.code == 0  # a framework may be missing by choice
    assert "pip install 'lockstep-train[jax]'" in done.out


def test_doctor_knows_environments(
    lockstep: Command,
    hide: Callable[..., None],
    make_environment: Callable[[str], Environment],
) -> None:
    hide("torch", "jax")
    path = make_environment("torch").path
    (make_environment("jax").path / MARKER).unlink()
    rows = {row["what"]: row for row in lockstep("doctor", "--json").json}
    assert (rows["torch"]["ok"], rows["torch"]["detail"]) == (
        True,
        f"in its own environment, {path}",
    )
    assert not rows["jax"]["ok"]
    assert "lockstep env create jax" in rows["jax"]["detail"]


@pytest.mark.parametrize("error", [ImportError("no libcudart"), OSError("no libc10"), RuntimeError])
def test_doctor_survives_a_broken_framework(
    lockstep: Command, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    real = registry.get

    def get(name: str) -> object:
        if name == "torch":
            raise error
        return real(name)

    monkeypatch.setattr(registry, "get", get)
    rows = {row["what"]: row for row in lockstep("doctor", "--json").json}
    assert not rows["torch"]["ok"]
    assert "does not import" in rows["torch"]["detail"]


def test_doctor_minds_the_disk(lockstep: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from lockstep.cli import doctor

    monkeypatch.setattr(doctor, "_disk", lambda: ("disk", False, "0.1 GiB free"))
    assert lockstep("doctor").code == 2


def test_doctor_says_what_will_be_fetched(
    lockstep: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LOCKSTEP_DATA", raising=False)
    monkeypatch.setenv("LOCKSTEP_CACHE", str(tmp_path / "none"))
    rows = {row["what"]: row for row in lockstep("doctor", "--json").json}
    assert rows["data airfoil"]["detail"] == "here: package, edition d2l"
    said = rows["data timemachine"]["detail"]
    assert "0.2 MB from d2l-data.s3-accelerate.amazonaws.com will be fetched when first" in said
    for words in ("lockstep data fetch timemachine", "--data generated", "LOCKSTEP_DATA"):
        assert words in said


# --- whatever else goes wrong ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "runs"), "Permission denied"),
        (MemoryError("Unable to allocate 21. TiB"), "memory"),
    ],
)
def test_the_machines_limits_are_told_without_a_traceback(
    mistake: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    said: str,
) -> None:
    def fail(*args: object, **fields: object) -> None:
        raise error

    monkeypatch.setattr("lockstep.recipes.get", fail)
    assert said in mistake("recipes", "airfoil-linear")


def test_a_nul_is_in_no_argument(mistake: Callable[..., str]) -> None:
    assert "has a NUL character" in mistake("train", "airfoil-linear", "--out", "a\0b")


def test_ctrl_c(lockstep: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **fields: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lockstep.recipes.get", interrupt)
    done = lockstep("recipes", "airfoil-linear")
    assert (done.code, done.err) == (130, "lockstep: interrupted\n")
