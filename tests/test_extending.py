"""One of each, added from outside the package and trained with: through the command line and in the
processes that it starts. All in processes of their own, so that other tests see the package alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import lockstep as ls
from lockstep import data, recipes, schedules
from lockstep.errors import InputError
from lockstep.extensions import Registry
from lockstep.frameworks import registry
from lockstep.spec import parts

EXTENSION = Path(__file__).parent / "extension" / "line.py"
SOURCE = Path(ls.__file__).resolve().parents[1]


def python(
    *argv: str, extensions: str = str(EXTENSION), folder: Path
) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(SOURCE), "LOCKSTEP_EXTENSIONS": extensions}
    return subprocess.run(
        [sys.executable, *argv], capture_output=True, text=True, env=variables, cwd=folder,
        timeout=120,
    )  # fmt: skip


def lockstep(*argv: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "lockstep", *argv, folder=folder, **more)


# --- trained with ---------------------------------------------------------------------------------


def test_a_data_set_a_schedule_and_a_recipe_by_the_command_line(tmp_path: Path) -> None:
    """The line that the data were made from comes out, and the rates are those of the formula."""
    asked = ("--framework", "numpy", "--data.slope", "-1.5", "--schedule", "halving(0.4, every=30)")
    done = lockstep("train", "line-linear", *asked, "--out", "run", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'kind = "line"' in (tmp_path / "run" / "spec.toml").read_text()
    check = (
        "from lockstep.training.directory import find\n"
        "from lockstep.training import checkpoints\n"
        "run = find('run')\n"
        "snapshot, _ = checkpoints.load(checkpoints.newest(run.checkpoint_folder))\n"
        "w, b = (float(snapshot.weights[n].squeeze()) for n in 'wb')\n"
        "print(w, b, run.spec.data.kind, *run.history()[:, 'lr'])"
    )
    read = python("-c", check, folder=tmp_path)
    assert read.returncode == 0, read.stderr
    w, b, kind, *lrs = read.stdout.split()
    assert kind == "line"
    # 120 steps of a convex problem without noise, in float32: the error is that of rounding
    assert (float(w), float(b)) == (pytest.approx(-1.5, abs=1e-3), pytest.approx(-2, abs=1e-3))
    assert [float(lr) for lr in lrs] == [0.4 * 0.5 ** (t // 30) for t in range(120)]


def test_frameworks_are_compared_on_them(tmp_path: Path) -> None:
    others = [name for name in ("torch", "jax") if name in registry.installed()]
    asked = ("--frameworks", ",".join(["numpy", *others]), "--steps", "20", "--json")
    done = lockstep("compare", "line-linear", *asked, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "line-linear" in done.stdout


def test_an_experiment(tmp_path: Path) -> None:
    asked = ("--framework", "numpy", "--slopes", "0.5,4", "--json")
    done = lockstep("experiment", "slopes", "line-linear", *asked, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {float(slope): weight for slope, weight in json.loads(done.stdout).items()}
    assert found == {0.5: pytest.approx(0.5, abs=1e-3), 4.0: pytest.approx(4.0, abs=1e-3)}


def test_they_are_listed_where_the_built_in_ones_are(tmp_path: Path) -> None:
    script = (
        "from lockstep.cli import main\n"
        "main(['recipes']); main(['schedule', '--list']); main(['experiment', 'list'])\n"
        "main(['train', '--help'])"
    )
    done = python("-c", script, folder=tmp_path)
    for words in ("line-linear", "halving(0.3, every=5)", "slopes", "--data.slope"):
        assert words in done.stdout, done.stderr


def test_a_script_is_the_extension_of_the_processes_that_it_starts(tmp_path: Path) -> None:
    """What it adds is not added twice, and a process of a run of its own knows it."""
    script = tmp_path / "script.py"
    script.write_text(
        EXTENSION.read_text() + "\nif __name__ == '__main__':\n"
        "    result = ls.train(line_linear(framework='torch', devices=2), launch='processes')\n"
        "    print(float(result.weights['w'].squeeze()))\n"
    )
    if "torch" not in registry.installed():
        pytest.skip("torch is not here")
    done = python("script.py", extensions="script.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) == pytest.approx(3, abs=1e-3)


# --- what cannot be imported ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "FileNotFoundError"),
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named"),
        ("def f(:", "SyntaxError: "),
        ("\n1 / 0", "ZeroDivisionError: division by zero, .*mine.py, line 2"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("from lockstep import recipes\nrecipes.add(1)", "recipe = 1: is no documented function"),
    ],
    ids=["no file", "no module", "syntax", "error", "exit", "refused"],
)
def test_a_module_that_cannot_be_imported_is_named_in_one_line(
    content: str | None, reason: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "mine.py").write_text(content)
    done = lockstep("recipes", extensions="mine.py", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("lockstep: LOCKSTEP_EXTENSIONS = 'mine.py': cannot be imported (")
    assert re.search(reason, line)


def test_without_the_extension_its_kinds_are_not_known(tmp_path: Path) -> None:
    done = lockstep(
        "train", "airfoil-linear", "--data.kind", "line", extensions="", folder=tmp_path
    )
    assert done.returncode == 2
    assert "data.kind = 'line': is not known" in done.stderr


def test_modules_by_dotted_name_and_several(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    for name in ("one", "two"):
        recipe = f"def {name}(**changes):\n    '''Recipe {name}.'''\n"
        text = f"from lockstep import recipes\n\n@recipes.add\n{recipe}"
        (tmp_path / "pack" / f"{name}.py").write_text(text)
    named = os.pathsep.join(["pack.one", str(tmp_path / "pack" / "two.py")])
    done = lockstep("recipes", extensions=named, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Recipe one." in done.stdout
    assert "Recipe two." in done.stdout


# --- what is refused ------------------------------------------------------------------------------


def test_a_name_is_given_once() -> None:
    things: Registry[Any] = Registry("thing")
    things.add("one", Registry)
    things.add("one", Registry)  # the same definition, read again
    with pytest.raises(InputError, match=r"thing = 'one': is taken"):
        things.add("one", InputError)
    with pytest.raises(InputError, match=r"thing = 'a b': cannot be a name"):
        things.add("a b", Registry)


@dataclass
class Loose:
    kind: ClassVar[str] = "loose"


@dataclass(frozen=True)
class Lacking:
    needed: int
    kind: ClassVar[str] = "lacking"


@dataclass(frozen=True)
class Second:
    kind: ClassVar[str] = "airfoil"


def test_records_that_specs_cannot_hold_are_refused() -> None:
    a_set = data.DataSet(lambda *given: None, (1,), 1, "squared")  # type: ignore[arg-type]
    ours = {
        *("airfoil", "fashion-mnist", "timemachine", "recall", "own"),
        *("table", "text", "images"),
    }
    before = set(parts.DATA)  # another test of this process may have added its own, "line"
    assert before - {"line"} == ours
    with pytest.raises(InputError, match="frozen dataclass"):
        data.add(Loose, a_set)
    with pytest.raises(InputError, match=r"needed.*has no default"):
        data.add(Lacking, a_set)
    with pytest.raises(InputError, match=r"data\.kind = 'airfoil': is taken"):
        data.add(Second, a_set)
    with pytest.raises(InputError, match="loss = 'hinge'"):
        data.add(Second, data.DataSet(lambda *given: None, (1,), 1, "hinge"))  # type: ignore
    assert set(parts.DATA) == before


def test_what_is_no_schedule_and_no_recipe_is_refused() -> None:
    with pytest.raises(InputError, match="is no kind of schedule"):
        schedules.add(Second)  # type: ignore[type-var]
    with pytest.raises(InputError, match="documented function"):
        recipes.add(lambda **changes: recipes.airfoil_linear(**changes))
