"""Every value that cannot be used is refused by its field's name, with what to do instead."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lockstep import recipes
from lockstep.errors import InputError
from lockstep.schedules import constant, multi_factor
from lockstep.spec import (
    GRU,
    MLP,
    RNN,
    SGD,
    Adadelta,
    Adam,
    Airfoil,
    FashionMNIST,
    LeNet,
    Linear,
    Momentum,
    OwnData,
    RMSprop,
    RunSpec,
    TimeMachine,
)


def refused(make: Any, field: str, value: object, *words: str) -> None:
    """`make()` raises an InputError that names the field, the value and a remedy."""
    with pytest.raises(InputError) as caught:
        make()
    error = caught.value
    assert error.field == field
    assert repr(value) in str(error)
    assert error.remedy[0].isupper()
    assert error.remedy.endswith(".")
    for word in words:
        assert word in str(error)


# --- top-level fields ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("batch_size", 0, "at least 1"),
        ("batch_size", -3, "at least 1"),
        ("batch_size", 10**10, "absurdly large"),
        ("batch_size", 2.5, "whole number"),
        ("batch_size", True, "whole number"),
        ("batch_size", None, "whole number"),
        ("epochs", 0, "at least 1"),
        ("epochs", 10**10, "absurdly large"),
        ("max_steps", -1, "at least 0"),
        ("seed", -1, "at least 0"),
        ("seed", 2**63, "absurdly large"),
        ("evaluate_epochs", 0, "at least 1"),
        ("checkpoint_steps", -1, "at least 0"),
        ("style", "fancy", "concise, scratch"),
        ("precision", "float16", "float32"),
        ("schedule_per", "batch", "step"),
        ("framework", 3, "text"),
        ("framework", "", "empty"),
        ("name", "", "empty"),
        ("name", 5, "text"),
        ("name", "../up", "folder"),
        ("name", "a/b", "folder"),
        ("name", ".", "folder"),
        ("fused", "no", "true or false"),
        ("fused", 1, "true or false"),
    ],
)
def test_fields_of_the_run(field: str, value: Any, word: str) -> None:
    values = {f: getattr(recipes.airfoil_linear(), f) for f in RunSpec.__dataclass_fields__}
    refused(lambda: RunSpec(**(values | {field: value})), field, value, word)


def test_splits_that_are_none() -> None:
    refused(lambda: recipes.airfoil_linear(evaluate=("tests",)), "evaluate", "tests", "'test'")
    refused(lambda: replace(recipes.airfoil_linear(), evaluate=5), "evaluate", 5, "train")
    refused(lambda: replace(recipes.airfoil_linear(), evaluate="test"), "evaluate", "test", "list")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("data", "airfoil"),
        ("data", Linear()),
        ("model", None),
        ("model", SGD()),
        ("optimizer", "sgd"),
        ("schedule", 0.1),
        ("schedule", lambda step: 0.1),
    ],
)
def test_parts_of_the_wrong_sort(field: str, value: Any) -> None:
    values = {f: getattr(recipes.airfoil_linear(), f) for f in RunSpec.__dataclass_fields__}
    refused(lambda: RunSpec(**(values | {field: value})), field, value)


# --- parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "field", "value", "word"),
    [
        (Airfoil, "data.source", "fake", "generated"),
        (Airfoil, "data.order", "random", "shuffled"),
        (Airfoil, "data.max_examples", 0, "at least 1"),
        (Airfoil, "data.drop_last", "no", "true or false"),
        (FashionMNIST, "data.max_examples", -5, "at least 1"),
        (FashionMNIST, "data.order", "sorted", "in_order"),
        (TimeMachine, "data.sampling", "shuffled", "sequential"),
        (TimeMachine, "data.window", 0, "at least 1"),
        (TimeMachine, "data.max_tokens", 1.5, "whole number"),
        (OwnData, "data.loss", "hinge", "squared"),
        (MLP, "model.hiddens", 0, "at least 1"),
        (RNN, "model.num_hiddens", 0, "at least 1"),
        (GRU, "model.num_hiddens", 10**9, "absurdly large"),
        (GRU, "model.reset", "never", "before"),
        (LeNet, "model.pooling", "min", "max"),
        (SGD, "optimizer.weight_decay", -0.1, "at least 0"),
        (SGD, "optimizer.clip_norm", math.nan, "finite"),
        (SGD, "optimizer.clip_value", math.inf, "finite"),
        (SGD, "optimizer.clip_norm", "1", "number"),
        (SGD, "optimizer.clip_norm", True, "number"),
        (Momentum, "optimizer.momentum", 1.5, "between 0.0 and 1.0"),
        (RMSprop, "optimizer.decay", -1.0, "between 0.0 and 1.0"),
        (Adadelta, "optimizer.eps", -1e-6, "at least 0"),
        (Adam, "optimizer.beta1", 1.0, "below 1"),
        (Adam, "optimizer.beta2", 1.0, "below 1"),
        (Adam, "optimizer.beta1", -0.1, "at least 0"),
    ],
)
def test_fields_of_parts(cls: Any, field: str, value: Any, word: str) -> None:
    name = field.split(".")[1]
    given = (value,) if field == "model.hiddens" else value
    refused(lambda: cls(**{name: given}), field, value, word)


def test_hiddens_that_are_no_list() -> None:
    refused(lambda: MLP(hiddens=64), "model.hiddens", 64, "list")  # type: ignore[arg-type]
    assert MLP(hiddens=[64, 32]) == MLP((64, 32))  # type: ignore[arg-type]


# --- schedules, through the spec ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("constant(-1)", ["schedule.base", "-1", "negative"]),
        ("1e999", ["schedule.base", "inf", "finite"]),
        ("cosine(0.3, steps=0)", ["schedule.steps", "0", "at least 1"]),
        ("cosine(0.3, steps=-5)", ["schedule.steps", "-5", "at least 1"]),
        ("polynomial(0.3, steps=0)", ["schedule.steps", "0", "at least 1"]),
        (
            "multi_factor(1, factor=0.5, milestones=[30, 15])",
            ["milestones", "[30, 15]", "[15, 30]"],
        ),
        ("cosin(0.3, steps=3)", ["cosin", "cosine"]),
        ("cosine(0.3", ["cosine(0.3"]),
    ],
)
def test_schedules_that_cannot_be(text: str, words: list[str]) -> None:
    for make in (
        lambda: recipes.fashion_lenet(schedule=text),
        lambda: recipes.fashion_lenet().with_fields({"schedule": text}),
        lambda: RunSpec.from_dict(recipes.fashion_lenet().to_dict() | {"schedule": text}),
    ):
        with pytest.raises(InputError) as caught:
            make()
        for word in words:
            assert word in str(caught.value)


@pytest.mark.parametrize("lr", [math.nan, math.inf, -0.1, "much", None, True])
def test_learning_rates_that_cannot_be(lr: Any) -> None:
    refused(lambda: recipes.airfoil_linear().with_lr(lr), "schedule.base", lr)


# --- tables -------------------------------------------------------------------------------------


def table(**changes: Any) -> dict[str, Any]:
    return {**recipes.airfoil_linear().to_dict(), **changes}


@pytest.mark.parametrize(
    ("changes", "field", "value", "word"),
    [
        ({"batch_size": "many"}, "batch_size", "many", "whole number"),
        ({"batch_size": 10.0}, "batch_size", 10.0, "whole number"),
        ({"batch_size": [10]}, "batch_size", [10], "whole number"),
        ({"name": 3}, "name", 3, "quotes"),
        ({"fused": 3}, "fused", 3, "true or false"),
        ({"evaluate": [3]}, "evaluate", 3, "text"),
        ({"data": 3}, "data", 3, "kind"),
        ({"data": ["airfoil"]}, "data", ["airfoil"], "kind"),
        ({"data": {"source": "real"}}, "data.kind", None, "airfoil"),
        ({"data": {"kind": ["airfoil"]}}, "data.kind", ["airfoil"], "airfoil"),
        ({"model": {"kind": "linnear"}}, "model.kind", "linnear", "'linear'"),
        ({"optimizer": {"kind": "sgd", "lr": 0.1}}, "optimizer field (of sgd)", "lr", "clip_norm"),
        ({"optimizer": {"kind": "sgd", "clip_norm": []}}, "optimizer.clip_norm", [], "number"),
        ({"schedule": []}, "schedule", [], "cosine"),
        ({"schedule": {"base": 0.1}}, "schedule", {"base": 0.1}, "kind"),
        ({"epoch": 3}, "field", "epoch", "'epochs'"),
    ],
)
def test_tables_with_a_mistake(
    changes: dict[str, Any], field: str, value: object, word: str
) -> None:
    refused(lambda: RunSpec.from_dict(table(**changes)), field, value, word)


@pytest.mark.parametrize("field", ["name", "data", "model", "optimizer", "schedule"])
def test_a_missing_field(field: str) -> None:
    values = table()
    del values[field]
    refused(lambda: RunSpec.from_dict(values), field, None, "is missing", "schedule")


# --- recipes ------------------------------------------------------------------------------------


def test_an_unknown_recipe_suggests_the_nearest() -> None:
    refused(lambda: recipes.get("fashion-lennet"), "recipe", "fashion-lennet", "'fashion-lenet'")
    refused(lambda: recipes.get("gru"), "recipe", "gru", "timemachine-gru")


@pytest.mark.parametrize("name", recipes.RECIPES)
@pytest.mark.parametrize("field", ["batchsize", "hash", "to_toml", "learning_rate"])
def test_recipes_refuse_unknown_fields(name: str, field: str) -> None:
    refused(lambda: recipes.get(name, **{field: 3}), "field", field)


def test_recipes_take_fields_by_name_and_lr() -> None:
    spec = recipes.airfoil_linear(batch_size=1, lr=0.005, optimizer="adam", framework="jax")
    assert (spec.batch_size, spec.optimizer, spec.framework) == (1, Adam(), "jax")
    assert spec.schedule == constant(0.005)
    # lr is the base of the schedule that is given beside it
    assert recipes.fashion_lenet(schedule="factor(2, factor=0.9)", lr=0.5).schedule(0) == 0.5


def test_the_chapters_settings() -> None:
    airfoil, lenet, gru = (
        recipes.airfoil_linear(),
        recipes.fashion_lenet(),
        recipes.timemachine_gru(),
    )
    assert (airfoil.batch_size, airfoil.schedule(0), airfoil.epochs) == (10, 0.05, 2)
    assert (lenet.batch_size, lenet.schedule(0), lenet.epochs) == (256, 0.3, 30)
    assert lenet.schedule_per == "epoch"
    assert (gru.batch_size, gru.schedule(0), gru.epochs) == (32, 1.0, 500)
    assert gru.schedule_per == "epoch"
    assert gru.model == GRU(num_hiddens=256, reset="before")
    assert gru.data == TimeMachine(window=35, max_tokens=10_000)
    assert gru.optimizer == SGD(clip_norm=1.0)
    assert recipes.timemachine_gru(style="concise").model == GRU(reset="after")
    assert recipes.timemachine_rnn().model == RNN(256)


@pytest.mark.parametrize("recipe", [recipes.timemachine_gru, recipes.timemachine_rnn])
def test_a_text_ends_at_a_tenth_of_its_rate(recipe: Any) -> None:
    """In the last twentieth of the epochs, however many are asked for, unless a schedule is."""
    assert recipe().schedule == multi_factor(1.0, milestones=[475], factor=0.1)
    assert recipe(epochs="100").schedule == multi_factor(1.0, milestones=[95], factor=0.1)
    assert recipe(epochs=1, lr=0.5).schedule == multi_factor(0.5, milestones=[1], factor=0.1)
    assert recipe(epochs=9, schedule=0.25).schedule == constant(0.25)
    refused(lambda: recipe(epochs="many"), "epochs", "many")


@pytest.mark.parametrize("name", recipes.RECIPES)
def test_every_recipe_has_a_line_about_it(name: str) -> None:
    line = recipes.summary(name)
    assert line.endswith(".")
    assert len(line) <= 100
