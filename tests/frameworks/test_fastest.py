"""Which framework a run takes when nobody names one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lockstep import recipes
from lockstep.errors import InputError
from lockstep.frameworks import environments, registry
from lockstep.frameworks.fastest import (
    COLUMNS,
    COSTS,
    LIKE,
    fastest,
    num_steps,
    resolve_fastest,
    seconds,
)
from lockstep.spec import MLP
from lockstep.spec.parts import MODELS

Usable = Callable[..., None]


@pytest.fixture
def usable(monkeypatch: pytest.MonkeyPatch) -> Usable:
    def only(*names: str) -> None:
        monkeypatch.setattr(environments, "usable", lambda: list(names))
        monkeypatch.setattr(registry, "is_installed", lambda name: name in names)

    return only


def test_the_table_has_every_framework_and_every_model() -> None:
    assert set(COSTS) == set(registry.names())
    assert {*COLUMNS[1:], *LIKE} == set(MODELS) - {"own"}
    assert set(LIKE.values()) <= set(COLUMNS[1:])


def test_a_model_that_is_not_measured_costs_what_another_does() -> None:
    one_gate, gru = (recipes.timemachine_gru(model=kind) for kind in ("one-gate", "gru"))
    for name in COSTS:
        assert seconds(name, one_gate) == seconds(name, gru)
    assert fastest(one_gate) == fastest(gru)


@pytest.mark.parametrize(
    ("name", "expected"),
    [  # seconds by the table: start + steps * milliseconds / 1000
        ("airfoil-linear", "numpy"),  # 300 steps: 1.1 in numpy, 3.5 and more elsewhere
        ("fashion-lenet", "torch"),  # 7,020 steps: 116 in torch, 123 in jax, 387 in numpy
        ("timemachine-gru", "torch"),  # 4,000 steps: 99.5 in torch, 132 in jax, 233 in numpy
    ],
)
def test_recipes(usable: Usable, name: str, expected: str) -> None:
    usable(*registry.names())
    assert fastest(recipes.get(name)) == expected


def test_a_long_run_goes_where_steps_are_cheap(usable: Usable) -> None:
    usable("numpy", "torch", "jax")
    long = recipes.airfoil_linear(batch_size=1, epochs=2000)
    assert num_steps(long) == 3_000_000
    assert fastest(long) == "jax"
    assert fastest(recipes.airfoil_linear(batch_size=1, epochs=2000, max_steps=100)) == "numpy"


def test_only_what_is_usable_here_is_taken(usable: Usable) -> None:
    spec = recipes.fashion_lenet()
    usable("numpy")
    assert fastest(spec) == "numpy"
    usable("numpy", "mxnet", "paddle")
    assert fastest(spec) == "numpy"
    usable("numpy", "tensorflow")
    assert fastest(spec) == "tensorflow"


def test_numpy_has_no_concise_style(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "usable", lambda: ["numpy", "paddle"])
    assert fastest(recipes.airfoil_linear(style="concise")) == "paddle"


def test_steps_of_a_text_are_counted_by_its_windows() -> None:
    # 10,000 symbols in windows of 35 are 285, in batches of 32: 8 an epoch
    assert num_steps(recipes.timemachine_gru(epochs=500)) == 4000


def test_steps_of_sequences_are_counted() -> None:
    assert num_steps(recipes.recall_gru()) == 300  # 6,400 in batches of 64, three times
    assert fastest(recipes.recall_gru()) in environments.usable()


def test_it_names_a_framework_and_leaves_a_named_one() -> None:
    assert resolve_fastest(recipes.fashion_mlp(framework="torch")).framework == "torch"
    assert (
        resolve_fastest(recipes.airfoil_linear(framework="fastest")).framework
        in environments.usable()
    )


def test_a_framework_outside_the_table_comes_last() -> None:
    assert seconds("something-new", recipes.airfoil_linear()) == float("inf")


def test_a_model_of_ones_own_is_not_measured(usable: Usable) -> None:
    usable("numpy", "torch")
    spec = recipes.fashion_mlp(framework="fastest", model=MLP())
    assert resolve_fastest(spec).framework == "numpy"
    own = spec.with_fields({"model": {"kind": "own"}, "data": {"kind": "own"}})
    with pytest.raises(InputError, match="is not measured for the model 'own'"):
        resolve_fastest(own)
