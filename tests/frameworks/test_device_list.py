"""Every framework is asked in its own interpreter, and one that fails hides no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lockstep.cli import main
from lockstep.frameworks import device_list as devices
from lockstep.frameworks import registry
from lockstep.frameworks.device_list import Devices, list_devices
from lockstep.frameworks.environments import Environment


def test_every_usable_framework_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--json"]) == 0
    rows = {row["framework"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == registry.installed()
    for name, row in rows.items():
        assert row["devices"] == registry.get(name).devices()
        assert row["version"] == registry.get(name).version
        assert row["problem"] is None
    several = {name: rows[name]["several_in_process"] for name in ("torch", "jax") if name in rows}
    assert several.items() <= {"torch": False, "jax": True}.items()


def test_a_framework_elsewhere_is_asked_there(
    make_environment: Callable[[str], Environment], hide: Callable[..., None]
) -> None:
    """NumPy stands for it, which starts fastest: its facts come from the other interpreter."""
    environment = make_environment("numpy")
    hide("numpy")
    reported: list[Devices] = []
    (found,) = list_devices(["numpy"], reported.append)
    assert found.devices == ("cpu",)
    assert found.python == str(environment.python)
    assert reported == [found]


def test_one_that_does_not_import_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jax.py").write_text("raise ImportError('no such wheel')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(devices.environments, "usable", lambda: ["numpy", "jax"])
    assert main(["devices"]) == 2
    out = capsys.readouterr().out
    assert "numpy" in out
    assert "no such wheel" in out


@pytest.mark.parametrize("name", registry.installed())
def test_every_framework_says_how_it_can_have_several(name: str) -> None:
    """In torch a device is a process, elsewhere there are more; the words say the same."""
    several = registry.get(name).several
    assert Devices(name).several_in_process == (name != "torch")
    assert several.startswith("in one process: ") == (name != "torch")
