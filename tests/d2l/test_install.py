"""`install` answers `from d2l import torch` in a process of its own; a real d2l stays in place."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lockstep
from lockstep.d2l import has_virtual_devices
from lockstep.errors import MissingError

SOURCE = Path(lockstep.__file__).resolve().parents[1]


def python(code: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    folders = os.pathsep.join(str(path) for path in (SOURCE, *paths))
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": folders},
    )  # fmt: skip


def test_both_ways_to_import_give_one_module() -> None:
    done = python(
        "import sys, lockstep.d2l\n"
        "lockstep.d2l.install(); lockstep.d2l.install()\n"
        "from d2l import torch as a\n"
        "import d2l.torch\n"
        "from lockstep.d2l import torch as b\n"
        "assert a is b and d2l.torch is b, (a, b)\n"
        "assert b.__spec__.name == 'lockstep.d2l.torch'\n"
        "assert a.Timer().stop() >= 0\n"
        "assert 'torch' not in sys.modules  # a Timer needs no framework\n"
        "lockstep.d2l.uninstall()\n"
        "try:\n    import d2l\nexcept ImportError:\n    print('gone')\n"
    )
    assert done.stdout == "gone\n", done.stderr


def test_another_d2l_stays_in_place(tmp_path: Path) -> None:
    (tmp_path / "d2l").mkdir()
    (tmp_path / "d2l" / "__init__.py").write_text("real = True\n")
    code = "import lockstep.d2l as l\n{}\nimport d2l; print(hasattr(d2l, 'real'))"
    kept = python(
        code.format(
            "try: l.install(quick=True)\nexcept l.TakenError as error: print(error)\n"
            "assert not l.options.current().quick"
        ),
        tmp_path,
    )
    assert "is installed here" in kept.stdout
    assert kept.stdout.endswith("True\n"), kept.stderr
    replaced = python(code.format("import d2l; l.install(replace=True)"), tmp_path)
    assert replaced.stdout == "False\n", replaced.stderr


def test_an_unknown_framework_is_an_import_error() -> None:
    done = python("import lockstep.d2l as l; l.install(); from d2l import nothing")
    assert "ImportError" in done.stderr


@pytest.fixture
def keras_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The names in TensorFlow are imported anew, and what that sets is undone."""
    for name in ("TF_USE_LEGACY_KERAS", "TF_CPP_MIN_LOG_LEVEL"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.delitem(sys.modules, "lockstep.d2l.tensorflow", raising=False)
    return monkeypatch


def test_importing_the_names_in_tensorflow_chooses_keras_2(
    keras_is_asked_for: pytest.MonkeyPatch,
) -> None:
    has_virtual_devices("tensorflow")  # a mere question chooses nothing
    assert "TF_USE_LEGACY_KERAS" not in os.environ
    importlib.import_module("lockstep.d2l.tensorflow")
    assert os.environ["TF_USE_LEGACY_KERAS"] == "1"


def test_a_missing_keras_2_is_named_with_the_version_and_the_python(
    keras_is_asked_for: pytest.MonkeyPatch,
) -> None:
    from lockstep.d2l.tensorflow import startup

    keras_is_asked_for.setattr(startup, "find_spec", lambda name: name == "tensorflow")
    table = {"tensorflow": ["tensorflow-cpu"]}
    keras_is_asked_for.setattr(startup.metadata, "packages_distributions", lambda: table)
    keras_is_asked_for.setattr(startup.metadata, "version", {"tensorflow-cpu": "2.19.1"}.get)
    with pytest.raises(MissingError) as failure:
        startup.prefer_keras_2()
    command = f'{sys.executable} -m pip install --no-deps "tf_keras==2.19.*"'
    assert failure.value.remedy == f"Install it with: {command}"
