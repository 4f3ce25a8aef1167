"""Tasks: batches from rows, evaluation that meets everything once, and what a snapshot lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lockstep import recipes
from lockstep.data.characters import WindowBatch
from lockstep.data.examples import example_batch
from lockstep.data.idx import image_batch
from lockstep.errors import InputError
from lockstep.frameworks import registry
from lockstep.ops import Snapshot
from lockstep.spec import Adam, Momentum, RunSpec, TimeMachine
from lockstep.task import Task, assemble, own


@pytest.fixture(params=registry.installed())
def ops(request: pytest.FixtureRequest) -> Any:
    return registry.get(request.param).kernels("float64")


def numpy_of(ops: Any, pair: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    return ops.to_numpy(pair[0]), ops.to_numpy(pair[1])


def test_windows_and_the_same_one_symbol_later(ops: Any) -> None:
    tokens = np.random.default_rng(0).integers(0, 28, size=40).astype(np.int32)
    rows = np.array([7, 0, 33], np.int32)
    data = {"tokens": ops.asarray(tokens)}
    x, y = numpy_of(ops, WindowBatch(5)(ops, data, ops.asarray(rows)))
    assert x.shape == y.shape == (5, 3)  # time first
    for column, row in enumerate(rows):
        np.testing.assert_array_equal(x[:, column], tokens[row : row + 5])
        np.testing.assert_array_equal(y[:, column], tokens[row + 1 : row + 6])


def test_images_become_numbers_from_0_to_1(ops: Any) -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(6, 28, 28)).astype(np.uint8)
    labels = np.arange(6, dtype=np.int32)
    data = {"x": ops.asarray(images), "y": ops.asarray(labels)}
    rows = np.array([4, 1], np.int32)
    x, y = numpy_of(ops, image_batch(ops, data, ops.asarray(rows)))
    assert x.dtype == np.float64
    # XLA multiplies by 1/255 where others divide: one rounding more
    np.testing.assert_allclose(x, images[[4, 1]].astype(np.float64) / 255, rtol=3e-16)
    np.testing.assert_array_equal(y, [4, 1])


def test_examples_are_taken_as_they_are(ops: Any) -> None:
    x, y = np.random.default_rng(0).normal(size=(6, 3)), np.arange(6.0).reshape(6, 1)
    data = {"x": ops.asarray(x), "y": ops.asarray(y)}
    got = numpy_of(ops, example_batch(ops, data, ops.asarray(np.array([5, 5, 0], np.int32))))
    np.testing.assert_array_equal(got[0], x[[5, 5, 0]])
    np.testing.assert_array_equal(got[1], [[5], [5], [0]])


# --- evaluation ---------------------------------------------------------------------------------


def generated(recipe: str, **fields: Any) -> RunSpec:
    return recipes.get(recipe).with_fields({"data.source": "generated", **fields})


@pytest.mark.parametrize("count", [1, 999, 1000, 1001, 2000, 2345])
def test_an_evaluation_meets_every_example_once(count: int) -> None:
    task = assemble(generated("airfoil-linear", **{"data.max_examples": count, "batch_size": 1}))
    blocks = task.evaluation_rows("train")
    assert np.concatenate([b.ravel() for b in blocks]).tolist() == list(range(count))
    assert task.count("train") == count


def test_the_windows_of_an_evaluation_meet_every_symbol_once() -> None:
    spec = generated("timemachine-rnn", **{"data.max_tokens": 106, "data.window": 7})
    task = assemble(replace(spec, batch_size=2))
    rows = np.concatenate([b.ravel() for b in task.evaluation_rows("train")])
    targets = np.concatenate([np.arange(row + 1, row + 8) for row in rows])
    assert targets.tolist() == list(range(1, 106))  # every symbol but the first has one before it
    assert task.count("train") == 105


# --- snapshots ----------------------------------------------------------------------------------


def test_what_a_snapshot_lacks_starts_at_zero() -> None:
    spec = generated("timemachine-gru", **{"model.num_hiddens": 4, "optimizer": "adam"})
    task = assemble(spec)
    weights = task.model.initial_weights(0)
    full = task.complete(Snapshot(weights), spec)
    assert set(full.slots) == {f"{s}/{n}" for s in ("mean", "mean_squares") for n in weights}
    assert all(full.slots[f"mean/{n}"].shape == weights[n].shape for n in weights)
    assert not any(value.any() for value in full.slots.values())
    assert full.carry["h"].shape == (32, 4)


def test_what_a_snapshot_has_is_kept() -> None:
    spec = generated("timemachine-gru", **{"model.num_hiddens": 4})
    spec = replace(spec, optimizer=Momentum())
    task = assemble(spec)
    weights = task.model.initial_weights(0)
    slots = {f"velocity/{n}": np.ones_like(w) for n, w in weights.items()}
    kept = task.complete(Snapshot(weights, slots, {"h": np.ones((32, 4))}), spec)
    assert all(value.all() for value in kept.slots.values())
    assert kept.carry["h"].all()


@pytest.mark.parametrize("framework", registry.installed())
def test_a_run_goes_on_under_another_optimizer(framework: str) -> None:
    """The slots of the old one are left behind, those of the new one start at zero."""
    spec = generated("airfoil-linear", framework=framework, optimizer="momentum")
    task = assemble(spec)
    program = registry.get(framework).compile(task, spec)
    rows = task.plan.epoch(0)[0][:3]
    state, _ = program.steps(program.load(program.initial()), rows, np.full(3, 0.05), 0)
    saved = program.dump(state)
    assert set(saved.slots) == {"velocity/w", "velocity/b"}

    other = replace(spec, optimizer=Adam())
    program = registry.get(framework).compile(task, other)
    state, log = program.steps(program.load(saved), rows, np.full(3, 0.05), 3)
    assert np.isfinite(program.fetch(log)["loss"]).all()
    assert set(program.dump(state).slots) == {
        f"{s}/{n}" for s in ("mean", "mean_squares") for n in ("w", "b")
    }


def test_state_carried_for_another_batch_size_is_refused() -> None:
    spec = generated("timemachine-gru", **{"model.num_hiddens": 4})
    task = assemble(spec)
    saved = Snapshot(task.model.initial_weights(0), {}, {"h": np.zeros((16, 4))})
    with pytest.raises(InputError, match=r"batch_size = 32: .*16.*Give 16"):
        task.complete(saved, spec)


def test_weights_of_another_model_are_refused() -> None:
    spec = generated("timemachine-gru", **{"model.num_hiddens": 4})
    task = assemble(spec)
    other = assemble(generated("timemachine-gru", **{"model.num_hiddens": 8}))
    with pytest.raises(InputError, match=r"w_x.*\(28, 24\).*\(28, 12\)"):
        task.complete(Snapshot(other.model.initial_weights(0)), spec)
    after = assemble(
        generated("timemachine-gru", **{"model.num_hiddens": 4, "model.reset": "after"})
    )
    with pytest.raises(InputError, match="b_h"):
        task.complete(Snapshot(after.model.initial_weights(0)), spec)


# --- assembling ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recipe", "fields", "message"),
    [
        ("airfoil-linear", {"batch_size": 1501}, r"batch_size = 1501: is larger than the data"),
        ("airfoil-linear", {"model": "gru"}, r"model\.kind = 'gru': needs text"),
        ("airfoil-linear", {"model": "lenet"}, r"needs images"),
        ("airfoil-linear", {"evaluate": ["test"]}, r"evaluate = 'test': .*airfoil.*train"),
        ("airfoil-linear", {"data": "own"}, r"data\.kind = 'own': needs the arrays"),
        ("airfoil-linear", {"model": "own"}, r"model\.kind = 'own'"),
        ("timemachine-gru", {"model": "mlp"}, r"model\.kind = 'mlp': needs examples"),
        ("timemachine-gru", {"data.window": 6000}, r"data\.window = 6000: is too long"),
        ("timemachine-gru", {"batch_size": 5000}, r"batch_size = 5000: needs more"),
        ("timemachine-rnn", {"evaluate": ["test"]}, r"evaluate = 'test': .*timemachine.*train"),
        ("fashion-lenet", {"batch_size": 99999}, r"batch_size = 99999: is larger than the data"),
        ("fashion-lenet", {"data.max_examples": 10, "batch_size": 11}, r"batch_size = 11"),
    ],
)
def test_runs_that_do_not_fit_their_data(recipe: str, fields: dict[str, Any], message: str) -> None:
    spec = recipes.get(recipe)
    source = {} if fields.get("data") else {"data.source": "generated"}
    with pytest.raises(InputError, match=message):
        assemble(spec.with_fields(source | fields))


def test_the_record_says_what_was_generated() -> None:
    assert assemble(generated("airfoil-linear")).facts["place"] == "generated"
    assert assemble(recipes.airfoil_linear()).facts["place"] != "generated"


def test_what_a_task_says_of_itself() -> None:
    text = assemble(generated("timemachine-gru"))
    assert text.classifies
    assert text.carries_state
    assert text.vocabulary is not None
    random = recipes.timemachine_gru(data=TimeMachine(source="generated", sampling="random"))
    assert not assemble(random).carries_state
    table = assemble(generated("airfoil-linear"))
    assert not table.classifies
    assert not table.carries_state


def test_generated_data_follows_the_seed() -> None:
    one, same, other = (assemble(generated("airfoil-linear", seed=s)) for s in (0, 0, 1))

    def y(task: Task) -> np.ndarray:
        return task.splits["train"]["y"]

    np.testing.assert_array_equal(y(one), y(same))
    assert not np.array_equal(y(one), y(other))


def test_own_arrays_need_a_split_to_be_evaluated() -> None:
    mine = own(
        lambda ops, w, x: x @ w["w"], np.eye(4), np.arange(4.0), weights={"w": np.ones((4, 1))}
    )
    spec = mine.run(batch_size=2, evaluate=("test",))
    with pytest.raises(InputError, match=r"evaluate = 'test'"):
        assemble(spec, mine)
