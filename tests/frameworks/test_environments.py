"""Which Python a framework runs in: here, in a whole environment of its own, or nowhere."""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import lockstep as ls
from lockstep.errors import InputError, LockstepError, MissingError
from lockstep.frameworks import environments, registry
from lockstep.frameworks.environments import MARKER, Environment, interpreter, usable
from lockstep.processes import interpreters
from lockstep.processes.interpreters import variables

MakeEnvironment = Callable[[str], Environment]
PACKAGE = Path(ls.__file__).resolve().parent
PROJECT = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())
ADAPTERS = [name for name in registry.names() if name != "numpy"]


# --- where they are -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"LOCKSTEP_ENVIRONMENTS": "/opt/envs", "XDG_CACHE_HOME": "/cache"}, "/opt/envs"),
        ({"LOCKSTEP_ENVIRONMENTS": "~/envs"}, "/home/someone/envs"),
        ({"LOCKSTEP_ENVIRONMENTS": "envs"}, "HERE/envs"),
        ({"LOCKSTEP_ENVIRONMENTS": ""}, "/home/someone/.cache/lockstep/environments"),
        ({"XDG_CACHE_HOME": "/cache"}, "/cache/lockstep/environments"),
        # the XDG standard: what is not absolute is to be ignored
        ({"XDG_CACHE_HOME": "cache"}, "/home/someone/.cache/lockstep/environments"),
        ({"XDG_CACHE_HOME": ""}, "/home/someone/.cache/lockstep/environments"),
        ({}, "/home/someone/.cache/lockstep/environments"),
    ],
)
def test_the_folder(
    given: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("LOCKSTEP_ENVIRONMENTS", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/someone", **given}.items():
        monkeypatch.setenv(name, value)
    assert str(interpreters.folder()) == expected.replace("HERE", str(tmp_path))


# --- what state they are in -----------------------------------------------------------------------


def test_a_framework_without_an_environment(environments_folder: Path) -> None:
    assert Environment("torch").state == "none"
    assert Environment("torch").path == environments_folder / "torch"


def test_a_whole_one(make_environment: MakeEnvironment) -> None:
    assert make_environment("torch").state == "whole"
    assert Environment("jax").state == "none"


@pytest.mark.parametrize("marker", ["", "{", "[]", "null", '"whole"', "3", "{}", "\xff"])
def test_a_marker_that_says_nothing(make_environment: MakeEnvironment, marker: str) -> None:
    environment = make_environment("torch")
    (environment.path / MARKER).write_bytes(marker.encode("latin-1"))
    assert environment.state == "unfinished"


def test_one_that_was_broken_off(make_environment: MakeEnvironment) -> None:
    environment = make_environment("torch")
    (environment.path / MARKER).unlink()
    assert environment.state == "unfinished"


def test_one_whose_python_is_gone(make_environment: MakeEnvironment) -> None:
    """As after an upgrade of the system: the link is there, what it leads to is not."""
    environment = make_environment("torch")
    environment.python.unlink()
    environment.python.symlink_to("/nowhere/python3.10")
    assert environment.state == "unfinished"


def test_other_constraints_make_it_outdated(
    make_environment: MakeEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = make_environment("torch")
    others = tmp_path / "constraints"
    shutil.copytree(environments.CONSTRAINTS, others)
    monkeypatch.setattr(environments, "CONSTRAINTS", others)
    assert environment.state == "whole"
    with (others / "torch.txt").open("a") as file:
        file.write("one-more==1.0\n")
    assert environment.state == "outdated"


# --- which Python is used -------------------------------------------------------------------------


def test_this_python_is_preferred(make_environment: MakeEnvironment) -> None:
    make_environment("numpy")
    assert interpreter("numpy") == sys.executable


def test_else_the_environments(
    make_environment: MakeEnvironment, hide: Callable[..., None]
) -> None:
    environment = make_environment("torch")
    hide("torch")
    assert interpreter("torch") == str(environment.path / "bin" / "python")


def test_what_is_missing_is_told_with_its_remedy(
    make_environment: MakeEnvironment, hide: Callable[..., None]
) -> None:
    hide("torch")
    with pytest.raises(MissingError, match=r"has no environment.*lockstep-train\[torch\]"):
        interpreter("torch")
    environment = make_environment("torch")
    (environment.path / MARKER).write_text('{"constraints": "of another time"}')
    with pytest.raises(MissingError, match=r"of other versions.*lockstep env create torch"):
        interpreter("torch")
    (environment.path / MARKER).unlink()
    with pytest.raises(MissingError, match=r"never finished.*lockstep env create torch"):
        interpreter("torch")


def test_an_unknown_framework() -> None:
    with pytest.raises(InputError, match="Did you mean 'torch'"):
        interpreter("pytorch")


def test_usable_are_those_here_and_those_with_a_whole_environment(
    make_environment: MakeEnvironment, hide: Callable[..., None]
) -> None:
    hide(*ADAPTERS)
    assert usable() == ["numpy"]
    make_environment("jax")
    (make_environment("torch").path / MARKER).unlink()
    assert usable() == ["numpy", "jax"]


# --- what they are made from ----------------------------------------------------------------------


def requirements(name: str) -> list[Requirement]:
    lines = (environments.CONSTRAINTS / f"{name}.txt").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def pins(name: str) -> dict[str, Version]:
    return {
        canonicalize_name(found.name): Version(next(iter(found.specifier)).version)
        for found in requirements(name)
    }


def test_every_adapter_but_numpy_has_constraints() -> None:
    assert environments.names() == ADAPTERS
    assert {path.stem for path in environments.CONSTRAINTS.glob("*.txt")} >= set(ADAPTERS)


@pytest.mark.parametrize("name", ADAPTERS)
def test_constraints_are_exact_pins(name: str) -> None:
    for found in requirements(name):
        (only,) = found.specifier
        assert only.operator == "==", found
        assert "*" not in only.version
        assert (found.url, found.marker, found.extras) == (None, None, set())
    assert len(pins(name)) == len(requirements(name))  # each named once


@pytest.mark.parametrize("name", ADAPTERS)
def test_constraints_hold_what_lockstep_needs(name: str) -> None:
    """All that pyproject.toml asks for, and the framework's extra where there is one."""
    project = PROJECT["project"]
    needed = project["dependencies"] + project["optional-dependencies"].get(name, [])
    found = pins(name)
    for requirement in map(Requirement, needed):
        version = found[canonicalize_name(requirement.name)]
        assert version in requirement.specifier, requirement
    assert any(distribution.startswith(name) for distribution in found)


def test_constraints_go_with_the_package() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["lockstep"]
    for name in ADAPTERS:
        path = (environments.CONSTRAINTS / f"{name}.txt").relative_to(PACKAGE)
        assert any(fnmatch.fnmatch(str(path), pattern) for pattern in patterns)


# --- how another Python finds Lockstep ------------------------------------------------------------

FIND = """
import importlib.util, json, os, sys
import lockstep
names = sys.argv[1:]
found = {name: importlib.util.find_spec(name) is not None for name in names}
print(json.dumps({"lockstep": os.path.realpath(lockstep.__file__), **found}))
"""


def found_by(python: Path | str, given: Mapping[str, str], *names: str) -> dict[str, Any]:
    """Where an interpreter finds Lockstep, and which other modules it finds."""
    done = subprocess.run(
        [str(python), "-P", "-c", FIND, *names], env=given, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    values: dict[str, Any] = json.loads(done.stdout)
    return values


def variables_of(packages: Path, python: Path | str, **given: str) -> dict[str, str]:
    """`variables(python)` of the Lockstep in another folder, called by this interpreter."""
    code = (
        "import json, sys; from lockstep.processes.interpreters import variables\n"
        "print(json.dumps(variables(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(python)],
        env=os.environ | {"PYTHONPATH": str(packages)} | given,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    values: dict[str, str] = json.loads(done.stdout)
    return values


@pytest.fixture(scope="module", params=["site-packages", "target"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Lockstep and a neighbour, as pip leaves them; with --target, of any name."""
    folder = tmp_path_factory.mktemp("installed") / request.param
    shutil.copytree(PACKAGE, folder / "lockstep")
    (folder / "neighbour.py").write_text("version = 'of another interpreter'")
    if request.param == "target":
        import numpy

        (folder / "numpy").symlink_to(Path(numpy.__file__).parent, target_is_directory=True)
    return folder


def test_a_source_tree(bare_python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "helper.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for python in (sys.executable, str(bare_python)):
        found = found_by(python, variables(python), "helper", "torch")
        assert found["lockstep"] == str(PACKAGE / "__init__.py")
        assert found["helper"]  # what a person named themselves
    assert not found["torch"]
    monkeypatch.delenv("PYTHONPATH")
    assert found_by(bare_python, variables(str(bare_python)))["lockstep"] == found["lockstep"]


def test_another_python_finds_an_installed_lockstep_without_its_neighbours(
    installed: Path, bare_python: Path, environments_folder: Path
) -> None:
    given = variables_of(installed, bare_python)
    found = found_by(bare_python, given, "neighbour", "numpy")
    assert found["lockstep"] == str(installed / "lockstep" / "__init__.py")
    assert found["numpy"]  # its own
    assert not found["neighbour"]
    links = list(environments_folder.rglob("lockstep"))
    assert [path.resolve() for path in links] == [installed / "lockstep"]


@pytest.mark.parametrize("installed", ["site-packages"], indirect=True)
def test_a_run_goes_on_in_another_python(
    installed: Path, bare_python: Path, environments_folder: Path, tmp_path: Path
) -> None:
    """The whole package is found through the link: data files and adapters too."""
    done = subprocess.run(
        [str(bare_python), "-P", "-m", "lockstep", "train", "airfoil-linear", "--quiet"],
        env=variables_of(installed, bare_python),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("installed", ["site-packages"], indirect=True)
def test_this_python_keeps_its_neighbours(installed: Path) -> None:
    given = variables_of(installed, sys.executable)
    found = found_by(sys.executable, given, "neighbour")
    assert found == {"lockstep": str(installed / "lockstep" / "__init__.py"), "neighbour": True}


@pytest.mark.parametrize("installed", ["site-packages"], indirect=True)
def test_a_persons_own_paths_stay_for_another_python(
    installed: Path, bare_python: Path, environments_folder: Path, tmp_path: Path
) -> None:
    """A model of theirs may import what they named; the folder of Lockstep is not among it."""
    (tmp_path / "helper.py").touch()
    paths = os.pathsep.join([str(tmp_path), str(installed)])
    given = variables_of(installed, bare_python, PYTHONPATH=paths)
    found = found_by(bare_python, given, "helper", "neighbour")
    assert (found["helper"], found["neighbour"]) == (True, False)


def test_pythonhome_is_of_one_interpreter(
    bare_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHOME", sys.base_prefix)
    assert "PYTHONHOME" not in variables(str(bare_python))
    assert variables(sys.executable)["PYTHONHOME"] == sys.base_prefix


@pytest.mark.parametrize("installed", ["site-packages"], indirect=True)
def test_a_folder_in_which_no_link_can_be_made(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LOCKSTEP_ENVIRONMENTS", str(tmp_path / "file"))
    with pytest.raises(LockstepError, match=r"cannot be written.*LOCKSTEP_ENVIRONMENTS"):
        interpreters._link(installed / "lockstep")
