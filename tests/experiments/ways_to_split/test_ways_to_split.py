"""Every way gives one device's gradient, sends what arithmetic says, and holds its part alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep.errors import InputError, MissingError
from lockstep.experiments.ways_to_split import measuring
from lockstep.experiments.ways_to_split.question import DATA, LAYERS, ONE, WITHIN, Question

from .asking import answer, oracle, question

pytest.importorskip("torch")

BATCH, MICRO_BATCHES = 37, 5  # neither divides anything
CASES = [
    question(devices, pooling, BATCH, MICRO_BATCHES)
    for devices in (2, 3)
    for pooling in ("max", "avg")
]
# more devices than examples, and six channels over four
CASES.append(question(4, "max", 3, 2))
ITEM = 8  # bytes of a float64
NUM_PARAMETERS = {"max": 61_706, "avg": 129_068}


@pytest.fixture(params=CASES, ids=lambda q: f"{q.pooling} over {q.devices}, batch {q.batch_size}")
def asked(request: pytest.FixtureRequest) -> Question:
    found: Question = request.param
    return found


def shares(total: int, devices: int) -> list[int]:
    """Whole numbers as equal as can be, the larger ones first."""
    return [(total + devices - 1 - i) // devices for i in range(devices)]


def test_gradients_and_losses_are_those_of_one_device(asked: Question) -> None:
    """Sums in another order, no more: 1e-12 of the largest entry is a thousand roundings."""
    expected, losses = oracle(asked)
    results = answer(asked)
    assert [way.way for way in results.ways] == [ONE, DATA, WITHIN, LAYERS]
    for way in results.ways:
        assert set(way.gradient) == set(expected)
        for name, value in expected.items():
            assert way.gradient[name].shape == value.shape
            off = np.abs(way.gradient[name] - value).max() / np.abs(value).max()
            assert off < 1e-12, (way.way, name)
        assert way.deviation < 1e-12
        assert way.path_deviation < 1e-12
        np.testing.assert_allclose(way.losses, losses, rtol=1e-12)
    assert results[DATA].deviation > 0  # it was another sum, not the same one looked at twice
    assert losses[0] != losses[1]


# --- bytes ----------------------------------------------------------------------------------------


def all_reduced(total: int, devices: int) -> list[int]:
    """All but the own part is given away to be added, then the own sum to each of the others."""
    return [total - own + (devices - 1) * own for own in shares(total, devices)]


def gathered_and_back(size: int, units: int, devices: int) -> list[int]:
    """Forward the own units to each of the others, backward each of the others' to its owner."""
    return [size * ((devices - 1) * own + units - own) for own in shares(units, devices)]


def expected_bytes(asked: Question) -> dict[str, list[int]]:
    k, n = asked.devices, asked.batch_size
    if asked.pooling == "max":
        within = [
            gathered_and_back(n * 14 * 14, 6, k),
            all_reduced(n * 120, k),  # fc1's sums
            all_reduced(n * 120, k),  # and the gradients of what fc2 took from them
            all_reduced(n * 10, k),
        ]
        edges = [6 * 14 * 14, 400, 120][: k - 1]
    else:
        within = [
            gathered_and_back(n * 13 * 13, 20, k),
            # fc1's sums: the others' units given away to be added, then the own gradients gathered
            gathered_and_back(n, 128, k),
            all_reduced(n * 10, k),
        ]
        edges = [20 * 13 * 13, 800][: k - 1]
    layers = [n * (left + right) for left, right in zip([0, *edges], [*edges, 0], strict=True)]
    return {
        DATA: all_reduced(NUM_PARAMETERS[asked.pooling], k),
        WITHIN: [sum(parts) for parts in zip(*within, strict=True)],
        LAYERS: layers,
    }


def test_bytes_are_what_arithmetic_says(asked: Question) -> None:
    results = answer(asked)
    for way, numbers in expected_bytes(asked).items():
        assert [device.sent for device in results[way].devices] == [ITEM * n for n in numbers], way
    assert [device.sent for device in results[ONE].devices] == [0]


def test_messages(asked: Question) -> None:
    """An allreduce is one exchange between two devices and two among more, an exchange one message
    to each of the others."""
    k, results = asked.devices, answer(asked)
    others, reduced = k - 1, 1 if k == 2 else 2
    exchanges = 2 + 3 * reduced if asked.pooling == "max" else 4 + reduced
    edges = [1, *[2] * (k - 2), 1]
    expected = {
        DATA: [reduced * others] * k,
        WITHIN: [exchanges * others] * k,
        LAYERS: [asked.micro_batches * count for count in edges],
    }
    for way, counts in expected.items():
        assert [device.messages for device in results[way].devices] == counts, way


# --- what is held ---------------------------------------------------------------------------------


def test_parameters_are_held_once_but_by_data(asked: Question) -> None:
    results, total = answer(asked), NUM_PARAMETERS[asked.pooling]
    held = {way.way: [device.parameters for device in way.devices] for way in results.ways}
    assert held[ONE] == [total]
    assert held[DATA] == [total] * asked.devices
    assert sum(held[WITHIN]) == sum(held[LAYERS]) == total
    assert max(held[WITHIN]) < 1.25 * total / asked.devices
    if asked.pooling == "max" and asked.devices == 2:
        half = 3 * 25 + 3 + 8 * 150 + 8 + 200 * 120 + 120 * 42 + 42 + 42 * 10
        assert held[WITHIN] == [half + 120 + 10, half]  # what is added to a sum is device 0's
        assert held[LAYERS] == [6 * 25 + 6, total - 156]


def test_activations_are_what_the_layers_keep() -> None:
    """Average pooling: a convolution keeps what each of its windows sees with a one below, the four
    outputs there and, for every batch, its kernel at four places; the dense layers their inputs,
    the log-softmax and labels of eight bytes."""
    results = answer(CASES[1])
    assert results.question.pooling == "avg"

    def conv1(channels: int, batch: int) -> int:
        return batch * (4 * 4 + 1 + 4 * channels) * 13 * 13 + 4 * channels * (4 * 4 + 1)

    def conv2(channels: int, batch: int) -> int:
        return batch * (720 + 1 + 4 * channels) * 4 * 4 + 4 * channels * (720 + 1)

    def held(way: str) -> list[float]:
        return [device.activations / ITEM for device in results[way].devices]

    connected = 800 + 128 + 10 + 1
    for way, batches in ((ONE, [BATCH]), (DATA, [19, 18])):
        assert held(way) == [conv1(20, n) + conv2(50, n) + n * connected for n in batches]
    parts = [8, 8, 7, 7, 7]  # the micro-batches
    assert held(LAYERS) == [
        sum(conv1(20, n) for n in parts),
        sum(conv2(50, n) + n * connected for n in parts),
    ]
    half = conv1(10, BATCH) + conv2(25, BATCH) + BATCH * (400 + 64 + 10 + 1)
    assert held(WITHIN) == [half] * 2


# --- time -----------------------------------------------------------------------------------------


def test_times_and_the_pipelines_hours(asked: Question) -> None:
    results = answer(asked)
    for way in results.ways:
        assert len(way.seconds) == asked.steps
        assert 0 <= way.idle < 1
        for device in way.devices:
            assert all(
                0 < busy <= whole for busy, whole in zip(device.busy, way.seconds, strict=True)
            )
    assert results[ONE].idle == 0
    done = [(work.rank, work.direction, work.micro_batch) for work in results.timeline]
    each = [(way, i) for way in ("forward", "backward") for i in range(asked.micro_batches)]
    assert done == [(rank, *work) for rank in range(asked.devices) for work in each]
    found = {(w.rank, w.direction, w.micro_batch): w for w in results.timeline}
    for rank in range(asked.devices - 1):
        for i in range(asked.micro_batches):  # what a stage takes must have left the other
            there, back = (found[rank, way, i] for way in ("forward", "backward"))
            assert there.end <= found[rank + 1, "forward", i].begin
            assert found[rank + 1, "backward", i].end <= back.begin
            assert 0 <= there.begin < there.end <= back.begin < back.end
    # devices begin as the machine lets them, but none is done before all have begun
    assert max(work.end for work in results.timeline) <= 2 * max(results[LAYERS].seconds)


def test_the_time_of_one_device_alone_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others have nothing to do then, which takes them long on a busy machine."""
    receive = measuring._receive

    def with_a_late_device(*given: Any) -> measuring.Messages:
        received = receive(*given)
        for message in received[ONE]:
            message["seconds"] += 1000 * message["rank"]
        return received

    monkeypatch.setattr(measuring, "_receive", with_a_late_device)
    alone = measuring.run(question(2, "max", 4, 2))[ONE]
    assert max(alone.seconds) < 1000
    assert alone.idle == 0


# --- which images ---------------------------------------------------------------------------------


def test_without_real_images_they_are_generated_and_said_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_of: list[bool] = []

    def nowhere(*, remote: bool) -> None:
        asked_of.append(remote)
        raise MissingError("fashion-mnist is not here", "Fetch it.")

    monkeypatch.setattr(measuring.fashion_mnist, "load", nowhere)
    assert measuring.load_examples(Question()).origin.generated
    assert measuring.load_examples(Question(data="generated")).origin.generated
    with pytest.raises(MissingError, match="Fetch it"):
        measuring.load_examples(Question(data="real"))
    assert asked_of == [False, True]  # what was not asked for is not fetched from elsewhere


# --- what cannot be asked -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"devices": 0}, "devices = 0: is not a number of devices"),
        ({"devices": 7}, "devices = 7: conv1 has no more than 6 parts.*Give at most 6"),
        ({"devices": 6}, "devices = 6: the model has 5 layers.*Give at most 5"),
        ({"devices": 5, "pooling": "avg"}, "devices = 5: the model has 4 layers.*at most 4"),
        ({"batch_size": 0}, "batch_size = 0: must be at least 1"),
        ({"steps": 0}, "steps = 0: must be at least 1"),
        ({"micro_batches": 9, "batch_size": 8}, "micro_batches = 9: a batch of 8"),
        ({"pooling": "min"}, "pooling = 'min': is not known. Known: avg, max."),
        ({"precision": "float16"}, "precision = 'float16': is not known"),
        ({"data": "reel"}, "data = 'reel': is not known. Did you mean 'real'"),
        ({"ways": ("by hand",)}, "ways = 'by hand': is not known"),
    ],
)
def test_mistakes(fields: dict[str, object], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        Question(**fields)  # type: ignore[arg-type]


def test_limits_are_those_of_the_ways_asked_for() -> None:
    assert Question(devices=6, ways=(DATA, WITHIN)).devices == 6
    assert Question(devices=64, ways=(DATA,), batch_size=3, micro_batches=4).devices == 64
