"""Tab completion: what is offered, and that the shells themselves get it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lockstep import recipes
from lockstep.frameworks import registry

from .conftest import Command
from .terminal import LIMIT, SOURCE, Terminal


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with two runs, as far as a name is concerned."""
    for name in ("alpha", "beta"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "spec.toml").touch()
    return tmp_path


ASK = """
import os, sys
from lockstep.cli import main
for place, line in enumerate(sys.argv[1:]):
    if not os.fork():  # answering ends the process; starting it anew would take long
        os.environ.update(_ARGCOMPLETE="1", COMP_LINE=line, COMP_POINT=str(len(line)))
        os.environ["_ARGCOMPLETE_STDOUT_FILENAME"] = f"answer-{place}"
        main([])
        os._exit(9)
    assert os.wait()[1] == 0
"""


def offered(folder: Path, *lines: str) -> list[list[str]]:
    """What the command offers for each line, by argcomplete's protocol."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, *lines],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        cwd=folder, capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    answers = [(folder / f"answer-{place}").read_text() for place in range(len(lines))]
    for place in range(len(lines)):
        (folder / f"answer-{place}").unlink()
    return [[word.strip() for word in text.split("\013") if word.strip()] for text in answers]


OFFERED = {
    "lockstep resu": ["resume"],
    "lockstep train timem": sorted(n for n in recipes.RECIPES if n.startswith("timem")),
    "lockstep train airfoil-linear --framework t": ["tensorflow", "torch"],
    "lockstep compare airfoil-linear --frameworks torch,j": ["torch,jax"],
    "lockstep show ": ["alpha", "beta", "last", "runs/"],
    "lockstep export be": ["beta"],
    "lockstep resume al": ["alpha"],
    "lockstep show --against la": ["last"],
    "lockstep experiment gat": ["gates"],
    "lockstep experiment gates --qui": ["--quick"],
    "lockstep train timemachine-gru --model.num_h": ["--model.num_hiddens"],
    "lockstep train timemachine-gru --model.reset ": ["after", "before"],
    "lockstep train x --model.num_hiddens 8 --prec": ["--precision"],
    "lockstep train x --precision ": ["float32", "float64"],
    "lockstep train x --optimizer sg": ["sgd", "sgld"],
    "lockstep train x --log t": ["tensorboard="],
    "lockstep train x --epochs ": [],
    "lockstep completion ": ["bash", "fish", "zsh"],
}


def test_what_is_offered(runs: Path) -> None:
    found = offered(runs, *OFFERED)
    assert {line: sorted(words) for line, words in zip(OFFERED, found, strict=True)} == OFFERED


def test_every_command_and_framework_is_offered(
    lockstep: Command, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    help = lockstep("--help").out
    line = Path(__file__).parents[1] / "extension" / "line.py"
    monkeypatch.setenv("LOCKSTEP_EXTENSIONS", str(line))
    commands, frameworks, own = offered(
        runs, "lockstep ", "lockstep env create ", "lockstep train line"
    )
    assert len(commands) > 15
    for command in commands:
        assert re.search(rf"^ +{command}( |$)", help, re.MULTILINE), command
    assert set(frameworks) == {*registry.names(), "all"}
    assert own == ["line-linear"]  # of a module of one's own


# --- the shells -----------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path: Path) -> dict[str, str]:
    """`lockstep` as a shell finds it."""
    script = tmp_path / "bin" / "lockstep"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lockstep "$@"\n')
    script.chmod(0o755)
    return {"PATH": f"{script.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(lockstep completion bash)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -U compinit; compinit -u; eval "$(lockstep completion zsh)"',
    ),
    "fish": (["fish", "--no-config"], "lockstep completion fish | source"),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_tab_key(shell: str, runs: Path, command: dict[str, str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not on this machine")
    argv, setup = SHELLS[shell]
    with Terminal(argv, folder=runs, variables={**command, "PS1": "> "}) as terminal:
        terminal.type(f"{setup}; echo rea''dy\n")
        terminal.read_until("ready")
        terminal.type("lockstep show be\t")
        terminal.read_until("show beta")
        terminal.type("\x15lockstep train airfoil-l\t")  # Ctrl-U: another line
        terminal.read_until("airfoil-linear")
        terminal.type("--model.num_h\t")
        terminal.read_until("--model.num_hiddens")


@pytest.mark.parametrize("asked", ["zsh", "bash"])
def test_a_zsh_whose_completion_was_not_started(
    asked: str, runs: Path, command: dict[str, str]
) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not on this machine")
    variables = {**command, "PS1": "> "}
    with Terminal(["zsh", "-f", "-i"], folder=runs, variables=variables) as terminal:
        terminal.type(f"eval \"$(lockstep completion {asked})\"; echo rea''dy\n")
        assert "compdef" not in terminal.read_until("ready")
        terminal.type("lockstep show be\t")
        terminal.read_until("show beta")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_for_the_command(lockstep: Command, shell: str) -> None:
    done = lockstep("completion", shell)
    assert done.code == 0
    assert "_ARGCOMPLETE" in done.out
    assert "lockstep" in done.out
    if shutil.which("bash") and shell == "bash":
        subprocess.run(["bash", "-n"], input=done.out, text=True, check=True, timeout=LIMIT)


def test_a_shell_that_is_not_known(mistake: Callable[..., str]) -> None:
    assert "Did you mean 'fish'?" in mistake("completion", "fsh")


def test_without_argcomplete_the_extra_is_named(
    mistake: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    assert "pip install 'lockstep-train[completion]'" in mistake("completion", "bash")
