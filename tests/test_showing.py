"""Progress is shown where a person looks on: in a terminal, not in a file, unless asked for."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.training import Training
from lockstep.training.events import Event, StepsCompleted

RUN = "ls.recipes.airfoil_linear(max_steps=20)"
HEAD = "import sys\nimport lockstep as ls\n"


def run(code: str, folder: Path) -> tuple[str, str]:
    """What a script writes to files that its output goes to: stdout and stderr."""
    out, err = folder / "out.txt", folder / "err.txt"
    source = str(Path(ls.__file__).parents[1])
    with out.open("w") as stdout, err.open("w") as stderr:
        command = [sys.executable, "-c", HEAD + code]
        environment = os.environ | {"PYTHONPATH": source}
        subprocess.run(
            command, stdout=stdout, stderr=stderr, cwd=folder, env=environment, check=True,
            timeout=60,
        )  # fmt: skip
    return out.read_text(), err.read_text()


def test_a_script_with_its_output_in_a_file_is_quiet(tmp_path: Path) -> None:
    """And what would draw is not imported."""
    code = (
        f"result = ls.train({RUN}, out='run')\n"
        "ls.resume('run', spec=result.spec.with_fields({'max_steps': 25}))\n"
        "ls.sweep(result.spec, lr=[0.1])\n"
        "assert not {'rich', 'IPython', 'matplotlib'} & {*sys.modules}\n"
        "result.plot()"
    )
    assert run(code, tmp_path) == ("", "")


def test_progress_that_is_asked_for(tmp_path: Path) -> None:
    out, err = run(f"ls.train({RUN}, progress=True)", tmp_path)
    assert out == ""
    first, *_, last = err.splitlines()
    assert first == "training: 20 steps"
    assert last.startswith("completed: 20 steps in")


def test_in_a_terminal_it_shows_itself(tmp_path: Path) -> None:
    """As the command line does, and the plot as text; not where it is silenced."""
    source = str(Path(ls.__file__).parents[1])
    code = HEAD + (
        f"result = ls.train({RUN})\n"
        "print('and silent')\n"
        f"ls.train({RUN}, progress=False)\n"
        "print('then plotted')\n"
        "result.plot()"
    )
    main, side = pty.openpty()
    environment = os.environ | {"PYTHONPATH": source, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=side, stderr=side, cwd=tmp_path, env=environment
    )
    os.close(side)
    parts = []
    try:
        while part := os.read(main, 65536):
            parts.append(part)
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(main)
    assert process.wait(timeout=60) == 0
    shown, silenced = b"".join(parts).decode().split("and silent")
    assert "steps/s" in shown
    assert "completed: 20 steps" in shown
    between, plotted = silenced.split("then plotted")
    assert between.strip() == ""
    assert "loss of every step" in plotted


def test_what_was_interrupted_is_kept_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in a script, here and in other processes, without a folder."""
    monkeypatch.chdir(tmp_path)
    long = ls.recipes.airfoil_linear(epochs=100_000)
    for number, launch in enumerate(("auto", "processes")):
        seen: list[Event] = []

        def stop(event: Event, seen: list[Event] = seen) -> None:
            seen += [event] if isinstance(event, StepsCompleted) else []
            if event in seen[:1]:
                os.kill(os.getpid(), signal.SIGINT)

        result = ls.train(long, listeners=[stop], launch=launch, progress=True)
        assert result.status == "interrupted"
        assert result.directory is not None
        assert len(list(tmp_path.glob("runs/*/spec.toml"))) == number + 1
        how = f"continue it with: ls.resume({str(result.directory)!r})"
        assert capsys.readouterr().err.splitlines()[-1] == how
        steps = len(result.history) + 20
        spec = long.with_fields({"max_steps": steps})
        rest, whole = ls.resume(result.directory, spec=spec), ls.train(spec)
        for column in ("loss", "grad_norm", "lr", "epoch", "batch"):
            assert rest.history[:, column].tolist() == whole.history[:, column].tolist()
        assert rest.directory == result.directory
    assert whole.directory is None  # one that ends by itself leaves nothing
    assert len(list(tmp_path.glob("runs/*"))) == 2


def test_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is there all the same, with a note."""
    (tmp_path / "runs").write_text("a file in the way")
    monkeypatch.chdir(tmp_path)

    def stop(event: Event, training: Training) -> None:
        training.interrupt()

    result = ls.train(ls.recipes.airfoil_linear(), callbacks=[stop])
    assert result.status == "interrupted"
    assert result.directory is None
    assert "could not be kept" in result.history.remarks[0]
    assert "train it with out=" in repr(result)
