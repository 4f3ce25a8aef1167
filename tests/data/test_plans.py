"""Batch plans by their properties: every row once, in bounds, epochs by direct access."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lockstep.data import ExamplePlan, WindowPlan
from lockstep.data.plans import batch_numbers
from lockstep.errors import InputError


@st.composite
def example_plans(draw, orders=("shuffled", "in_order", "with_replacement")):
    num_examples = draw(st.integers(1, 300))
    return ExamplePlan(
        num_examples,
        draw(st.integers(1, num_examples)),
        draw(st.sampled_from(orders)),
        draw(st.booleans()),
        draw(st.integers(0, 9)),
    )


@st.composite
def window_plans(draw, samplings=("sequential", "random")):
    batch_size, num_steps = draw(st.integers(1, 12)), draw(st.integers(1, 20))
    num_tokens = batch_size * num_steps + num_steps + draw(st.integers(0, 500))
    seed = draw(st.integers(0, 9))
    return WindowPlan(num_tokens, batch_size, num_steps, draw(st.sampled_from(samplings)), seed)


@given(example_plans(), st.integers(0, 1000))
def test_sizes_are_as_promised(plan, epoch):
    blocks = plan.epoch(epoch)
    sizes = [block.shape[1] for block in blocks for _ in range(len(block))]
    rest = plan.num_examples % plan.batch_size
    expected = [plan.batch_size] * (plan.num_examples // plan.batch_size)
    expected += [rest] if rest and not plan.drop_last else []
    assert sizes == expected
    assert plan.num_batches == len(expected)
    assert all(block.dtype == np.int32 for block in blocks)
    rows = np.concatenate([block.ravel() for block in blocks])
    assert rows.min() >= 0
    assert rows.max() < plan.num_examples


@given(example_plans(orders=("shuffled", "in_order")), st.integers(0, 1000))
def test_every_example_at_most_once_and_exactly_once_if_none_is_dropped(plan, epoch):
    rows = np.concatenate([block.ravel() for block in plan.epoch(epoch)])
    assert len(set(rows.tolist())) == len(rows)
    if not plan.drop_last:
        assert sorted(rows.tolist()) == list(range(plan.num_examples))


@given(st.one_of(example_plans(), window_plans()), st.integers(0, 50))
def test_an_epoch_does_not_depend_on_those_before_it(plan, epoch):
    direct = plan.epoch(epoch)
    for before in range(3):
        plan.epoch(before)
    for one, other in zip(direct, plan.epoch(epoch), strict=True):
        np.testing.assert_array_equal(one, other)


def test_epochs_and_seeds_differ():
    seen = [ExamplePlan(100, 100, seed=s).epoch(e)[0].tobytes() for s in (0, 1) for e in range(5)]
    assert len(set(seen)) == len(seen)


def test_with_replacement_repeats_about_as_often_as_chance_says():
    rows = ExamplePlan(10_000, 100, "with_replacement").epoch(0)[0]
    distinct = len(np.unique(rows)) / 10_000
    # the expected share is 1 - 1/e = 0.632, its standard deviation about 0.003
    assert abs(distinct - (1 - np.exp(-1))) < 0.015


@given(window_plans(), st.integers(0, 1000))
def test_windows_are_whole_and_in_bounds(plan, epoch):
    (rows,) = plan.epoch(epoch)
    assert rows.shape == (plan.num_batches, plan.batch_size)
    assert rows.dtype == np.int32
    assert rows.min() >= 0
    assert rows.max() + plan.num_steps + 1 <= plan.num_tokens


@given(window_plans(), st.integers(0, 1000))
def test_windows_do_not_overlap(plan, epoch):
    starts = np.sort(plan.epoch(epoch)[0].ravel())
    assert (np.diff(starts) >= plan.num_steps).all()
    assert starts[0] < plan.num_steps or plan.sampling == "random"


@given(window_plans(samplings=("sequential",)), st.integers(0, 1000))
def test_sequential_windows_continue_those_of_the_batch_before(plan, epoch):
    assert plan.carries_state
    (rows,) = plan.epoch(epoch)
    assert (np.diff(rows, axis=0) == plan.num_steps).all()
    assert len(np.unique(np.diff(rows, axis=1))) <= 1  # strips are equally long


@given(window_plans(samplings=("sequential",)), st.integers(0, 20))
def test_sequential_windows_are_the_chapters(plan, epoch):
    """The chapters' construction, by reshaping the stream; a batch it has beyond ours can only
    come from a smaller offset than the largest."""
    (rows,) = plan.epoch(epoch)
    tokens, offset = np.arange(plan.num_tokens), int(rows[0, 0])
    whole = (plan.num_tokens - offset - 1) // plan.batch_size * plan.batch_size
    strips = tokens[offset : offset + whole].reshape(plan.batch_size, -1)
    chapters = strips.shape[1] // plan.num_steps
    assert plan.num_batches <= chapters <= plan.num_batches + 1
    for at in range(plan.num_batches):
        window = strips[:, at * plan.num_steps : (at + 1) * plan.num_steps]
        np.testing.assert_array_equal(rows[at][:, None] + np.arange(plan.num_steps), window)


def test_the_offset_takes_every_value_below_the_window():
    plan = WindowPlan(1000, 4, 5)
    offsets = {int(plan.epoch(epoch)[0][0, 0]) for epoch in range(200)}
    assert offsets == {0, 1, 2, 3, 4}


def test_random_windows_are_shuffled_anew():
    plan = WindowPlan(10_000, 32, 35, "random")
    assert not plan.carries_state
    first, second = plan.epoch(0)[0].ravel(), plan.epoch(1)[0].ravel()
    assert not np.array_equal(first, np.sort(first))
    assert not np.array_equal(first - first.min(), second - second.min())


def test_the_chapters_numbers_of_batches():
    # 10,000 tokens, 32 strips of 311 or 312, windows of 35: 8 batches
    assert WindowPlan(10_000, 32, 35).num_batches == 8
    # 284 windows in batches of 32: 8 full ones
    assert WindowPlan(10_000, 32, 35, "random").num_batches == 8
    assert ExamplePlan(60_000, 256).num_batches == 235
    assert ExamplePlan(60_000, 256, drop_last=True).num_batches == 234


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"num_examples": 10, "batch_size": 11}, "batch_size"),
        ({"num_examples": 10, "batch_size": 0}, "batch_size"),
        ({"num_examples": 10, "batch_size": -1}, "batch_size"),
        ({"num_examples": 10, "batch_size": 2.0}, "batch_size"),
        ({"num_examples": 10, "batch_size": True}, "batch_size"),
        ({"num_examples": 0, "batch_size": 1}, "num_examples"),
        ({"num_examples": 1 << 40, "batch_size": 1}, "num_examples"),
        ({"num_examples": 10, "batch_size": 1, "order": "shuffle"}, "data.order"),
    ],
)
def test_impossible_example_plans_name_the_field(arguments, field):
    with pytest.raises(InputError) as failure:
        ExamplePlan(**arguments)
    assert failure.value.field == field


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((100, 0, 5), "batch_size"),
        ((100, 50, 5), "batch_size"),
        ((100, 1 << 40, 5), "batch_size"),
        ((100, 2, 0), "data.window"),
        ((100, 2, 51), "data.window"),
        ((100, 2, 1 << 40), "data.window"),
        ((0, 2, 5), "num_tokens"),
        ((100, 2, 5, "sequentially"), "data.sampling"),
    ],
)
def test_impossible_window_plans_name_the_field(arguments, field):
    with pytest.raises(InputError) as failure:
        WindowPlan(*arguments)
    assert failure.value.field == field


@given(st.integers(1, 60), st.integers(1, 30), st.integers(1, 60))
def test_the_remedy_of_a_batch_too_large_works(batch_size, num_steps, num_tokens):
    try:
        WindowPlan(num_tokens, batch_size, num_steps)
    except InputError as error:
        assume(error.field == "batch_size")
        most = int(error.remedy.split()[3].rstrip(","))
        assert most < batch_size
        assert WindowPlan(num_tokens, most, num_steps).num_batches >= 1


@given(
    st.lists(st.integers(0, 2**31 - 1), min_size=2, max_size=300, unique=True),
    st.randoms(use_true_random=False),
)
def test_other_rows_or_another_order_have_another_number(rows: list[int], random: Any) -> None:
    same, other, exchanged = list(rows), list(rows), list(rows)
    other[random.randrange(len(rows))] ^= 1
    i, j = random.sample(range(len(rows)), 2)
    exchanged[i], exchanged[j] = exchanged[j], exchanged[i]
    numbers = batch_numbers(np.array([rows, same, other, exchanged], np.int32)).tolist()
    assert numbers[0] == numbers[1]
    assert len(set(numbers[1:])) == 3
    assert all(0 <= number < 2**53 for number in numbers)
