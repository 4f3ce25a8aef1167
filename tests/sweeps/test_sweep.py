"""Every setting of a sweep has the numbers of its run alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError, LockstepError
from lockstep.sweeps import Grid, Sweep
from lockstep.sweeps.command import train_command
from lockstep.sweeps.group import Group

TOLERANCE = 1e-6  # float32 has 6e-8; mapped over settings, XLA may order a sum in another way


def equals_single_runs(found: Sweep) -> None:
    for row in found.rows:
        alone = ls.train(row.spec)
        assert row.status == alone.status
        losses = alone.history[:, "loss"]
        np.testing.assert_allclose(row.losses, losses, rtol=TOLERANCE)
        assert row.metrics.keys() == alone.metrics.keys()
        for name, value in alone.metrics.items():
            assert row.metrics[name] == pytest.approx(value, rel=TOLERANCE)
        if row.status == "completed":
            assert losses[-1] != losses[0]


def test_rates_seeds_and_batch_sizes_in_jax() -> None:
    run = ls.recipes.airfoil_linear(framework="jax", epochs=2, max_steps=200)
    found = ls.sweep(run, lr=[0.01, 0.05, 1e9], seed=range(2), batch_size=[10, 64])
    assert len(found.rows) == 12
    assert [row.status for row in found.rows].count("diverged") == 4
    equals_single_runs(found)
    assert found.best is not None
    completed = [row for row in found.rows if row.status == "completed"]
    assert found.best.metrics["final_train_loss"] == min(
        row.metrics["final_train_loss"] for row in completed
    )


def test_schedules_in_jax_with_a_carried_state() -> None:
    run = ls.recipes.timemachine_gru(framework="jax", epochs=2, seed=1).with_fields(
        {"model.num_hiddens": 16, "data.max_tokens": 3000, "data.source": "generated"}
    )
    schedules = [ls.constant(1.0), ls.cosine(1.0, steps=4), ls.plateau(0.5, patience=1)]
    found = ls.sweep(run, schedule=schedules)
    assert any("together" in n or "compiled loop" in n for n in found.notes)
    equals_single_runs(found)


def test_a_classifier_with_momentum_and_evaluations() -> None:
    run = ls.recipes.fashion_softmax(framework="jax", epochs=2, optimizer="momentum").with_fields(
        {"data.source": "generated", "data.max_examples": 500, "batch_size": 64}
    )
    found = ls.sweep(run, lr=[0.01, 0.1], seed=[0, 3])  # generated data differs by the seed
    assert found.metric == "test_accuracy"
    equals_single_runs(found)


def test_settings_in_processes(tmp_path: Path) -> None:
    run = ls.recipes.airfoil_linear(framework="numpy", max_steps=60)
    found = ls.sweep(run, lr=[0.01, 1e9], out=tmp_path / "s", processes=2)
    equals_single_runs(found)
    assert [row.status for row in found.rows] == ["completed", "diverged"]
    assert found.best is found.rows[0]
    again = ls.sweep(run, lr=[0.01, 1e9], out=tmp_path / "s")
    assert any("2 of 2 settings were done before" in note for note in again.notes)
    np.testing.assert_array_equal(again.rows[0].losses, found.rows[0].losses)
    assert again.rows[1].status == "diverged"


def test_an_interrupted_group_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ls.recipes.airfoil_linear(framework="jax", epochs=3, optimizer="adam")
    axes = {"lr": [0.01, 0.05], "seed": [0, 1]}
    whole = ls.sweep(run, **axes)
    call = Group._call

    def stops(group: Group, rows: np.ndarray, epoch: int) -> int:
        group.stopped = group.step >= 150
        return call(group, rows[:7] if group.stopped else rows, epoch)  # in the midst of an epoch

    monkeypatch.setattr(Group, "_call", stops)
    with pytest.raises(KeyboardInterrupt, match="0 of 4 settings"):
        ls.sweep(run, **axes, out=tmp_path / "s")
    monkeypatch.setattr(Group, "_call", call)
    found = ls.sweep(run, **axes, out=tmp_path / "s")
    assert "4 settings went on from step 157" in found.notes
    for one, other in zip(whole.rows, found.rows, strict=True):
        np.testing.assert_array_equal(one.losses, other.losses)
        assert one.metrics == other.metrics
    again = ls.sweep(run, **axes, out=tmp_path / "s")
    np.testing.assert_array_equal(again.rows[3].losses, found.rows[3].losses)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    run = ls.recipes.airfoil_linear(framework="jax", max_steps=20)
    ls.sweep(run, lr=[0.01], out=tmp_path / "s")
    with pytest.raises(LockstepError, match=r"another sweep \(seed: 0 there, 5 here\)"):
        ls.sweep(run.with_fields({"seed": 5}), lr=[0.01], out=tmp_path / "s")
    with pytest.raises(LockstepError, match=r"grid lr: 0\.01 there, 0\.01,0\.02 here"):
        ls.sweep(run, lr=[0.01, 0.02], out=tmp_path / "s")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("x")
    with pytest.raises(LockstepError, match=r"holds other files \(letter.txt\)"):
        ls.sweep(run, lr=[0.01], out=tmp_path / "other")
    ls.train(run, out=tmp_path / "run")
    with pytest.raises(LockstepError, match="holds a run"):
        ls.sweep(run, lr=[0.01], out=tmp_path / "run")


def test_many_runs_and_wrong_metrics_are_refused() -> None:
    run = ls.recipes.airfoil_linear(framework="jax")
    with pytest.raises(InputError, match="gives 1,001 runs"):
        ls.sweep(run, seed=range(1001))
    with pytest.raises(InputError, match="metric = 'speed'"):
        ls.sweep(run, lr=[0.1], metric="speed")
    with pytest.raises(InputError, match="must be a list"):
        ls.sweep(run, lr=0.1)  # type: ignore[arg-type]


def test_the_command_repeats_the_very_run() -> None:
    from lockstep.cli import build_parser
    from lockstep.cli.asked_run import spec_from
    from lockstep.cli.parsing import split_fields, with_hyphens

    grid = Grid(
        {
            "schedule": ("cosine(0.3, steps=20).warmup(5)", "plateau(0.1)"),
            "optimizer.kind": ("adam", "momentum"),
            "style": ("scratch", "concise"),
            "evaluate": ("test", "train,test"),
            "fused": (True, False),
            "data.order": ("shuffled", "in_order"),
        }
    )
    run = ls.recipes.fashion_lenet(framework="torch", seed=2)
    import shlex

    for _, spec in grid.specs(run):
        argv = shlex.split(train_command("fashion-lenet", spec))[1:]
        words, fields = split_fields(with_hyphens(argv))
        args, rest = build_parser().parse_known_args(words)
        args.rest = rest + fields
        assert spec_from(args) == spec


def test_noise_of_an_optimizer_is_that_of_the_single_run() -> None:
    """Langevin noise is drawn for one run: its settings are trained apart."""
    run = ls.recipes.airfoil_linear(framework="jax", max_steps=20)
    run = run.with_fields({"optimizer": {"kind": "sgld", "temperature": 0.01}})
    (row,) = ls.sweep(run, lr=[0.02]).rows
    alone = ls.train(run.with_lr(0.02))
    np.testing.assert_allclose(row.losses, alone.history[:, "loss"], rtol=1e-6)


def test_axes_in_a_table_are_refused_with_how_to_write_them() -> None:
    with pytest.raises(InputError, match=r"are axes.*ls\.sweep\(run, lr=\[0\.1, 0\.3\]\)"):
        ls.sweep(ls.recipes.airfoil_linear(), {"lr": [0.1, 0.3]})  # type: ignore[arg-type]
