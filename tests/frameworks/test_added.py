"""A framework and an operation from outside the package, trained with here and in other processes.

All in processes of their own, so that other tests see the package alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.frameworks import registry

EXTENSION = Path(__file__).parent / "outside" / "extension.py"
SOURCE = Path(ls.__file__).resolve().parents[1]


def python(*argv: str, folder: Path, code: int = 0) -> str:
    variables = os.environ | {"PYTHONPATH": str(SOURCE), "LOCKSTEP_EXTENSIONS": str(EXTENSION)}
    done = subprocess.run(
        [sys.executable, *argv], capture_output=True, text=True, env=variables, cwd=folder,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_it_is_listed_without_being_imported(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from lockstep.frameworks import registry\n"
        "print(registry.names(), registry.is_installed('numpy2'))\n"
        "print(registry.has_style('numpy2', 'concise'), registry.devices_are_processes('numpy2'))\n"
        "print('numpy2.adapter' in sys.modules)"
    )
    names, declared, imported = python("-c", script, folder=tmp_path).splitlines()
    assert names == f"{sorted([*registry.names(), 'numpy2'], key=_place)} True"
    assert (declared, imported) == ("False False", "False")


def _place(name: str) -> tuple[bool, bool, str]:
    return name != "numpy", name != "torch", name


def test_a_run_in_it_is_the_oracles(tmp_path: Path) -> None:
    script = (
        "import lockstep as ls\n"
        "spec = ls.recipes.airfoil_linear(framework='numpy2', precision='float64', max_steps=30)\n"
        "result = ls.train(spec)\n"
        "print(result.history.notes, *result.history[:, 'loss'])"
    )
    notes, *losses = python("-c", script, folder=tmp_path).replace(" of numpy2", "").split("] ")
    found = [float(loss) for loss in " ".join(losses).split()]
    spec = ls.recipes.airfoil_linear(framework="numpy", precision="float64", max_steps=30)
    expected = ls.train(spec).history[:, "loss"]
    assert notes == "['eager steps'"
    np.testing.assert_array_equal(found, expected)
    assert expected[-1] < 0.7 * expected[0]


def test_it_is_compared_with_the_oracle_in_processes_of_its_own(tmp_path: Path) -> None:
    argv = ("compare", "airfoil-linear", "--frameworks", "numpy2", "--steps", "20", "--json")
    outcome = json.loads(python("-m", "lockstep", *argv, folder=tmp_path))
    assert (outcome["agree"], outcome["moved"]) == (True, True)
    notes = {row["framework"]: row["notes"] for row in outcome["rows"]}
    assert notes == {"numpy": ["eager steps"], "numpy2": ["eager steps of numpy2"]}
    argv = ("train", "airfoil-linear", "--framework", "numpy2", "--threads", "1", "--out", "run")
    python("-m", "lockstep", *argv, folder=tmp_path)  # another number of threads: another process
    assert 'framework = "numpy2"' in (tmp_path / "run" / "spec.toml").read_text()


def test_what_lists_frameworks_lists_it(tmp_path: Path) -> None:
    rows = json.loads(python("-m", "lockstep", "devices", "--json", folder=tmp_path))
    assert {"numpy2"} == {row["framework"] for row in rows if "none yet" in row["several"]}
    out = python("-m", "lockstep", "train", "airfoil-linear", "--framework", "numpy3",
                 folder=tmp_path, code=2)  # fmt: skip
    assert "numpy3" not in out


def test_an_operation_in_a_net(tmp_path: Path) -> None:
    """softsign(x) = x / (1 + |x|): its first loss by the formula, its steps those of the formula
    written out, bit for bit."""
    script = (
        "import numpy as np, lockstep as ls\n"
        "x = np.linspace(-2, 2, 40).reshape(20, 2)\n"
        "y = np.sin(x[:, :1])\n"
        "given = {'weights': {'w': np.array([[0.5], [-0.25]])}}\n"
        "added = ls.own(lambda ops, w, x: ops.softsign(x @ w['w']), x, y, **given)\n"
        "def plain(ops, w, x):\n"
        "    z = x @ w['w']\n"
        "    return z / (1 + ops.abs(z))\n"
        "for net in (added, ls.own(plain, x, y, **given)):\n"
        "    spec = net.run(framework='numpy', precision='float64', batch_size=20, lr=0.5)\n"
        "    print(*ls.train(spec.with_fields({'epochs': 10}), net).history[:, 'loss'])"
    )
    added, plain = python("-c", script, folder=tmp_path).splitlines()
    assert added == plain
    x = np.linspace(-2, 2, 40).reshape(20, 2)
    z = x @ [0.5, -0.25]
    first = np.mean((z / (1 + abs(z)) - np.sin(x[:, 0])) ** 2) / 2
    losses = [float(loss) for loss in added.split()]
    assert losses[0] == pytest.approx(first, rel=1e-12)
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize(
    ("name", "package", "problem"),
    [
        ("torch", "mine.torch", "is taken"),
        ("numpy", "mine", "is taken"),
        ("a name", "mine", "cannot be a name"),
        ("", "mine", "cannot be a name"),
    ],
)
def test_names_of_frameworks_that_are_refused(name: str, package: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"framework = '{name}': {problem}"):
        registry.add(name, package)


def test_the_same_framework_may_be_added_again() -> None:
    before = registry.names()
    registry.add("torch", "lockstep.frameworks.torch")
    assert registry.names() == before


@pytest.mark.parametrize("name", ["exp", "scan", "fused", "precision", "flip", "ones", "kernels"])
def test_an_operation_that_is_there_is_not_replaced(name: str) -> None:
    with pytest.raises(InputError, match=f"op = '{name}': is one of Ops already"):
        ls.ops.add(name, lambda ops, x: x)
    for wrong in ("a-b", "_hidden", "1x", ""):
        with pytest.raises(InputError, match="cannot be a name"):
            ls.ops.add(wrong, lambda ops, x: x)
