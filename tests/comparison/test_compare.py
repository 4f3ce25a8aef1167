"""Comparisons for real: processes, verdicts, faults put in on purpose, rows that come to no end."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.comparison import Comparison, Row, compare
from lockstep.errors import InputError, LockstepError, RunDirectoryError
from lockstep.frameworks import registry
from lockstep.training.in_processes import Launch, follow

STEPS = 60
OTHERS = [name for name in registry.installed() if name != "numpy"]


@pytest.fixture(scope="module")
def all_frameworks(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Airfoil in float64 in every framework that is installed."""
    spec = ls.recipes.airfoil_linear(precision="float64")
    out = tmp_path_factory.mktemp("compare") / "airfoil"
    return compare(spec, frameworks=["numpy", *OTHERS], steps=STEPS, out=out, timeout=120)


def test_every_framework_walks_the_oracles_path(all_frameworks: Comparison) -> None:
    assert [row.framework for row in all_frameworks.rows] == ["numpy", *OTHERS]
    assert all_frameworks.agree
    assert all_frameworks.exit_code == 0
    for row in all_frameworks.others:
        assert [verdict.step for verdict in row.verdicts] == [None] * 6
        assert row.verdict("initial parameters").largest == 0
        # the bar is 1e-9; rounding of 60 steps in float64 stays far below
        assert row.verdict("loss").largest < 1e-12


def test_the_oracles_row_is_numpy_in_float64_and_not_judged(all_frameworks: Comparison) -> None:
    oracle = all_frameworks.oracle
    assert (oracle.oracle, oracle.precision, oracle.verdicts) == (True, "float64", ())
    direct = ls.train(ls.recipes.airfoil_linear(precision="float64", max_steps=STEPS))
    np.testing.assert_array_equal(oracle.curve.loss, direct.history[:, "loss"])
    assert oracle.final_loss == direct.history[-1, "loss"]


def test_the_loss_moved_on_the_same_batches(all_frameworks: Comparison) -> None:
    before, after = all_frameworks.before, all_frameworks.after
    assert before is not None
    assert after is not None
    assert after < 0.7 * before


def test_rows_tell_versions_speed_and_path(all_frameworks: Comparison) -> None:
    import importlib.metadata

    for row in all_frameworks.rows:
        assert row.version.split("+")[0] == importlib.metadata.version(row.framework).split("+")[0]
        assert row.rate is not None
        assert 0 < row.rate.low <= row.rate.median <= row.rate.high
        assert row.compile_seconds is not None
        assert row.notes
        assert np.all(np.diff(row.curve.seconds) > 0)
        assert len(row.curve.seconds) == STEPS


def test_everything_is_kept_in_the_folder(all_frameworks: Comparison) -> None:
    folder = all_frameworks.directory
    kept = json.loads((folder / "comparison.json").read_text())
    assert kept == json.loads(json.dumps(all_frameworks.to_dict()))
    assert kept["agree"] is True
    assert [row["first_beyond"] for row in kept["rows"]] == [None] * len(kept["rows"])
    assert (folder / "report.html").stat().st_size > 10_000
    for name in ["oracle", *OTHERS]:
        assert (folder / name / "events.jsonl").exists()


def test_it_is_shown_as_a_table(
    all_frameworks: Comparison, capsys: pytest.CaptureFixture[str]
) -> None:
    all_frameworks.show()
    shown = capsys.readouterr().out
    for word in (
        "framework",
        "last step's loss",
        "largest deviation",
        "steps/s",
        "compile",
        "none",
    ):
        assert word in shown
    assert "agree:" in shown
    assert "\x1b" not in shown


def small(**fields: Any) -> ls.RunSpec:
    """A run of NumPy in float32 against the oracle: quick, and a comparison all the same."""
    return ls.recipes.airfoil_linear(**({"precision": "float32"} | fields))


@pytest.mark.usefixtures("without_page")
def test_float32_is_judged_by_its_own_tolerance(tmp_path: Path) -> None:
    found = compare(small(), frameworks=["numpy"], steps=20, out=tmp_path / "c")
    assert [row.label for row in found.rows] == ["numpy (oracle)", "numpy"]
    assert found.agree
    assert found.rows[1].deviation is not None
    assert 1e-9 < found.rows[1].deviation < 1e-5


@pytest.mark.usefixtures("without_page")
@pytest.mark.parametrize(
    ("fault", "quantity", "step"),
    [
        ('s/"seed": 0/"seed": 1/', "initial parameters", 0),
        ('s/"base": 0.05/"base": 0.06/', "lr", 0),
    ],
    ids=["other weights and batches", "other lr"],
)
def test_a_fault_is_found_where_it_begins(
    fault: str, quantity: str, step: int, tmp_path: Path, interpreter: Any, processes: list
) -> None:
    """The cause is named: the loss itself parts at once with other weights, and with another lr
    at step 1, for the first loss is still that of the same weights."""
    faulty = interpreter(f"""exec $PYTHON $1 $2 $3 "$(printf %s "$4" | sed '{fault}')" """)
    found = compare(
        small(), frameworks=["numpy"], steps=20, out=tmp_path / "c", interpreters={"numpy": faulty}
    )
    first = found.rows[1].first_difference
    assert first is not None
    assert (first.quantity, first.step) == (quantity, step)
    assert found.rows[1].verdict("loss").step == (0 if quantity == "initial parameters" else 1)
    assert found.exit_code == 1
    assert f"at step {step}: {quantity}" in found.verdict
    assert len(processes) == 2


@pytest.mark.usefixtures("without_page")
def test_runs_that_stand_still_are_not_a_comparison(tmp_path: Path) -> None:
    """Batches alone make the loss jump by more than a half; the weights do not move."""
    spec = small(lr=1e-12)
    found = compare(spec, frameworks=["numpy"], steps=20, out=tmp_path / "c")
    losses = found.oracle.curve.loss
    assert losses.max() > 1.5 * losses.min()
    assert all(row.agree for row in found.rows)
    assert not found.agree
    assert found.exit_code == 1
    assert found.verdict == "not a comparison: the loss did not move"


def test_runs_that_diverge_are_judged(tmp_path: Path) -> None:
    """float32 overflows long before float64, and that is where they part."""
    found = compare(small(lr=1e3), frameworks=["numpy"], steps=40, out=tmp_path / "c")
    assert found.rows[1].status == "diverged"
    assert found.rows[1].first_difference is not None
    assert not found.agree
    json.dumps(found.to_dict(), allow_nan=False)


CRASH = "echo 'terminate called: out of luck' >&2; exit 134"
HANG = "exec sleep 600"
KILLED = "kill -9 $$"
MISSING = """exec $PYTHON -P -c "
import importlib.util as u, runpy, sys
real = u.find_spec
u.find_spec = lambda name, *rest: None if name == 'jax' else real(name, *rest)
sys.argv = ['worker', sys.argv[-1]]
runpy.run_module('lockstep.training.run_worker', run_name='__main__')
" "$@"
"""


@pytest.fixture
def short_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreters that misbehave get a second, all others what they need."""

    def limited(folder: Path, spec: ls.RunSpec, launch: Launch, *rest: Any, **more: Any) -> Any:
        seconds = launch.timeout if launch.python == sys.executable else 1.0
        return follow(folder, spec, replace(launch, timeout=seconds), *rest, **more)

    monkeypatch.setattr("lockstep.training.in_processes.follow", limited)


def judged_beside(jax: str, torch: str, folder: Path, interpreter: Any) -> Comparison:
    return compare(
        small(),
        frameworks=["jax", "torch", "numpy"],
        steps=10,
        out=folder,
        interpreters={"jax": interpreter(jax), "torch": interpreter(torch)},
    )


def check_spoilt(row: Row, status: str, said: str) -> None:
    assert (row.status, row.verdicts, row.agree) == (status, (), False)
    assert said in row.problem


def test_a_framework_that_is_missing_or_crashes_spoils_its_own_row_only(
    tmp_path: Path, interpreter: Any, processes: list, capsys: pytest.CaptureFixture[str]
) -> None:
    found = judged_beside(MISSING, CRASH, tmp_path / "c", interpreter)
    jax, torch, numpy = found.others
    check_spoilt(jax, "missing", "pip install 'lockstep-train[jax]'")
    check_spoilt(torch, "crashed", "exit code 134")
    assert torch.log == ("terminate called: out of luck",)
    assert (numpy.status, numpy.agree, found.agree) == ("completed", True, False)
    assert found.verdict == "jax is missing; torch crashed"
    found.show()
    shown = capsys.readouterr().out
    assert "torch crashed: ended with exit code 134" in shown
    assert "not judged" in shown
    assert len(processes) == 4


@pytest.mark.usefixtures("short_of_time", "without_page")
def test_a_framework_that_hangs_or_is_killed_spoils_its_own_row_only(
    tmp_path: Path, interpreter: Any, processes: list
) -> None:
    found = judged_beside(HANG, KILLED, tmp_path / "c", interpreter)
    jax, torch, numpy = found.others
    check_spoilt(jax, "timed out", "was not done after 1 s")
    check_spoilt(torch, "crashed", "SIGKILL")
    assert (numpy.status, numpy.agree, found.agree) == ("completed", True, False)
    assert len(processes) == 4


def net(ops: Any, w: Any, x: Any) -> Any:
    return ops.tanh(x @ w["w1"]) @ w["w2"]


@pytest.mark.usefixtures("without_page")
def test_a_persons_own_model_is_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    weights = {"w1": rng.normal(size=(3, 4)), "w2": rng.normal(size=(4, 1))}
    mine = ls.own(net, x, np.sin(x).sum(axis=1), weights=weights)
    found = compare(
        mine.run(lr=0.1, batch_size=8, epochs=3), mine, frameworks=["numpy"], out=tmp_path / "c"
    )
    assert found.agree
    assert found.num_steps == 30


def test_a_model_without_a_file_is_refused(tmp_path: Path) -> None:
    mine = ls.own(
        lambda ops, w, x: x @ w["w"], np.eye(4), np.arange(4.0), weights={"w": np.zeros((4, 1))}
    )
    with pytest.raises(InputError, match="no file"):
        compare(mine.run(batch_size=2), mine, frameworks=["numpy"], out=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Did you mean 'torch'"):
        compare(small(), frameworks=["pytorch"], out=tmp_path / "c")
    with pytest.raises(InputError, match="the oracle itself"):
        compare(small(precision="float64"), frameworks=["numpy"], out=tmp_path / "c")
    with pytest.raises(InputError, match="steps = 0"):
        compare(small(), frameworks=["numpy"], steps=0, out=tmp_path / "c")
    with pytest.raises(LockstepError, match="batch_size"):
        compare(small(batch_size=5000), frameworks=["numpy"], out=tmp_path / "d")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep")
    with pytest.raises(RunDirectoryError, match="not empty"):
        compare(small(), frameworks=["numpy"], out=tmp_path / "full")


def test_the_same_comparison_twice_gets_two_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lockstep.comparison.compare import _folder

    monkeypatch.chdir(tmp_path)
    spec = small(name="a name")
    first, second = _folder(spec, None), _folder(spec, None)
    assert first != second
    assert {first.parent, second.parent} == {Path("reports")}
    assert second.name == f"{first.name}-2"
