"""How steps are measured, with runs that take as long as they are told to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from lockstep import recipes
from lockstep.cli.output import print_json
from lockstep.errors import InputError, LockstepError
from lockstep.experiments.allreduce.cost import Link
from lockstep.experiments.scaling.forecast import Forecast
from lockstep.experiments.scaling.measuring import Check, Job, check_here, measure_steps
from lockstep.experiments.scaling.overlap import WAYS, Piece
from lockstep.experiments.scaling.step_time import Network, Profile, estimate
from lockstep.spec import RunSpec

SPEC = recipes.fashion_lenet(framework="torch", checkpoint_steps=7)


class Clockwork:
    """A timer whose step takes 1 ms and 10 us for each example, a first call ten times that."""

    def __init__(self) -> None:
        self.asked: list[tuple[RunSpec, int]] = []

    def __call__(self, spec: RunSpec, event_steps: int) -> Sequence[float]:
        self.asked.append((spec, event_steps))
        seconds = 1e-3 + 1e-5 * spec.batch_size / spec.devices
        return [10 * seconds, seconds, seconds]


def test_a_step_is_the_median_of_a_run_of_about_so_long() -> None:
    timer = Clockwork()
    (found,) = measure_steps([Job(SPEC, 100)], timer, seconds=1.0)
    assert found == pytest.approx(2e-3)
    (probe, _), *runs = timer.asked
    assert probe.max_steps == 8
    assert len(runs) == 3
    for run, every in runs:
        assert run.max_steps == pytest.approx(500 / 3, abs=1)
        assert every == pytest.approx(run.max_steps / 6, abs=1)
    for spec in (probe, runs[0][0]):
        assert (spec.batch_size, spec.evaluate, spec.checkpoint_steps) == (100, (), 0)
        assert spec.schedule(0) == 1e-6
        assert (spec.model, spec.framework, spec.data) == (SPEC.model, "torch", SPEC.data)


def test_jobs_take_turns_and_what_disturbs_one_turn_does_not_count() -> None:
    """Everything takes ten times as long in the second of three rounds."""
    calm, asked, told = Clockwork(), [], list[str]()

    def timer(spec: RunSpec, event_steps: int) -> Sequence[float]:
        factor = 10 if len(told) in (2, 3) else 1
        asked.append(spec.batch_size)
        return [factor * seconds for seconds in calm(spec, event_steps)]

    several = SPEC.with_fields({"devices": 2})
    found = measure_steps([Job(SPEC, 100), Job(several, 400)], timer, 0.1, told.append)
    assert found == pytest.approx([2e-3, 3e-3])
    assert asked == [100, 100, 400, 400, 100, 400, 100, 400]  # with a probe before the first
    assert told == 3 * ["steps of 100", "steps of 400 on 2 devices"]


@pytest.mark.parametrize(("seconds", "steps"), [(1e-6, 12), (1e9, 20_000)])
def test_neither_too_few_steps_nor_too_many(seconds: float, steps: int) -> None:
    timer = Clockwork()
    measure_steps([Job(SPEC, 100)], timer, seconds)
    assert timer.asked[-1][0].max_steps == steps


def test_mistakes() -> None:
    with pytest.raises(InputError, match=r"seconds = 0: measures nothing"):
        measure_steps([Job(SPEC, 1)], Clockwork(), 0)
    with pytest.raises(LockstepError, match="batch_size = 3: the run ended before its first steps"):
        measure_steps([Job(SPEC, 3)], lambda spec, every: [], 1.0)


PROFILE = Profile("net", 256, {256: 3.56e-3, 128: 2.28e-3}, (Piece("w", 1000, 1.0),))
NETWORK = Network(Link(1e-4, 1e8))


def checked() -> list[Check]:
    timer = Clockwork()
    slower = replace(PROFILE, seconds={256: 1.0, 128: 1.0})  # measured anew, in the same turns
    found = check_here(SPEC, slower, 2, NETWORK, lambda jobs: measure_steps(jobs, timer, 0.1))
    asked = {(spec.devices, spec.batch_size) for spec, _ in timer.asked}
    assert asked == {(1, 256), (1, 128), (2, 512), (2, 256)}
    return found


def test_a_check_trains_the_same_batches_on_several_devices() -> None:
    """Weak: 512 in all, 256 on each; strong: 256 in all. A ring of two: two rounds of 2000 bytes,
    0.24 ms after the backward pass, all in one bucket."""
    weak, strong = checked()
    assert (weak.scaling, weak.batch_size, weak.devices) == ("weak", 512, 2)
    assert (strong.scaling, strong.batch_size, strong.devices) == ("strong", 256, 2)
    assert weak.measured == pytest.approx(1e-3 + 256e-5)
    assert strong.measured == pytest.approx(1e-3 + 128e-5)
    for check, compute in ((weak, 3.56e-3), (strong, 2.28e-3)):
        assert check.compute == pytest.approx(compute)
        assert check.predicted[WAYS[1]] == pytest.approx(compute + 0.24e-3)
    assert weak.efficiency == pytest.approx(1.0)
    assert strong.efficiency == pytest.approx(3.56 / 2 / 2.28)


def test_json_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    rows = estimate(PROFILE, [1, 2], ["ring", "tree"], NETWORK)
    forecast = Forecast(
        PROFILE, "by hand", NETWORK, tuple(rows), tuple(checked()), {2: NETWORK}, ("a note",)
    )
    print_json(forecast.to_dict())
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["gradient"], found["batch_size"]) == ("net", 4000, 256)
    assert found["seconds"] == {"256": 3.56e-3, "128": 2.28e-3}
    assert found["pieces"] == [{"name": "w", "length": 1000, "ready": 1.0}]
    assert [(r["scaling"], r["devices"], r["algorithm"]) for r in found["rows"]] == [
        (scaling, k, name)
        for scaling in ("weak", "strong")
        for k in (1, 2)
        for name in ("ring", "tree")
    ]
    way = found["rows"][2]["ways"]["buckets, after"]
    assert way["step"] == pytest.approx(3.8e-3)
    assert way["speed_up"] == pytest.approx(2 * 3.56 / 3.8)
    assert way["efficiency"] == pytest.approx(3.56 / 3.8)
    weak, _ = found["checks"]
    assert (weak["devices"], weak["batch_size"]) == (2, 512)
    assert weak["predicted"]["buckets, during"] == pytest.approx(3.8e-3)
    assert found["links_here"]["2"]["latency"] == 1e-4
    assert found["network"]["link"]["adding"] == "inf"
    assert found["notes"] == ["a note"]
