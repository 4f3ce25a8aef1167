"""A run whose process was ended by SIGKILL at any moment, or by Ctrl-C, can be resumed."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.training import checkpoints
from lockstep.training.directory import RunDirectory

from .running import (
    LIMIT,
    assert_same_end,
    at_step,
    changed,
    command,
    ended,
    environment,
    lockstep,
    small,
    started,
    wait_until,
)

KILLED = {
    "numpy": replace(small("gru-after", "numpy", "adam"), epochs=60, checkpoint_steps=7),
    "torch": replace(small("airfoil", "torch-plain", "adam"), epochs=200, checkpoint_steps=5),
}


@pytest.mark.parametrize("path", ["numpy", pytest.param("torch", marks=pytest.mark.slow)])
def test_killed_again_and_again(path: str, tmp_path: Path) -> None:
    """At random moments: while importing, before the first checkpoint, while writing one ..."""
    spec, folder = KILLED[path], tmp_path / "run"
    log = folder / "events.jsonl"
    (tmp_path / "run.toml").write_text(spec.to_toml())
    chance = random.Random(path)
    kills = 0
    for attempt in range(8):
        words = ("resume", folder) if (folder / "spec.toml").exists() else ("train", "run.toml")
        out = ("--out", folder) if words[0] == "train" else ()
        before = changed(log)
        process = started(*words, *out, "--quiet", cwd=tmp_path)
        with ended(process):
            if attempt < 5:
                if attempt % 3:  # some while it imports, most after it has written something
                    wait_until(process, lambda at=before: changed(log) != at)
                time.sleep(chance.uniform(0.0, 0.15))
                process.kill()
            output = process.communicate(timeout=LIMIT)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, output
        kills += 1
    assert process.returncode == 0
    assert kills >= 3
    assert RunDirectory(folder).status == "completed"
    assert_same_end(folder, spec)


@pytest.mark.parametrize(
    "path", ["torch-concise", "jax-concise", pytest.param("jax", marks=pytest.mark.slow)]
)
def test_started_here_and_finished_in_another_process(path: str, tmp_path: Path) -> None:
    """The other process compiles the program again."""
    spec = small("gru-after", path, "adam")
    ls.train(spec, out=tmp_path / "run", callbacks=[at_step(4)], event_steps=1)
    done = lockstep("resume", "run", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same_end(tmp_path / "run", spec)


def test_killed_when_only_the_initial_state_was_saved(tmp_path: Path) -> None:
    spec, folder = replace(small("gru-after", "numpy"), epochs=40), tmp_path / "run"
    (tmp_path / "run.toml").write_text(spec.to_toml())
    process = started("train", "run.toml", "--out", folder, cwd=tmp_path)
    try:
        wait_until(process, lambda: checkpoints.newest(folder / "checkpoints"))
        time.sleep(0.05)
    finally:
        process.kill()
        process.communicate()
    assert checkpoints.newest(folder / "checkpoints") == (
        folder / "checkpoints" / "step-000000000.safetensors"
    )
    done = lockstep("resume", folder, "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same_end(folder, spec)


def test_a_run_without_any_checkpoint_starts_again(tmp_path: Path) -> None:
    """Such as one that was killed while its data was being downloaded."""
    spec, folder = small("gru-after", "numpy"), tmp_path / "run"
    ls.train(spec, out=folder, callbacks=[at_step(2)], event_steps=1)
    for path in (folder / "checkpoints").iterdir():
        path.unlink()
    done = lockstep("resume", folder, "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same_end(folder, spec)


def test_ctrl_c_names_the_command_that_continues(tmp_path: Path) -> None:
    spec = replace(small("gru-after", "numpy", "momentum"), epochs=400, checkpoint_steps=3)
    (tmp_path / "run.toml").write_text(spec.to_toml())
    process = started("train", "run.toml", "--out", "run", cwd=tmp_path)
    with ended(process):
        saved = tmp_path / "run" / "checkpoints"
        wait_until(process, lambda: checkpoints.newest(saved))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, errors
    assert "lockstep resume run" in errors
    assert "Traceback" not in errors
    assert RunDirectory(tmp_path / "run").status == "interrupted"
    shorter = ("--epochs", 60)  # the same run but for its length
    done = lockstep("resume", "run", *shorter, "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert RunDirectory(tmp_path / "run").status == "completed"
    assert_same_end(tmp_path / "run", replace(spec, epochs=60))


def test_ctrl_c_twice_ends_at_once(tmp_path: Path) -> None:
    """The first waits for the current call, here of eight steps that take seconds each."""
    slow = {"data.max_tokens": 40_000, "data.window": 200, "batch_size": 64, "seed": 1}
    spec = small("gru-after", "numpy").with_fields({**slow, "model.num_hiddens": 700})
    (tmp_path / "run.toml").write_text(spec.to_toml())
    process = started("train", "run.toml", "--out", "run", cwd=tmp_path)
    with ended(process):
        wait_until(process, (tmp_path / "run" / "events.jsonl").exists)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None  # it finishes the call
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
        took = time.monotonic() - begin
    assert process.returncode == 130, errors
    assert took < 15.0  # products of matrices and the end of Python; not eight steps
    assert "Traceback" not in errors
    assert not list((tmp_path / "run").rglob("*.part"))
    assert RunDirectory(tmp_path / "run").spec == spec  # it can be resumed, from its start


def test_ctrl_c_while_the_program_is_compiled(tmp_path: Path) -> None:
    """Nothing was trained yet; the run exists nevertheless, and continues from its start."""
    spec = small("airfoil", "numpy")
    script = tmp_path / "early.py"
    script.write_text(
        "import os, signal\n"
        "import lockstep as ls\n"
        "from lockstep.frameworks.programs import StepProgram\n"
        "StepProgram.prepare = lambda *args: os.kill(os.getpid(), signal.SIGINT)\n"
        "if __name__ == '__main__':\n"
        "    result = ls.train(ls.RunSpec.from_file('run.toml'), out='run')\n"
        "    print(result.status, len(result.history))\n"
    )
    (tmp_path / "run.toml").write_text(spec.to_toml())
    done = subprocess.run(
        [command()[0], str(script)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.stdout == "interrupted 0\n", done.stderr
    assert ls.resume(tmp_path / "run").status == "completed"
    assert_same_end(tmp_path / "run", spec)
