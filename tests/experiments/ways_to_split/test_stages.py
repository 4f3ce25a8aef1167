"""Layers over stages, and how long a pipeline stands still, against a simulated one."""

from __future__ import annotations

import pytest

from lockstep.experiments.ways_to_split.division import layer_shapes, weight_parts
from lockstep.experiments.ways_to_split.findings import bubble, bubble_of_stages
from lockstep.experiments.ways_to_split.holdings import stages
from lockstep.experiments.ways_to_split.question import BLOCK, num_updates, turns
from lockstep.models.lenet import lenet


@pytest.mark.parametrize(
    ("pooling", "products"),
    [
        ("max", [28 * 28 * 6 * 25, 10 * 10 * 16 * 6 * 25, 400 * 120, 120 * 84, 84 * 10]),
        ("avg", [26 * 26 * 20 * 9, 9 * 9 * 50 * 20 * 25, 800 * 128, 128 * 10]),
    ],
)
def test_products(pooling: str, products: list[int]) -> None:
    assert [layer.products for layer in layer_shapes(lenet(pooling))] == products


@pytest.mark.parametrize("pooling", ["max", "avg"])
def test_stages_are_the_layers_in_order(pooling: str) -> None:
    model = lenet(pooling)
    names = [layer.name for layer in model.blocks]
    for devices in range(1, len(names) + 1):
        found = [[shape.name for shape in stage] for stage in stages(model, devices)]
        assert len(found) == devices
        assert all(found)
        assert [name for stage in found for name in stage] == names
    assert [shape.name for shape in stages(model, 2)[0]] == ["conv1"]  # about half of the time


def simulated_idle(seconds: list[float], micro_batches: int) -> float:
    """Micro-batches forward through the stages, then backward, each as soon as what it waits for is
    done; forward a third of the time."""
    k, clock = len(seconds), [0.0] * len(seconds)
    for share, order in ((1 / 3, range(k)), (2 / 3, range(k - 1, -1, -1))):
        for _ in range(micro_batches):
            there = 0.0
            for stage in order:
                clock[stage] = max(clock[stage], there) + share * seconds[stage] / micro_batches
                there = clock[stage]
    return 1 - sum(seconds) / (k * max(clock))


@pytest.mark.parametrize("devices", [1, 2, 3, 4])
@pytest.mark.parametrize("micro_batches", [1, 2, 4, 16])
def test_the_bubble_is_that_of_a_simulated_pipeline(devices: int, micro_batches: int) -> None:
    equal = [2.5] * devices
    expected = simulated_idle(equal, micro_batches)
    assert bubble(devices, micro_batches) == pytest.approx(expected)
    assert bubble_of_stages(equal, micro_batches) == pytest.approx(expected)
    uneven = [float(1 + (3 * stage) % 4) for stage in range(devices)]
    expected = simulated_idle(uneven, micro_batches)
    assert bubble_of_stages(uneven, micro_batches) == pytest.approx(expected)


@pytest.mark.parametrize("pooling", ["max", "avg"])
@pytest.mark.parametrize("devices", [1, 2, 3, 4, 5, 6])
def test_parts_are_all_of_each_weight(pooling: str, devices: int) -> None:
    model = lenet(pooling)
    parts = weight_parts(model, devices)
    assert list(parts) == list(model.shapes)
    for name, part in parts.items():
        places = [i for cut in part.slices for i in range(cut.start, cut.stop)]
        assert places == list(range(model.shapes[name][part.axis]))
        if name.endswith("_w"):
            assert all(cut.stop > cut.start for cut in part.slices)


@pytest.mark.parametrize("steps", [1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 3])
def test_every_way_has_every_turn_and_none_is_always_first(steps: int) -> None:
    ways = ["a", "b", "c"]
    found = list(turns(ways, steps))
    for way in ways:
        own = [turn for turn in found if turn.way == way]
        assert [turn.step for turn in own] == list(range(num_updates(steps)))
        assert [turn.repeat for turn in own if turn.repeat >= 0] == list(range(steps))
    begins = [turn.way for turn in found if turn.repeat >= 0 and turn.repeat % BLOCK == 0][::3]
    assert begins == [ways[i % 3] for i in range(-(-steps // BLOCK))]
