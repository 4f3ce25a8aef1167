"""Environments of frameworks for the tests: real ones, below folders of their own."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sysconfig
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lockstep.frameworks import environments
from lockstep.frameworks.environments import Environment

# what Lockstep itself needs, and what that needs
NEEDED = ("numpy", "rich", "markdown_it", "mdurl", "pygments", "safetensors", "tomli_w")

MakeEnvironment = Callable[[str], Environment]


@pytest.fixture(autouse=True, scope="session")
def no_environments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The environments that a person has made must not decide how a test ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCKSTEP_ENVIRONMENTS", str(tmp_path_factory.mktemp("environments")))
        yield


@pytest.fixture
def environments_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for the environments of one test."""
    folder = tmp_path / "environments"
    monkeypatch.setenv("LOCKSTEP_ENVIRONMENTS", str(folder))
    return folder


@pytest.fixture
def make_environment(environments_folder: Path) -> MakeEnvironment:
    """Gives a framework a whole environment: another interpreter that finds what is installed here.

    NumPy may have one too: it starts fastest.
    """

    def make(name: str) -> Environment:
        environment = Environment(name)
        make_venv(environment.path, [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
        mark(environment)
        return environment

    return make


def make_venv(folder: Path, paths: list[str]) -> Path:
    """A virtual environment in which the packages of `paths` are found; its Python."""
    venv.create(folder, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "tests.pth").write_text("\n".join(dict.fromkeys(paths)) + "\n")
    return folder / "bin" / "python"


def mark(environment: Environment) -> None:
    """Write the marker of a whole environment, as it is documented: the constraints' SHA-256."""
    constraints = environments.CONSTRAINTS / f"{environment.framework}.txt"
    content = constraints.read_bytes() if constraints.exists() else None
    digest = "" if content is None else hashlib.sha256(content).hexdigest()
    (environment.path / environments.MARKER).write_text(json.dumps({"constraints": digest}))


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has what Lockstep needs, and no framework but NumPy."""
    packages = tmp_path_factory.mktemp("bare") / "packages"
    packages.mkdir()
    for name in NEEDED:
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.origin is not None
        (packages / name).symlink_to(Path(found.origin).parent, target_is_directory=True)
    return make_venv(packages.parent / "venv", [str(packages)])


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`hide("torch")`: as if it were not installed beside Lockstep."""
    from lockstep.frameworks import registry

    real = registry.is_installed

    def call(*hidden: str) -> None:
        monkeypatch.setattr(
            registry, "is_installed", lambda name: name not in hidden and real(name)
        )

    return call


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[Callable[[], list[str]]]:
    """The commands of living processes that name the test's folder; at its end there are none."""

    def living() -> list[str]:
        return _processes_about(str(tmp_path).encode())

    yield living
    deadline = time.monotonic() + 20
    while living() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert living() == []


def _processes_about(path: bytes) -> list[str]:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        if path in command and int(file.parent.name) != os.getpid():
            found.append(command.replace(b"\0", b" ").decode())
    return found
