"""The worked examples run as they are shown, each in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests import example_notebook

import lockstep
from lockstep.frameworks import registry

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, cwd: Path) -> list[str]:
    """The lines that an example prints."""
    source = str(Path(lockstep.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        cwd=cwd,
        # one thread: on a busy machine PyTorch's wait for each other, and a second takes a minute
        env=os.environ | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_example_is_run_here_and_short() -> None:
    files = sorted(EXAMPLES.glob("*.py"))
    assert [path.name for path in files] == ["own_model.py", "own_module.py"]
    assert all(len(path.read_text().splitlines()) < 60 for path in files)


def test_the_notebook_runs(tmp_path: Path) -> None:
    """From top to end, as it was written and executed."""
    nbformat = pytest.importorskip("nbformat", reason="it reads notebooks")
    for package in ("nbclient", "ipykernel", "pandas", "torch"):
        pytest.importorskip(package, reason=f"the notebook needs {package}")
    written = nbformat.read(example_notebook.NOTEBOOK, as_version=4)
    nbformat.validate(written)
    assert example_notebook.NOTEBOOK.stat().st_size < 300_000
    found = example_notebook.executed(tmp_path)  # raises where a cell does
    for cell, shown in zip(found.cells, written.cells, strict=True):
        if cell.cell_type == "code":
            kinds = [[sorted(out.get("data", {})) for out in c.outputs] for c in (cell, shown)]
            assert kinds[0] == kinds[1], cell.source
    *_, same, runs, metrics = (cell for cell in found.cells if cell.cell_type == "code")
    assert same.outputs[0].data["text/plain"] == "True"  # stopped and resumed, to the last bit
    assert "stopped" in runs.outputs[0].data["text/plain"]
    assert "final_train_loss" in metrics.outputs[0].data["text/plain"]
    assert (tmp_path / "runs" / "first" / "spec.toml").exists()


def test_own_model(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the example draws a figure")
    if len(registry.installed()) < 2:
        pytest.skip("nothing to compare: only numpy is installed")
    first, *table = run("own_model.py", tmp_path)
    found = re.fullmatch(r"loss (\S+) -> (\S+), on new points (\S+)", first)
    assert found is not None, first
    before, after, test = map(float, found.groups())
    # the wave has variance 1/2, so mean squared error / 2 starts near 1/4; noise leaves 0.00125
    assert before > 0.1
    assert after < 0.02
    assert test < 0.02
    for name in registry.installed():
        assert any(name in line for line in table)
    assert any("the oracle's numbers at all 100 steps" in line for line in table)
    assert (tmp_path / "own_model.png").read_bytes().startswith(b"\x89PNG")
    assert list((tmp_path / "reports").glob("*.html"))


def test_own_module(tmp_path: Path) -> None:
    for package in ("torch", "flax"):
        pytest.importorskip(package, reason=f"the example needs {package}")
    lines = run("own_module.py", tmp_path)
    assert len(lines) == 4
    for framework, told, rates in (("torch", *lines[:2]), ("jax", *lines[2:])):
        found = re.fullmatch(rf"{framework} +loss (\S+) -> (\S+), accuracy (\S+)%", told)
        assert found is not None, told
        first, last, accuracy = map(float, found.groups())
        assert first > 0.9  # near log 3, that of guessing among three arms
        assert last < 0.35
        assert accuracy > 90
        assert re.fullmatch(r" +lr 0\.0008 up to 0\.0200, then down to \de-0[5-9]", rates), rates
