"""`lockstep scale`: what it measures, forecasts, checks, shows and refuses."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lockstep.experiments.allreduce.cost import Link
from lockstep.experiments.allreduce.measuring import Results
from lockstep.experiments.allreduce.question import Question
from lockstep.experiments.horovod import PUBLISHED, predicted
from lockstep.experiments.scaling import measuring
from lockstep.experiments.scaling.overlap import WAYS

from .conftest import SMALL_TEXT, Command

AIRFOIL = ("scale", "airfoil-linear", "--framework", "numpy", "--seconds", "0.01")


def test_a_recipe_is_measured_at_every_batch_size(lockstep: Command) -> None:
    done = lockstep(*AIRFOIL, "--devices", "1,2,4,64", "--no-check", "--json")
    assert done.code == 0, done.err
    found = done.json
    assert set(found["seconds"]) == {"10", "5", "3", "1"}
    assert all(seconds > 0 for seconds in found["seconds"].values())
    assert found["gradient"] == 4 * 6  # five weights and a bias in float32
    assert {piece["name"] for piece in found["pieces"]} == {"w", "b"}
    assert len(found["rows"]) == 2 * 4 * 6
    for row in found["rows"]:
        size = 10 if row["scaling"] == "weak" else -(-10 // row["devices"])
        assert (row["batch_size"], row["compute"]) == (size, found["seconds"][str(size)])
        if row["devices"] == 1:
            assert row["ways"]["buckets, during"]["efficiency"] == 1.0
        if row["algorithm"] == "star" and row["devices"] > 1:  # 2 rounds of 24 (k-1) bytes
            expected = 2 * (5e-6 + 24 * (row["devices"] - 1) / 3.125e9)
            assert row["exchange"] == pytest.approx(expected)
    assert found["checks"] == []
    assert "scale: 100%" in done.err


def test_a_text_model_in_float64_as_a_table_with_a_figure(lockstep: Command, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    done = lockstep(
        "scale", "timemachine-gru", *SMALL_TEXT, "--framework", "numpy", "--precision", "float64",
        "--seconds", "0.01", "--devices", "8", "--algorithms", "ring,halving-doubling",
        "--bucket", "1KB", "--no-check", "--figure", "scaling.svg",
    )  # fmt: skip
    assert done.code == 0, done.err
    num_weights = 3 * (28 * 8 + 8 * 8 + 8) + 8 * 28 + 28  # H = 8, V = 28
    assert f"gradient {8 * num_weights / 1000:.3g} KB in 5 arrays" in done.out
    assert "weak scaling: 4 examples on each device" in done.out
    assert "strong scaling: 4 examples in all" in done.out
    assert done.out.count("halving doubling") >= 2
    assert "gather broadcast" not in done.out
    assert "in buckets of up to 1 KB" in done.out
    text = (folder / "scaling.svg").read_text()
    assert "efficiency (%)" in text
    assert "halving doubling" in text


def test_two_devices_are_trained_and_set_beside_the_forecast(
    lockstep: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link of 1 ms and training that takes 7 ms a step on two devices."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    link = Link(1e-3, 1e9)

    def bench(asked: Question) -> Results:
        assert (asked.devices, asked.sizes, asked.algorithms) == ((2,), (24,), ("ring",))
        return Results(asked, (), {2: link})

    alone = measuring.carry_out

    def carry_out(spec: object, *rest: object) -> object:
        one = spec.with_fields({"devices": 1})  # type: ignore[attr-defined]
        result = alone(one, *rest)  # type: ignore[arg-type]
        if spec.devices == 2:  # type: ignore[attr-defined]
            rates = np.array([1 / 7e-3])
            monkeypatch.setattr(result.history, "step_rates", lambda: rates)
        return result

    monkeypatch.setattr(measuring, "carry_out", carry_out)
    monkeypatch.setattr("lockstep.experiments.allreduce.measuring.run", bench)
    done = lockstep(*AIRFOIL, "--devices", "1,2,4", "--json")
    weak, strong = done.json["checks"]
    assert [weak["batch_size"], strong["batch_size"]] == [20, 10]
    assert weak["measured"] == strong["measured"] == pytest.approx(7e-3)
    assert weak["efficiency"] == pytest.approx(weak["single"] / 7e-3)
    assert strong["efficiency"] == pytest.approx(weak["single"] / 7e-3 / 2)
    exchange = 2 * (1e-3 + 12 / 1e9)
    for check in (weak, strong):
        assert check["predicted"]["buckets, after"] == pytest.approx(check["compute"] + exchange)
    assert done.json["links_here"] == {
        "2": {"latency": 1e-3, "bandwidth": 1e9, "adding": "inf", "shared": "inf"}
    }
    table = lockstep(*AIRFOIL, "--devices", "1,2,4").out
    assert "checked on this machine" in table
    assert "with the link measured here, 2 devices: 1 GB/s, latency 1e+03 us" in table
    assert "forecast for the network given: 3.12 GB/s, latency 5 us" in table


def test_threads_are_those_of_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with measuring.threads(2):
        assert os.environ["OMP_NUM_THREADS"] == "2"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    monkeypatch.delenv("OMP_NUM_THREADS")
    with measuring.threads(1):
        assert os.environ["OMP_NUM_THREADS"] == "1"
    assert "OMP_NUM_THREADS" not in os.environ


# --- published ------------------------------------------------------------------------------------


def test_horovod(lockstep: Command) -> None:
    done = lockstep("scale", "horovod")
    assert done.code == 0
    rows = [line for line in done.out.splitlines() if " servers, " in line]
    lines = [line for line in rows if line.startswith("vgg-16")]
    assert [line.split()[1] for line in lines] == ["16", "64", "512"]
    assert "68.0 %" in lines[-1]
    found = lockstep("scale", "horovod", "--json").json
    assert len(found) == len(PUBLISHED)
    for values, figure in zip(found, PUBLISHED, strict=True):
        assert values["efficiency"] == figure.efficiency
        expected = predicted(figure).efficiency(WAYS[3])
        assert values["predicted"]["buckets, during"] == expected
    fitted = [values["fitted"] and values["fitted"]["buckets, during"] for values in found]
    assert fitted[3:6] == [None] * 3  # TCP: too few figures
    assert fitted[-1] == pytest.approx(0.68, abs=0.02)


def test_a_published_model(lockstep: Command) -> None:
    """The command with the published setting gives what `horovod` gives."""
    done = lockstep(
        "scale", "resnet-101", "--devices", "512", "--per-host", "4", "--bucket", "64MiB",
        "--algorithms", "ring", "--json",
    )  # fmt: skip
    assert done.code == 0
    row = done.json["rows"][-1]
    figure = next(f for f in PUBLISHED if (f.model, f.devices) == ("resnet-101", 512))
    expected = predicted(figure).efficiency(WAYS[3])
    assert row["ways"]["buckets, during"]["efficiency"] == pytest.approx(expected)
    assert {row["scaling"] for row in done.json["rows"]} == {"weak"}
    assert "strong scaling is left out" in done.json["notes"][0]


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("--devices 2,two", "devices = 'two': is not a whole number"),
        ("--devices 0", "devices = 0: is not a number of devices"),
        ("--devices ,", "devices = ',': has no entry"),
        ("--algorithms rign", "algorithm = 'rign': is not known. Did you mean 'ring'?"),
        ("--bandwidth fast", "bandwidth = 'fast': is not a number with a unit"),
        ("--latency 5Gbit", "latency = '5Gbit': has the unit 'Gbit'"),
        ("--host-bandwidth 0GB", "host-bandwidth = '0GB': lets nothing through"),
        ("--per-host 0", "per-host = 0: is not a number of devices"),
        ("--bucket 1XB", "bucket = '1XB': has the unit 'XB'"),
        ("--figure chart.gif", "figure = 'chart.gif': is neither PNG nor SVG"),
        ("--seconds 0", "seconds = 0.0: measures nothing"),
        ("--threads 0", "threads = 0: must be at least 1"),
        ("--backward 2", "backward = 2.0: is no share. Give 0 to 1"),
    ],
)
def test_mistakes(mistake: Callable[..., str], argv: str, expected: str) -> None:
    said = mistake("scale", "airfoil-linear", "--framework", "numpy", *argv.split())
    assert said.startswith(f"lockstep: {expected}")


def test_an_unknown_recipe(mistake: Callable[..., str]) -> None:
    assert "recipe = 'airfoil': is not known" in mistake("scale", "airfoil", "--no-check")
