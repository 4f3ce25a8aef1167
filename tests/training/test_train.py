"""One way to carry out a run: how often data is loaded, and how a new and a resumed run begin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lockstep as ls
from lockstep.training import carry_out
from lockstep.training.events import Event, RunStarted, SpecChanged


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs whose data this process loads, in order."""
    seen: list[str] = []
    real: Callable[..., Any] = carry_out.assemble

    def assemble(spec: ls.RunSpec, *rest: Any) -> Any:
        seen.append(spec.name)
        return real(spec, *rest)

    monkeypatch.setattr(carry_out, "assemble", assemble)
    return seen


@pytest.mark.parametrize("devices", [1, 2])
def test_data_is_loaded_once(loads: list[str], tmp_path: Path, devices: int) -> None:
    spec = ls.recipes.airfoil_linear(max_steps=5, devices=devices)
    ls.train(spec, out=tmp_path / "run")
    assert loads == ["airfoil-linear"]
    longer = spec.with_fields({"max_steps": 8})
    result = ls.resume(tmp_path / "run", spec=longer)
    assert loads == ["airfoil-linear"] * 2
    assert (result.status, len(result.history)) == ("completed", 8)


def test_a_new_run_starts_and_a_resumed_one_says_what_changed(tmp_path: Path) -> None:
    spec = ls.recipes.airfoil_linear(max_steps=5)
    events: list[Event] = []
    ls.train(spec, out=tmp_path / "run", listeners=[events.append])
    started = [event for event in events if isinstance(event, RunStarted)]
    assert [event.step for event in started] == [0]
    assert not any(isinstance(event, SpecChanged) for event in events)
    events.clear()
    longer = spec.with_fields({"max_steps": 8})
    ls.resume(tmp_path / "run", spec=longer, listeners=[events.append])
    started = [event for event in events if isinstance(event, RunStarted)]
    assert [event.step for event in started] == [5]
    changed = [event for event in events if isinstance(event, SpecChanged)]
    assert [event.changes for event in changed] == [["max_steps: 5 before, 8 now"]]


def test_a_result_shows_itself(capsys: pytest.CaptureFixture[str]) -> None:
    result = ls.train(ls.recipes.airfoil_linear(max_steps=5))
    result.show()
    shown = capsys.readouterr().out
    assert "airfoil-linear in numpy, scratch, float32" in shown
    assert "completed" in shown
