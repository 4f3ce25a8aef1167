"""Fields by dotted name, with values as a command line gives them: text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockstep import recipes
from lockstep.errors import InputError
from lockstep.schedules import constant, cosine, factor, multi_factor, plateau
from lockstep.spec import GRU, MLP, RNN, SGD, Adam, Momentum, RunSpec, TimeMachine


def test_text_is_read_as_the_type_of_the_field() -> None:
    spec = recipes.timemachine_gru().with_fields(
        {
            "batch_size": "8",
            "fused": "no",
            "evaluate": "train,test",
            "model.num_hiddens": "64",
            "optimizer.clip_norm": "2",
            "data.sampling": "random",
            "schedule": "0.5",
        }
    )
    assert spec == replace(
        recipes.timemachine_gru(),
        batch_size=8,
        fused=False,
        evaluate=("train", "test"),
        model=GRU(num_hiddens=64),
        optimizer=SGD(clip_norm=2.0),
        data=TimeMachine(sampling="random"),
        schedule=constant(0.5),
    )


def test_no_change_gives_the_same_spec() -> None:
    assert recipes.fashion_lenet().with_fields({}) == recipes.fashion_lenet()


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("Yes", True), ("1", True), ("false", False), ("NO", False), ("0", False)],
)
def test_words_for_true_and_false(text: str, value: bool) -> None:
    spec = recipes.airfoil_linear().with_fields({"data.drop_last": text, "fused": text})
    assert (spec.data.drop_last, spec.fused) == (value, value)


def test_lists_of_sizes() -> None:
    spec = recipes.fashion_mlp()
    assert spec.with_fields({"model.hiddens": "64,32"}).model == MLP((64, 32))
    assert spec.with_fields({"model.hiddens": [64, "32"]}).model == MLP((64, 32))
    assert spec.with_fields({"model.hiddens": "64"}).model == MLP((64,))
    assert spec.with_fields({"model.hiddens": ""}).model == MLP(())


def test_a_kind_by_its_name_alone_has_its_own_defaults() -> None:
    spec = recipes.timemachine_gru().with_fields({"model": "rnn", "optimizer": "adam"})
    assert spec.model == RNN()
    assert spec.optimizer == Adam()


def test_parts_may_be_given_themselves() -> None:
    spec = recipes.timemachine_gru().with_fields({"model": RNN(8), "schedule": cosine(1, steps=5)})
    assert spec.model == RNN(8)
    assert spec.schedule == cosine(1.0, steps=5)


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_changes_does_not_matter(order: int) -> None:
    changes = {
        "model.kind": "rnn",
        "model.num_hiddens": "64",
        "optimizer": "momentum",
        "optimizer.momentum": "0.5",
        "schedule": "cosine(0.3, steps=20)",
        "schedule.steps": "10",
    }
    spec = recipes.timemachine_gru().with_fields(dict(list(changes.items())[::order]))
    assert spec.model == RNN(64)
    assert spec.optimizer == Momentum(momentum=0.5)
    assert spec.schedule == cosine(0.3, steps=10)


# --- schedules ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "changes", "expected"),
    [
        (constant(0.3), {"schedule.base": "0.1"}, constant(0.1)),
        (constant(0.3), {"schedule.base": 0.1}, constant(0.1)),
        (cosine(0.3, steps=20), {"schedule.steps": "15"}, cosine(0.3, steps=15)),
        (
            multi_factor(0.5, factor=0.5, milestones=[15, 30]),
            {"schedule.milestones": "10,20"},
            multi_factor(0.5, factor=0.5, milestones=[10, 20]),
        ),
        (
            cosine(0.3, steps=15).warmup(5),
            {"schedule.schedule.base": "0.2", "schedule.steps": "3"},
            cosine(0.2, steps=15).warmup(3),
        ),
        (
            constant(0.3),
            {"schedule.kind": "factor", "schedule.base": "2", "schedule.factor": "0.9"},
            factor(2, factor=0.9),
        ),
        (cosine(0.3, steps=15).warmup(5), {"schedule.schedule": "0.2"}, constant(0.2).warmup(5)),
        (
            constant(0.3).warmup(5),
            {"schedule.mode": "constant", "schedule.start": "0.01"},
            constant(0.3).warmup(5, start=0.01, mode="constant"),
        ),
    ],
)
def test_fields_of_a_schedule(start: object, changes: dict[str, object], expected: object) -> None:
    spec = recipes.fashion_lenet(schedule=start).with_fields(changes)
    assert spec.schedule == expected


def test_lr_changes_the_base_of_a_schedule_or_of_the_one_inside() -> None:
    spec = recipes.fashion_lenet(schedule=cosine(0.3, final=0.01, steps=15).warmup(5))
    assert spec.with_lr(0.2).schedule == cosine(0.2, final=0.01, steps=15).warmup(5)
    assert recipes.fashion_lenet(schedule=plateau(0.1), lr=0.2).schedule == plateau(0.2)


def test_lr_does_not_apply_to_a_schedule_without_a_base() -> None:
    joined = "join([constant(0.1), constant(0.2)], boundaries=[5])"
    with pytest.raises(InputError, match=r"lr = 0\.3: .*'join'.*--schedule"):
        recipes.fashion_lenet(schedule=joined).with_lr(0.3)


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"batchsize": 3}, ["batchsize", "batch_size"]),
        ({"model.num_hidden": 3}, ["num_hidden", "num_hiddens", "gru"]),
        ({"model.reset": "behind"}, ["model.reset", "behind", "before"]),
        ({"models.num_hiddens": 3}, ["models.num_hiddens", "model.num_hiddens"]),
        ({"batch_size.x": 3}, ["batch_size.x"]),
        ({"model.num_hiddens.x": 3}, ["num_hiddens.x"]),
        ({"schedule.bass": 3}, ["bass", "base"]),
        ({"schedule.base": "much"}, ["schedule.base", "much", "number"]),
        ({"schedule.base.x": "1"}, ["base.x"]),
        ({"schedule.kind": "cosin"}, ["cosin", "cosine"]),
        ({"batch_size": "ten"}, ["batch_size", "ten", "whole number"]),
        ({"batch_size": "1.5"}, ["batch_size", "1.5", "whole number"]),
        ({"fused": "maybe"}, ["fused", "maybe", "true or false"]),
        ({"optimizer.clip_norm": "big"}, ["optimizer.clip_norm", "big", "number"]),
        ({"model.kind": "grue"}, ["model.kind", "grue", "gru"]),
        ({"optimizer": "adams"}, ["optimizer.kind", "adams", "adam"]),
        ({"": 3}, ["field", "''"]),
        ({"model": 3, "model.num_hiddens": 4}, ["model.num_hiddens"]),
        ({"model.data.x": 3}, ["model.data.x"]),
    ],
)
def test_mistakes_name_field_value_and_remedy(changes: dict[str, object], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        recipes.timemachine_gru().with_fields(changes)
    for word in words:
        assert word in str(caught.value)


def test_a_field_of_a_kind_without_fields() -> None:
    with pytest.raises(InputError, match=r"model\.depth = 3: linear has no such field"):
        recipes.airfoil_linear().with_fields({"model.depth": 3})


def test_every_field_of_every_recipe_can_be_set_to_its_own_text() -> None:
    """Whatever `lockstep recipes NAME` prints can be given back by name."""
    from lockstep.spec.convert import flatten

    for name in recipes.RECIPES:
        spec = recipes.get(name)
        texts = {
            field: ",".join(map(str, value)) if isinstance(value, list) else str(value)
            for field, value in flatten(spec.to_dict()).items()
        }
        assert spec.with_fields(texts) == spec
        assert isinstance(spec.with_fields(texts), RunSpec)
