"""An interrupted and resumed run equals an uninterrupted one to the last bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.spec.parts import OPTIMIZERS
from lockstep.training import Result

from .running import (
    PATHS,
    after_epoch,
    assert_learned,
    assert_same_run,
    assert_whole_log,
    at_step,
    small,
)

COMPILED = ("jax", "jax-concise")  # each part of a run is compiled anew: fewer cases
OPTIMIZER_CASES = [
    *(
        (path, kind)
        for path in PATHS
        if path not in COMPILED
        for kind in OPTIMIZERS
        if (path, kind) != ("torch-concise", "sgld")
    ),
    *(("jax", kind) for kind in ("rmsprop", "adadelta", "adamw", "sgld")),
    *(("jax-concise", kind) for kind in ("sgd", "adagrad", "adam")),  # the others are in RECIPES
]

# every recipe in every path (torch.nn.GRU cannot reset before the product), the optimizers in turn
RECIPES = [
    ("lenet", "numpy", "adam"),
    ("lenet", "torch", "nesterov"),
    ("lenet", "torch-plain", "momentum"),
    ("lenet", "torch-concise", "adam"),
    ("lenet", "jax", "momentum"),
    ("lenet", "jax-concise", "rmsprop"),
    ("lenet-avg", "torch", "adagrad"),
    ("softmax", "numpy", "adadelta"),
    ("softmax", "torch-concise", "sgd"),
    ("mlp", "torch", "adamw"),
    ("mlp", "jax-concise", "nesterov"),
    ("rnn", "numpy", "rmsprop"),
    ("rnn", "torch", "adam"),
    ("rnn", "torch-concise", "adagrad"),
    ("rnn", "jax", "nesterov"),
    ("rnn", "jax-concise", "adamw"),
    ("gru-before", "numpy", "sgd"),
    ("gru-before", "torch", "adadelta"),
    ("gru-before", "torch-plain", "adamw"),
    ("gru-before", "jax", "adam"),
    ("gru-before", "jax-concise", "momentum"),
    ("gru-after", "numpy", "momentum"),
    ("gru-after", "torch", "sgd"),
    ("gru-after", "torch-plain", "rmsprop"),
    ("gru-after", "torch-concise", "momentum"),
    ("gru-after", "jax", "adagrad"),
    ("gru-after", "jax-concise", "adadelta"),
    ("gru-random", "numpy", "adam"),
    ("gru-random", "torch", "momentum"),
    ("gru-random", "jax", "sgd"),
    ("recall", "numpy", "adam"),
    ("recall", "torch", "momentum"),
    ("recall", "jax", "adam"),
    ("mlp", "jax", "sgld"),
    ("gru-after", "torch", "sgld"),
]


def interrupted(spec: ls.RunSpec, folder: Path) -> Result:
    """The run in three parts: stopped in mid-epoch, then right after an epoch, cut differently."""
    first = ls.train(spec, out=folder, callbacks=[at_step(2)], event_steps=2)
    assert first.status == "stopped"
    assert len(first.history) == 2
    second = ls.resume(folder, callbacks=[after_epoch(1)], event_steps=1)
    assert second.status == "stopped"
    return ls.resume(folder, event_steps=3)


def check(spec: ls.RunSpec, folder: Path) -> None:
    whole = ls.train(spec)
    assert_learned(whole)
    parts = interrupted(spec, folder)
    assert_same_run(whole, parts)
    assert_whole_log(folder, len(whole.history))


@pytest.mark.parametrize(("path", "optimizer"), OPTIMIZER_CASES)
def test_every_optimizer_in_every_path(path: str, optimizer: str, tmp_path: Path) -> None:
    check(small("airfoil", path, optimizer), tmp_path / "run")


@pytest.mark.parametrize(("task", "path", "optimizer"), RECIPES)
def test_every_recipe(task: str, path: str, optimizer: str, tmp_path: Path) -> None:
    check(small(task, path, optimizer), tmp_path / "run")


@pytest.mark.parametrize("path", ["numpy", "torch", "torch-concise", "jax"])
def test_float64_with_decay_and_clipping(path: str, tmp_path: Path) -> None:
    spec = small("airfoil", path, "adam", precision="float64")
    extras = {"weight_decay": 0.01, "clip_norm": 0.5, "clip_value": 0.4}
    check(replace(spec, optimizer=replace(spec.optimizer, **extras)), tmp_path / "run")


@pytest.mark.parametrize("path", ["numpy", "torch", "torch-concise", "jax"])
@pytest.mark.parametrize("task", ["airfoil", "gru-after"])
def test_stopped_at_every_step(task: str, path: str, tmp_path: Path) -> None:
    """A run of single steps, each by another call of resume, the ends of epochs included."""
    spec = replace(small(task, path, "momentum"), epochs=2)
    if path in COMPILED:
        spec = replace(spec, max_steps=4)
    whole = ls.train(spec)
    result = ls.train(spec, out=tmp_path / "run", callbacks=[at_step(1)], event_steps=1)
    for step in range(2, len(whole.history) + 1):
        assert result.status == "stopped"
        result = ls.resume(tmp_path / "run", callbacks=[at_step(step)], event_steps=1)
    result = ls.resume(tmp_path / "run")
    assert_same_run(whole, result)
    assert_whole_log(tmp_path / "run", len(whole.history))


CUTS = [
    *(("airfoil", path) for path in PATHS),
    *(("gru-after", path) for path in PATHS),
    *(("lenet", path) for path in ("torch", "torch-concise")),
]


@pytest.mark.parametrize(("task", "path"), CUTS)
def test_how_a_run_is_cut_into_calls_changes_no_bit(task: str, path: str) -> None:
    spec = replace(small(task, path, "sgd"), epochs=2)
    cuts = (0, 1, 3) if path in COMPILED else (0, 1, 2, 3, 5)
    whole, *others = [ls.train(spec, event_steps=cut) for cut in cuts]
    for other in others:
        assert_same_run(whole, other)


@pytest.mark.parametrize("path", PATHS)
def test_the_recipe_of_many_small_steps_may_be_cut_anywhere(path: str) -> None:
    """airfoil, b = 10: the batches of a call lie side by side in memory, wherever it was cut."""
    spec = ls.recipes.airfoil_linear(**PATHS[path])
    whole = ls.train(spec, event_steps=150)
    for cut in (7, 1) if path != "jax" else (7,):
        assert_same_run(whole, ls.train(spec, event_steps=cut))


@pytest.mark.parametrize("every", [1, 3, 100])
def test_checkpoints_at_multiples(every: int, tmp_path: Path) -> None:
    spec = replace(small("airfoil", "torch", "adam"), checkpoint_steps=every)
    whole = ls.train(replace(spec, checkpoint_steps=0))
    parts = interrupted(spec, tmp_path / "run")
    assert_same_run(whole, parts)


@pytest.mark.parametrize("steps", [9, 14])
def test_a_run_cut_short_by_max_steps(steps: int, tmp_path: Path) -> None:
    """7 steps make an epoch: one limit lies within an epoch, the other at its end."""
    spec = replace(small("airfoil"), max_steps=steps)
    whole = ls.train(spec)
    assert len(whole.history) == steps
    ls.train(spec, out=tmp_path / "run", callbacks=[at_step(5)], event_steps=5)
    ls.resume(tmp_path / "run", callbacks=[at_step(steps)], event_steps=1)
    assert_same_run(whole, ls.resume(tmp_path / "run"))


@pytest.mark.parametrize("first", [{"max_steps": 9}, {"epochs": 1}])
def test_a_completed_run_goes_on_for_longer(first: dict[str, int], tmp_path: Path) -> None:
    """More epochs, or a higher limit in the middle of an epoch, as if it had been so from the
    first; the end of the epoch cut short is recorded anew."""
    spec = small("airfoil", "torch", "adam")
    ls.train(replace(spec, **first), out=tmp_path / "run")
    assert_same_run(ls.train(spec), ls.resume(tmp_path / "run", spec=spec))


def test_resuming_a_completed_run_changes_nothing(tmp_path: Path) -> None:
    whole = ls.train(small("gru-after", "torch", "adam"), out=tmp_path / "run")
    assert_same_run(whole, ls.resume(tmp_path / "run"))


def test_a_start_of_ones_own_survives_a_kill_before_the_first_checkpoint(tmp_path: Path) -> None:
    spec = small("airfoil", "numpy", "momentum")
    start = ls.train(replace(spec, seed=5)).snapshot
    whole = ls.train(spec, start=start)

    class Killed(Exception):
        pass

    def killed(event: object, training: object) -> None:
        if training.step == 3:  # type: ignore[attr-defined]
            raise Killed

    with pytest.raises(Killed):
        ls.train(spec, out=tmp_path / "run", start=start, callbacks=[killed], event_steps=1)
    assert_same_run(whole, ls.resume(tmp_path / "run"))


@pytest.mark.parametrize("path", ["jax", "jax-concise"])
@pytest.mark.parametrize("optimizer", ["adam", "adadelta"])
def test_float32_does_not_depend_on_what_ran_before(path: str, optimizer: str) -> None:
    """A run in float64 allows JAX float64 for the whole process, and so for runs that follow."""
    jax = pytest.importorskip("jax", reason="needs jax")
    spec, before = small("airfoil", path, optimizer), jax.config.jax_enable_x64
    try:
        jax.config.update("jax_enable_x64", False)
        alone = ls.train(spec)
        jax.config.update("jax_enable_x64", True)
        after = ls.train(spec)
    finally:
        jax.config.update("jax_enable_x64", before)
    assert_same_run(alone, after)
