"""What a model is: every difference shows in its lines, and nothing else does."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lockstep.models.structure import digest_of, first_difference, structure

SCALE = 3


def scaled(x: Any) -> Any:
    return x * SCALE


def net(ops: Any, w: Any, x: Any, power: int = 2) -> Any:
    return ops.tanh(scaled(x @ w["w"])) ** power


def other_default(ops: Any, w: Any, x: Any, power: int = 3) -> Any:
    return net(ops, w, x, power)


def multiplied(by: Any) -> Any:
    def inner(ops: Any, w: Any, x: Any) -> Any:
        return x @ w["w"] * by

    return inner


class Scaled:
    def __init__(self, by: float) -> None:
        self._by = by

    def net(self, ops: Any, w: Any, x: Any) -> Any:
        return x @ w["w"] * self._by


# two on one line: the source of a line would be the same for both
first, second = (lambda ops, w, x: x @ w["w"]), (lambda ops, w, x: x @ w["w"] + 1)


def test_models_that_differ_have_different_lines() -> None:
    models = [
        net, other_default, first, second, multiplied(2), multiplied(3), multiplied(np.tanh),
        multiplied(np.ones(2)), multiplied(np.zeros(2)), functools.partial(net, power=1),
        functools.partial(net, power=4), Scaled(1.0).net, Scaled(2.0).net,
    ]  # fmt: skip
    assert len({digest_of(structure(model)) for model in models}) == len(models)
    assert [structure(model) for model in models] == [structure(model) for model in models]


def test_a_helper_and_a_constant_are_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = structure(net)
    assert "SCALE = 3" in before
    monkeypatch.setitem(net.__globals__, "SCALE", 4)
    assert first_difference(before, structure(net)) == "'SCALE = 3' there, 'SCALE = 4' here"
    monkeypatch.setitem(net.__globals__, "scaled", lambda x: x)
    assert "scaled: <lambda>" in structure(net)


SOURCE = """
import numpy as np
HALF = 0.5
def net(ops, w, x):
    return HALF * ops.tanh(x @ w["w"])
"""
COMMENTED = SOURCE.replace("ops.tanh(x", "ops.tanh(  # why\n        x")


def test_lines_are_the_same_in_another_process_and_without_comments(tmp_path: Path) -> None:
    from lockstep.task.own_files import function_at

    digests = []
    for i, text in enumerate((SOURCE, COMMENTED, SOURCE.replace("HALF = 0.5", "HALF = 0.25"))):
        file = tmp_path / f"{i}" / "models.py"
        file.parent.mkdir()
        file.write_text(text)
        digests.append(digest_of(structure(function_at(f"{file}:net"))))
        code = (
            f"import sys; sys.path.insert(0, {str(file.parent)!r}); import models\n"
            "from lockstep.models.structure import *; print(digest_of(structure(models.net)))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout.strip() == digests[-1]
    assert digests[0] == digests[1] != digests[2]


def test_code_without_a_file_is_told_apart_too() -> None:
    found = []
    for text in ("x @ w['w']", "x @ w['w'] + 1", "x @ w['v']"):
        space: dict[str, Any] = {}
        exec(f"def net(ops, w, x): return {text}", space)
        found.append(structure(space["net"]))
    assert len(set(found)) == 3
