"""The grid: its text, its values and their combinations."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lockstep as ls
from lockstep.errors import InputError
from lockstep.sweeps.grid import Grid, parse_grid, split_values

POSITIVE = st.floats(1e-6, 1e6, allow_nan=False)


@given(POSITIVE, POSITIVE, st.integers(2, 50), st.sampled_from(["lin", "log"]))
def test_spaced_values_have_their_ends_and_equal_distances(
    start: float, stop: float, count: int, how: str
) -> None:
    if start == stop or max(start, stop) / min(start, stop) < 1.001:
        return
    values = parse_grid([f"lr={start!r}:{stop!r}:{how}{count}"]).axes["lr"]
    assert len(values) == count
    assert (values[0], values[-1]) == (start, stop)
    scale = values if how == "lin" else [math.log(value) for value in values]
    steps = [b - a for a, b in itertools.pairwise(scale)]
    expected = (scale[-1] - scale[0]) / (count - 1)
    # 12 digits are kept of each value, so a difference has as many fewer as it is smaller
    assert steps == pytest.approx([expected] * (count - 1), rel=1e-6, abs=1e-11)


@given(st.integers(-1000, 1000), st.integers(0, 200))
def test_whole_numbers_include_both_ends(first: int, more: int) -> None:
    values = parse_grid([f"seed={first}:{first + more}"]).axes["seed"]
    assert values == tuple(range(first, first + more + 1))


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True), min_size=1,
                max_size=4))  # fmt: skip
def test_settings_are_all_combinations_once(lists: list[list[int]]) -> None:
    grid = Grid({f"field{i}": tuple(values) for i, values in enumerate(lists)})
    found = [tuple(setting.values()) for setting in grid.settings()]
    assert len(found) == len(set(found)) == grid.size == math.prod(map(len, lists))
    assert all(setting[i] in lists[i] for setting in found for i in range(len(lists)))


@given(st.lists(st.text("abc0123.=()[] ", max_size=8), max_size=5))
def test_commas_outside_brackets_separate_and_those_inside_do_not(parts: list[str]) -> None:
    closed = [f"f({part.replace('(', '').replace(')', '').strip('[]')},x)" for part in parts]
    closed = [text.replace("[", "").replace("]", "") for text in closed]
    assert split_values(", ".join(closed)) == [text.strip() for text in closed]


def test_schedules_and_dotted_fields() -> None:
    grid = parse_grid(["schedule=cosine(0.3, steps=20),constant(0.1)", "model.num_hiddens=8,16"])
    specs = grid.specs(ls.recipes.timemachine_gru())
    assert len(specs) == 4
    assert specs[1][1].schedule == ls.cosine(0.3, steps=20)
    assert specs[1][1].model.num_hiddens == 16  # type: ignore[union-attr]
    assert specs[3][0]["schedule"] == "constant(0.1)"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "grid = '': is empty. Give a field"),
        (["lr"], "is no axis"),
        (["lr="], "has no values"),
        (["lr=0.1,nan"], "is not finite"),
        (["lr=0.1:inf:lin3"], "is not finite"),
        (["lr=0:1:log3"], "both ends must be positive"),
        (["lr=-1:1:log3"], "both ends must be positive"),
        (["lr=0.1:1:log1"], "must be from 2"),
        (["lr=a:1:lin3"], "is not a number"),
        (["lr=0.1,0.1"], "is given twice"),
        (["lr=0.1", "lr=0.2"], "is given twice"),
        (["seed=4:0"], "Give the smaller first: 0:4"),
        (["batchsize=10"], "Did you mean 'batch_size'"),
        (["name=a,b"], "changes no run"),
        (["batch_size=x"], "must be a whole number"),
        (["optimizer.momentun=0.9"], "not known"),
        (["lr=fast"], "is not a number"),
    ],
)
def test_a_mistake_names_field_value_and_remedy(words: list[str], said: str) -> None:
    run = ls.recipes.airfoil_linear()
    with pytest.raises(InputError) as error:
        parse_grid(words).specs(run.with_fields({"optimizer": "momentum"}))
    assert said in str(error.value)
