"""What importing costs, and who may import whom: data flows one way through the rooms."""

from __future__ import annotations

import ast
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import lockstep as ls
from lockstep.frameworks import registry

ROOT = Path(ls.__file__).resolve().parent
FRAMEWORKS = ("torch", "jax", "jaxlib", "flax", "optax", "tensorflow", "keras", "mxnet", "paddle")


def python(*argv: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    return subprocess.run(
        [sys.executable, *argv], capture_output=True, text=True, check=True, env=environment,
        timeout=60,
    )  # fmt: skip


# --- what is imported -----------------------------------------------------------------------------


def imported_by(code: str) -> set[str]:
    """The packages in memory after `code`, in a process of its own."""
    done = python("-c", f"{code}\nimport sys; print(*sorted(sys.modules))")
    return {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}


def test_import_lockstep_imports_no_framework_and_no_numpy() -> None:
    found = imported_by("import lockstep")
    assert "lockstep" in found
    assert not found & {*FRAMEWORKS, "numpy", "rich", "safetensors", "matplotlib"}


@pytest.mark.parametrize(
    "code",
    [
        "from lockstep.cli import build_parser; build_parser()",
        "import lockstep as ls; ls.recipes.timemachine_gru().to_toml()",
        "import lockstep as ls; ls.cosine(0.3, steps=5).warmup(2)",
        "from lockstep.frameworks import registry",
    ],
    ids=["the parser", "a recipe", "a schedule", "the registry"],
)
def test_describing_a_run_imports_no_framework(code: str) -> None:
    found = imported_by(code)
    assert not found & set(FRAMEWORKS)
    if "registry" not in code:  # the contract speaks of NumPy's arrays
        assert "numpy" not in found


@pytest.mark.parametrize("framework", registry.installed())
def test_a_run_imports_its_own_framework_only(framework: str) -> None:
    code = (
        "import lockstep as ls\n"
        f"ls.train(ls.recipes.airfoil_linear(framework={framework!r}, max_steps=2))"
    )
    others = {name for name in registry.names() if name not in (framework, "numpy")}
    assert not imported_by(code) & others


def test_every_public_name_is_there() -> None:
    for name in dir(ls):
        assert getattr(ls, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = ls.nothing_like_it
    for name in ("train", "resume", "compare", "own", "RunSpec", "cosine", "recipes", "errors"):
        assert name in dir(ls)


# --- what it costs --------------------------------------------------------------------------------


def extra_seconds(*argv: str, repeats: int = 7) -> float:
    """Median processor time over that of `python -c pass`: others' work on the machine adds less
    to it than to the time that passes, which `python -m benchmarks --only startup` measures."""
    differences = []
    python(*argv)  # compiles what is not compiled yet
    for _ in range(repeats):
        times = []
        for command in (("-c", "pass"), argv):
            begin = os.times()
            python(*command)
            end = os.times()
            times.append(sum(end[2:4]) - sum(begin[2:4]))  # user and system time of children
        differences.append(times[1] - times[0])
    return statistics.median(differences)


def test_import_takes_less_than_a_fifth_of_a_second() -> None:
    assert extra_seconds("-c", "import lockstep") < 0.2


def test_help_takes_less_than_half_a_second() -> None:
    assert extra_seconds("-m", "lockstep", "--help") < 0.5


# --- who imports whom -----------------------------------------------------------------------------

# left to right; a room imports only from rooms on its left
ORDER = (
    "errors", "checks", "extensions", "files", "trees", "showing", "schedules", "spec", "ops",
    "array_files", "contract", "recipes", "data", "models", "optimizers", "task", "processes",
    "frameworks", "training", "loggers", "comparison", "sweeps", "report", "experiments", "d2l",
    "book", "cli",
)  # fmt: skip
# files and folders outside the adapters that a framework is used in: its distributed engine, and
# the names of the book in that framework
ENGINES = {
    "torch": ("experiments/allreduce/process_plans.py", "experiments/ways_to_split/ways"),
    "jax": ("experiments/allreduce/xla.py",),
}


class Import(NamedTuple):
    file: Path
    room: str
    name: str  # dotted, of the module or of what was taken from the package itself


def imports() -> Iterator[Import]:
    """Every import of the package: at the top, inside functions, for type checking, by name."""
    for file in sorted(ROOT.rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        room = "" if parts == ("__init__",) else parts[0]
        for node in ast.walk(ast.parse(file.read_text())):
            for name in _names(node):
                yield Import(file, room, name)


def _names(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            assert level == 0, "imports are written out"
            taken = [f"{module}.{alias.name}" for alias in names]
            return taken if module == "lockstep" else [str(module)]
        case ast.Constant(value=str(text)) if text.startswith("lockstep.") and " " not in text:
            return [text]  # for importlib, or for another process to run
    return []


def test_every_room_has_its_place() -> None:
    rooms = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__init__", "__main__", "__pycache__", "py"} == {
        room for room in ORDER if "." not in room
    }


def test_rooms_import_from_their_left_only() -> None:
    rank = {room: place for place, room in enumerate(ORDER)}
    wrong, seen = [], 0
    for found in imports():
        package, _, rest = found.name.partition(".")
        target = rest if rest in rank else rest.partition(".")[0]
        if package != "lockstep" or found.room not in rank or target not in rank:
            continue
        seen += 1
        if rank[target] > rank[found.room]:
            wrong.append(f"{found.file.relative_to(ROOT)} imports {found.name}")
    assert seen > 100
    assert wrong == []


def test_the_chain_in_contributing_is_the_truth() -> None:
    text = (ROOT.parents[1] / "CONTRIBUTING.md").read_text()
    chain = next(line for line in text.splitlines() if line.count(" -> ") > 5)
    assert tuple(re.split(r" -> |, ", chain.strip())) == ORDER


def test_frameworks_are_imported_in_their_adapters_only() -> None:
    seen = set()
    for found in imports():
        package = found.name.partition(".")[0]
        if package in FRAMEWORKS:
            seen.add(package)
            adapter = "jax" if package in ("jaxlib", "flax", "optax") else package
            own = found.file.is_relative_to(ROOT / "frameworks" / adapter)
            engines = [ROOT / place for place in (*ENGINES.get(adapter, ()), f"d2l/{adapter}")]
            assert own or any(found.file.is_relative_to(place) for place in engines), found
    assert {"torch", "jax"} <= seen


def test_the_house_never_asks_which_framework_it_is() -> None:
    """No comparison with a framework's name outside the adapters; the oracle is no framework to
    be treated apart but what all are judged by."""
    names = set(registry.names()) - {"numpy"}
    wrong = []
    for file in sorted(ROOT.rglob("*.py")):
        if file.is_relative_to(ROOT / "frameworks"):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Compare | ast.MatchValue):
                texts = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
                if texts & names:
                    wrong.append(f"{file.relative_to(ROOT)}: {ast.unparse(node)}")
    assert wrong == []


def test_the_loop_is_short() -> None:
    assert len((ROOT / "training" / "loop.py").read_text().splitlines()) < 100
