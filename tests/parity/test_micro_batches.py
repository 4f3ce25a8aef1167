"""A batch in parts walks the path of the whole one: in every framework and style, with a carried
state, weights of examples, a person's own module, and several devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lockstep as ls
from lockstep.errors import InputError
from lockstep.frameworks.micro_batches import cut
from lockstep.spec import RunSpec
from lockstep.training import Result

from .running import recipe, walk
from .several import IN_ONE_PROCESS, carry_out
from .test_own import FIELDS, HERE, MODULES, PAIRS, TAGS, X, pairs, tagging_module, tags

FLOAT64 = 1e-12  # the tolerance of docs/conventions.md: only the order of sums differs
FLOAT32 = 1e-4  # of a gradient norm after six updates, each of which rounds
ONLY_FLOAT32 = {("mindspore", "gru", "concise")}  # its layer takes no float64 state
PARTS = 3

# batches do not divide by three, and the last of an epoch has another size
FIVE: dict[str, Any] = {"precision": "float64", "max_steps": 6, "data__source": "generated"}
MODELS = {
    "mlp": recipe(
        "airfoil-linear", model="mlp", model__hiddens=(8,), batch_size=7, data__max_examples=25,
        optimizer="momentum", lr=0.02, precision="float64", max_steps=6, epochs=2,
    ),
    "lenet": recipe(
        "fashion-lenet", batch_size=8, data__max_examples=16, optimizer="adam", lr=0.01, epochs=3,
        **FIVE,
    ),
    "gru": recipe(
        "timemachine-gru", model__num_hiddens=8, model__reset="after", batch_size=5,
        data__window=6, data__max_tokens=250, **FIVE,
    ),
}  # fmt: skip


def assert_same_path(found: Result, whole: Result, rtol: float = FLOAT64) -> None:
    for name in ("loss", "grad_norm"):
        np.testing.assert_allclose(found.history[:, name], whole.history[:, name], rtol=rtol)
    for group in ("weights", "carry"):
        for name, value in getattr(whole.snapshot, group).items():
            limit = 10 * rtol * max(float(abs(value).max()), 1e-8)  # sums near zero lose digits
            other = getattr(found.snapshot, group)[name]
            np.testing.assert_allclose(other, value, rtol=0, atol=limit, err_msg=name)
    assert np.ptp(whole.history[:, "loss"]) > 1e-3


@given(st.integers(1, 5000), st.integers(1, 300))
def test_how_a_batch_is_cut(rows: int, count: int) -> None:
    """Every row in one part, in order; sizes differ by one at most, and no part is empty."""
    parts = cut(rows, count)
    assert len(parts) == min(rows, count)
    assert [i for part in parts for i in range(rows)[part]] == list(range(rows))
    sizes = {part.stop - part.start for part in parts}
    assert min(sizes) > 0
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("framework", HERE)
@pytest.mark.parametrize("name", MODELS)
def test_the_path_of_the_whole_batch(framework: str, name: str) -> None:
    spec = MODELS[name].with_fields({"framework": framework})
    # layers of a framework's own compile for long, and those of lenet are as those of mlp here
    several = framework != "numpy" and name != "lenet"
    for style in ["scratch", "concise"] if several else ["scratch"]:
        single = (framework, name, style) in ONLY_FLOAT32
        fields = {"style": style, "precision": "float32" if single else "float64"}
        whole = walk(spec, **fields)
        found = walk(spec, **fields, micro_batches=PARTS)
        assert_same_path(found, whole, FLOAT32 if single else FLOAT64)
        assert f"each batch in {PARTS} parts" in found.history.notes
        assert not any("parts" in note for note in whole.history.notes)


@pytest.mark.parametrize("framework", IN_ONE_PROCESS)
def test_on_two_devices(framework: str) -> None:
    """Each cuts its share: of batches of 7 and 4, shares of 4, 3 and 2, 2."""
    fields = {"framework": framework, "devices": 2}
    specs = [MODELS[name].with_fields(fields) for name in ("mlp", "gru")]
    cuts = [spec.with_fields({"micro_batches": PARTS}) for spec in specs]
    outcomes = carry_out(*specs, *cuts)
    for whole, found in zip(outcomes[:2], outcomes[2:], strict=True):
        for name in ("loss", "grad_norm"):
            np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=FLOAT64)
        assert found.arrays.keys() == whole.arrays.keys()
        for name, value in whole.arrays.items():
            limit = 10 * FLOAT64 * max(float(abs(value).max()), 1e-8)
            np.testing.assert_allclose(found.arrays[name], value, rtol=0, atol=limit)


def test_what_several_devices_cut_is_said() -> None:
    """A device cuts its share, and no finer than its rows: 4 of a batch of 7."""
    spec = MODELS["mlp"].with_fields({"framework": "numpy", "devices": 2, "max_steps": 1})
    for asked, cuts in ((3, 3), (7, 4)):
        notes = ls.train(spec.with_fields({"micro_batches": asked})).history.notes
        assert f"each device's share of a batch cut into {cuts}" in notes


@pytest.mark.skipif("torch" not in HERE, reason="tested where torch is")
@pytest.mark.parametrize("style", ["scratch", "concise"])
def test_in_two_processes(style: str) -> None:
    """With a state that is carried: 5 sequences, shares of 3 and 2."""
    spec = MODELS["gru"].with_fields({"framework": "torch", "style": style})
    assert_same_path(walk(spec, devices=2, micro_batches=2), walk(spec))


@pytest.mark.parametrize("framework", HERE)
def test_weights_of_examples_and_labels(framework: str) -> None:
    mine = tags(class_weights=[1.0, 2.0, 0.5, 3.0], example_weights=np.linspace(0, 2, 23))
    fields = FIELDS | {"framework": framework}
    whole, found = (ls.train(mine.run(**fields, micro_batches=parts), mine) for parts in (1, PARTS))
    assert_same_path(found, whole)
    assert found.metrics == pytest.approx(whole.metrics, rel=1e-9)
    squares = ls.own(pairs, X, PAIRS, weights={"w": np.full((4, 4), 0.1)})
    whole, found = (
        ls.train(squares.run(**fields | {"evaluate": ()}, micro_batches=k), squares)
        for k in (1, PARTS)
    )
    assert_same_path(found, whole)


@pytest.mark.parametrize("framework", MODULES)
def test_a_persons_own_module(framework: str) -> None:
    whole, found = (
        ls.train(mine.run(**FIELDS, framework=framework, micro_batches=parts), mine)
        for parts in (1, PARTS)
        for mine in [tags(tagging_module(framework), TAGS)]
    )
    assert_same_path(found, whole)


def _normalised(framework: str) -> Any:
    """Each has layers of 4 inputs and 1 output, with statistics of a batch between them."""
    if framework == "torch":
        from torch import nn

        return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    if framework == "paddle":
        from lockstep.frameworks.paddle.startup import paddle

        nn = paddle.nn
        return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1D(3), nn.Linear(3, 1))
    if framework == "mindspore":
        from mindspore import nn

        return nn.SequentialCell(nn.Dense(4, 3), nn.BatchNorm1d(3), nn.Dense(3, 1))
    from mxnet.gluon import nn

    block = nn.HybridSequential()
    block.add(nn.Dense(3, in_units=4), nn.BatchNorm(in_channels=3), nn.Dense(1, in_units=3))
    block.initialize()
    return block


@pytest.mark.parametrize(
    "framework", [name for name in MODULES if name in ("torch", "paddle", "mindspore", "mxnet")]
)
def test_statistics_of_a_whole_batch_are_refused_by_name(framework: str) -> None:
    mine = ls.own(_normalised(framework), X, X[:, 0])
    spec = mine.run(batch_size=6, framework=framework, micro_batches=2)
    with pytest.raises(InputError, match=r"micro_batches = 2: _?BatchNorm.* whole batch"):
        ls.train(spec, mine)


def test_more_parts_than_examples_and_the_hash_without() -> None:
    spec = MODELS["mlp"]
    with pytest.raises(InputError, match="micro_batches = 8: is more than a batch has"):
        spec.with_fields({"micro_batches": 8})
    assert RunSpec.from_dict({**spec.to_dict(), "micro_batches": 1}).hash == spec.hash
    assert spec.with_fields({"micro_batches": 2}).hash != spec.hash


@pytest.mark.skipif("torch" not in HERE, reason="tested where torch is")
def test_the_fused_path_that_it_goes_without_is_named() -> None:
    spec = recipe("airfoil-linear", framework="torch", max_steps=4, precision="float64")
    assert "fused linear sgd" in walk(spec).history.notes
    notes = walk(spec, micro_batches=2).history.notes
    assert "no fused linear sgd: it takes whole batches" in notes
