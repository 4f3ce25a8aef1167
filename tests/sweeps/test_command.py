"""`lockstep sweep` as a person uses it: its answer, its mistakes, Ctrl-C and kill -9."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lockstep.cli import main

LONG = ["--batch-size", "1", "--epochs", "200", "--evaluate", ""]


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "lockstep", "sweep", "airfoil-linear", *words, "--out", "s"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for(condition: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def test_the_answer_as_json_and_as_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["sweep", "airfoil-linear", "--framework", "jax", "--max-steps", "50", "--grid"]
    words += ["lr=0.01,0.1,1e9", "seed=0:1"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["rows"]) == 6
    assert [row["status"] for row in found["rows"]].count("diverged") == 2
    assert found["best"]["command"].startswith("lockstep train airfoil-linear --framework jax")
    assert Path(found["directory"]).parent == Path("sweeps")
    assert main([*words, "--figure", "map.png", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "6 of 6 settings were done before" in printed
    assert "repeat it with: lockstep train" in printed
    assert (tmp_path / "map.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "grid = '': is empty"),
        (["--grid", "lr=0:1:log4"], "both ends must be positive"),
        (["--grid", "lr=0.1,inf"], "is not finite"),
        (["--grid", "learning=0.1"], "is not known"),
        (["--grid", "lr=0.1", "lr=0.2"], "is given twice"),
        (["--grid", "seed=0:2000"], "gives 2,001 runs. Add --yes"),
        (["--grid", "lr=0.1", "--framework", "jaxx"], "Did you mean 'jax'"),
        (["--grid", "framework=jaxx"], "Did you mean 'jax'"),
        (["--grid", "lr=0.1", "--lr", "0.3"], "is in the grid too"),
        (["--grid", "lr=0.1", "--metric", "speed"], "metric = 'speed'"),
        (["--grid", "lr=0.1", "--processes", "-1"], "processes = -1"),
        (["--grid", "lr=0.1", "--figure", "a.txt"], "neither PNG nor SVG"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    words: list[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", "airfoil-linear", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("lockstep: ")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_and_the_same_command_again(tmp_path: Path) -> None:
    words = ("--framework", "jax", *LONG, "--grid", "lr=0.0001,0.001", "--json")
    process = start(tmp_path, *words)
    wait_for((tmp_path / "s" / "lock").exists)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    if process.returncode == 130:  # else it was done before
        assert "the same command continues" in error
    again = start(tmp_path, *words)
    out, error = again.communicate(timeout=120)
    assert again.returncode == 0, error
    found = json.loads(out)
    assert [row["status"] for row in found["rows"]] == ["completed"] * 2
    assert [row["steps"] for row in found["rows"]] == [300_000] * 2


SAVES_OFTEN = """
import sys
from lockstep.cli import main
from lockstep.sweeps import group
group.SAVE_SECONDS = 0.0
sys.exit(main(sys.argv[1:]))
"""


def test_kill_9_of_a_group_and_the_same_command_again(tmp_path: Path) -> None:
    words = ["sweep", "airfoil-linear", "--framework", "jax", *LONG, "--epochs", "300"]
    words += ["--grid", "lr=0.0001,0.001", "--json", "--out", "s"]
    process = subprocess.Popen([sys.executable, "-c", SAVES_OFTEN, *words], cwd=tmp_path)
    wait_for(lambda: len(list(tmp_path.glob("s/groups/*/step-*.safetensors"))) >= 2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    again = subprocess.run(
        [sys.executable, "-m", "lockstep", *words], cwd=tmp_path, capture_output=True, text=True,
        timeout=120, check=True,
    )  # fmt: skip
    found = json.loads(again.stdout)
    assert [row["steps"] for row in found["rows"]] == [450_000] * 2
    assert any("went on from step" in note for note in found["notes"])


def test_kill_9_of_workers_and_the_same_command_again(tmp_path: Path) -> None:
    words = ("--framework", "numpy", "--batch-size", "10", "--epochs", "4", "--processes", "2")
    words += ("--grid", "lr=0.001,0.002,0.003", "--json")
    process = start(tmp_path, *words)
    results = tmp_path / "s" / "results.jsonl"
    wait_for(lambda: results.exists() and results.read_bytes().count(b"\n") >= 1)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    again = start(tmp_path, *words)
    out, error = again.communicate(timeout=120)
    assert again.returncode == 0, error
    found = json.loads(out)
    assert [row["status"] for row in found["rows"]] == ["completed"] * 3
    assert [row["steps"] for row in found["rows"]] == [600] * 3
    assert any("were done before" in note for note in found["notes"])
