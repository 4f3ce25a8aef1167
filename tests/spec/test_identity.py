"""What names a run: its hash, its differences from another, and that it never changes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings

from lockstep import recipes
from lockstep.schedules import constant, cosine
from lockstep.spec import (
    GRU,
    MLP,
    AdamW,
    FashionMNIST,
    ImageFiles,
    Recall,
    RunSpec,
    Table,
    TextFile,
    TimeMachine,
    diff,
)
from lockstep.spec.parts import DATA, MODELS, OPTIMIZERS

from .strategies import specs

# a new value here means that every run made before is taken for another: only on purpose
PINNED = {
    "airfoil-linear": "d4b0cf276800",
    "fashion-lenet": "d8a4741a1f30",
    "fashion-softmax": "c02b494f6009",
    "fashion-mlp": "23524aafc3eb",
    "timemachine-rnn": "f87b31b40686",
    "timemachine-gru": "c16ce6a222c0",
    "recall-gru": "00df7f9d39cb",
    "table-linear": "0d5eca27f955",
    "table-mlp": "fd12d171510b",
    "table-softmax": "41c264c70dfc",
    "text-gru": "2d21cb999a4c",
    "text-rnn": "887bedddbb1c",
    "images-lenet": "acda77563757",
    "images-mlp": "7d78d5065753",
    "images-softmax": "573b6a3c6bc9",
}


def test_every_recipe_is_pinned() -> None:
    assert {name: recipes.get(name).hash for name in recipes.RECIPES} == PINNED


# --- changes ------------------------------------------------------------------------------------

_OTHER: dict[str, Any] = {
    "name": "other",
    "data": FashionMNIST(),
    "model": MLP(),
    "optimizer": AdamW(),
    "schedule": cosine(0.05, steps=3),
    "schedule_per": "epoch",
    "framework": "torch",
    "style": "concise",
    "precision": "float64",
    "fused": False,
    "evaluate": (),
    "watch": "validation_loss",
}


def other(name: str, value: Any) -> Any:
    """Another valid value of a field."""
    if name in _OTHER:
        return _OTHER[name]
    return value + 1


@pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(RunSpec)])
def test_any_changed_field_changes_the_hash_and_is_the_difference(name: str) -> None:
    spec = recipes.airfoil_linear(watch="train_loss")  # without it patience needs other data
    changed = dataclasses.replace(spec, **{name: other(name, getattr(spec, name))})
    assert changed.hash != spec.hash
    differences = diff(spec, changed)
    assert differences
    assert {field.split(".")[0] for field, _, _ in differences} == {name}


# fields with one value, and one that needs another beside it
ONE_VALUE = [*((cls, "source") for cls in (Recall, Table, TextFile, ImageFiles))]
ONE_VALUE.append((TextFile, "keep_case"))


def part_fields() -> list[tuple[str, Any, str]]:
    groups = {"data": DATA, "model": MODELS, "optimizer": OPTIMIZERS}
    return [
        (group, cls, item.name)
        for group, kinds in groups.items()
        for cls in kinds.values()
        for item in dataclasses.fields(cls)
        if (cls, item.name) not in ONE_VALUE
    ]


_OTHER_PART: dict[str, Any] = {
    "source": "generated",
    "order": "in_order",
    "loading": "one_by_one",
    "sampling": "random",
    "drop_last": True,
    "loss": "cross_entropy",
    "digest": "abc",
    "functions": ("mae=file.py:mae",),
    "reference": "net.py:net",
    "structure": "0123456789ab",
    "weights": "0123456789ab",
    "hiddens": (256, 1),
    "pooling": "avg",
    "reset": "after",
    "gate": "reset",
    "file": "/data/other.csv",
    "target": "price",
    "columns": ("1", "width"),
    "without": ("2",),
    "header": "no",
    "separator": "tab",
    "target_is": "class",
    "standardize": "none",
    "missing": "drop",
    "symbols": "all",
}


@pytest.mark.parametrize(
    ("group", "cls", "name"), part_fields(), ids=lambda v: getattr(v, "kind", v)
)
def test_any_changed_field_of_a_part_changes_the_hash(group: str, cls: Any, name: str) -> None:
    value = getattr(cls(), name)
    new = _OTHER_PART.get(name, value / 2 + 0.125 if isinstance(value, float) else None)
    new = value + 1 if new is None else new
    one = dataclasses.replace(recipes.airfoil_linear(), **{group: cls()})
    two = dataclasses.replace(one, **{group: dataclasses.replace(cls(), **{name: new})})
    assert one.hash != two.hash
    shown = [list(v) if isinstance(v, tuple) else v for v in (value, new)]
    assert diff(one, two) == [(f"{group}.{name}", *shown)]


def test_a_changed_field_of_the_schedule_changes_the_hash() -> None:
    one = recipes.fashion_lenet(schedule=cosine(0.3, final=0.01, steps=15).warmup(5))
    two = recipes.fashion_lenet(schedule=cosine(0.3, final=0.01, steps=16).warmup(5))
    assert one.hash != two.hash
    assert diff(one, two) == [("schedule.schedule.steps", 15, 16)]


@settings(max_examples=50)
@given(specs, specs)
def test_specs_are_equal_exactly_when_nothing_differs(one: RunSpec, two: RunSpec) -> None:
    assert (one == two) == (diff(one, two) == []) == (one.hash == two.hash)
    assert diff(one, one) == []


@settings(max_examples=50)
@given(specs, specs)
def test_the_difference_turns_around(one: RunSpec, two: RunSpec) -> None:
    there = {name: (a, b) for name, a, b in diff(one, two)}
    back = {name: (b, a) for name, a, b in diff(two, one)}
    assert there == back


def test_another_kind_differs_in_kind_and_fields() -> None:
    rows = diff(recipes.timemachine_rnn(), recipes.timemachine_gru())
    assert ("model.kind", "rnn", "gru") in rows
    assert ("model.reset", None, "before") in rows


# --- frozen -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("thing", "field"),
    [
        (recipes.airfoil_linear(), "batch_size"),
        (GRU(), "num_hiddens"),
        (TimeMachine(), "window"),
        (AdamW(), "beta1"),
        (constant(0.1), "base"),
    ],
)
def test_nothing_can_be_changed_in_place(thing: Any, field: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(thing, field, 1)


def test_changing_a_copy_leaves_the_spec_alone() -> None:
    spec = recipes.timemachine_gru()
    before = spec.to_dict()
    spec.with_fields({"model.num_hiddens": 8, "schedule": "0.5"}).with_lr(0.1)
    spec.to_dict()["model"]["num_hiddens"] = 3
    assert spec.to_dict() == before
