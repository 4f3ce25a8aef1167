"""Frameworks of a few bytes, which real pip installs into real environments without a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.frameworks import environments, installing

PACKAGE = Path(ls.__file__).resolve().parent
collect_ignore = ["outside"]  # looking for doctests there would add the framework to this process

# a way to build a package that needs nothing, and waits while a file tells it to
BACKEND = """
import pathlib, time, zipfile
NAME, VERSION, HOLD = {name!r}, "1.0", pathlib.Path({hold!r})
INFO = f"{{NAME}}-{{VERSION}}.dist-info"

def build_wheel(directory, settings=None, metadata=None):
    HOLD.with_name("building").touch()
    while HOLD.exists():
        time.sleep(0.02)
    file = f"{{NAME}}-{{VERSION}}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(directory) / file, "w") as out:
        out.writestr(f"{{NAME}}.py", "built = True")
        out.writestr(f"{{INFO}}/METADATA", f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: 1.0")
        out.writestr(f"{{INFO}}/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any")
        out.writestr(f"{{INFO}}/RECORD", "")
    return file
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = {name!r}
version = "1.0"
"""


@dataclass(frozen=True)
class Shelf:
    """Packages to install, and a copy of Lockstep whose constraints name them."""

    folder: Path

    @property
    def constraints(self) -> Path:
        return self.folder / "lockstep" / "frameworks" / "constraints"

    def ask_for(self, framework: str, *requirements: object) -> None:
        lines = "\n".join(str(item) for item in requirements)
        (self.constraints / f"{framework}.txt").write_text(f"# exact versions\n{lines}\n")

    def wheel(self, name: str, code: str = "", version: str = "1.0") -> Path:
        """A package of one module, ready to be installed."""
        path = self.folder / f"{name}-{version}-py3-none-any.whl"
        info = f"{name}-{version}.dist-info"
        facts = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        with zipfile.ZipFile(path, "w") as out:
            out.writestr(f"{name}.py", code)
            out.writestr(f"{info}/METADATA", facts)
            out.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any")
            out.writestr(f"{info}/RECORD", "")
        return path

    def source(self, name: str) -> Path:
        """A package that pip has to build, which takes as long as `hold` is there."""
        path = self.folder / "sources" / name
        path.mkdir(parents=True)
        (path / "pyproject.toml").write_text(PROJECT.format(name=name))
        (path / "backend.py").write_text(BACKEND.format(name=name, hold=str(self.hold)))
        return path

    @property
    def hold(self) -> Path:
        return self.folder / "hold"

    @property
    def building(self) -> Path:
        return self.folder / "building"

    def started(self, *words: str) -> subprocess.Popen[str]:
        """`lockstep WORDS` of the copy, in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "lockstep", *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def shelf(
    tmp_path: Path, environments_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shelf]:
    """Here as in the copy, frameworks are made from the shelf, and pip knows of no other place."""
    found = Shelf(tmp_path / "shelf")
    shutil.copytree(PACKAGE, found.folder / "lockstep")
    for module in (environments, installing):
        monkeypatch.setattr(module, "CONSTRAINTS", found.constraints)
    monkeypatch.setenv("PYTHONPATH", str(found.folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    yield found
    found.hold.unlink(missing_ok=True)  # whatever waits for it is to end
