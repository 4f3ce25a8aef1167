"""The experiment `devices`, small: the same model on 1 and 2 devices, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lockstep import recipes
from lockstep.cli import main
from lockstep.experiments import devices
from lockstep.experiments.asking import ask
from lockstep.experiments.runs import Runs, Work
from lockstep.report.tables import TextTable

SMALL = {
    "data.source": "generated", "data.max_examples": 192, "batch_size": 32, "epochs": 2,
    "framework": "numpy", "precision": "float64",
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    work = Work(tmp_path_factory.mktemp("devices"), changes=SMALL)
    return devices.EXPERIMENT.run(devices.Question((3,)), work)


def test_the_runs_are_the_chapters() -> None:
    planned = list(devices.runs(devices.Question()))
    assert [run.spec.devices for run in planned] == [1, 2, 4, 8]
    for run in planned:
        spec = run.spec
        assert (spec.model.pooling, spec.batch_size, spec.epochs) == ("avg", 256, 10)
        assert [spec.schedule(epoch) for epoch in (7, 8)] == pytest.approx([0.2, 0.02])
        assert (spec.schedule(0), spec.precision, spec.style) == (0.2, "float32", "scratch")
    # one device is always among them: the others are compared with it
    assert [run.spec.devices for run in devices.runs(devices.Question((4, 2)))] == [1, 2, 4]


def test_all_walk_the_path_of_one_device(found: Runs) -> None:
    one, three = found
    loss = np.asarray(one.history[:, "loss"])
    assert len(loss) == 12
    assert abs(loss[-1] - loss[0]) > 1e-3  # it moved
    # float64: only the order of sums differs
    np.testing.assert_allclose(three.history[:, "loss"], loss, rtol=1e-12)
    assert three.metrics["test_accuracy"] == one.metrics["test_accuracy"]


def test_table(found: Runs) -> None:
    table, line = devices.tables(found)
    assert isinstance(table, TextTable)
    one, three = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert one["run"] == "1 device"
    assert one["points from 1 device"] == ""
    assert one["sent by a device"] == "0 B"
    assert three["points from 1 device"] == "+0.00"
    assert three["loss within 1e-06 until"] == "the end"
    assert "3" in three["ran as"]  # how the devices were carried out
    assert "counted, not measured" in str(line)


def test_bytes_follow_from_the_parameters() -> None:
    """LeNet with average pooling: 20 (9 + 1) + 50 (20 25 + 1) + 128 (800 + 1) + 10 (128 + 1)."""
    spec = recipes.fashion_lenet(precision="float64", devices=8, **{"model.pooling": "avg"})
    length = 200 + 25_050 + 102_528 + 1_290
    # a ring sends at most 2 (n - floor(n / k)) elements of 8 bytes a step
    assert devices.sent(spec, 7) == 7 * 8 * 2 * (length - length // 8)
    assert devices.sent(recipes.fashion_lenet(), 7) == 0


def test_the_chart_shows_every_run(found: Runs) -> None:
    by_epoch, deviation, by_time, times, moved = devices.chart(found).panels
    for panel in (by_epoch, by_time):
        assert [series.label for series in panel.series] == ["1 device", "3 devices"]
        for series, run in zip(panel.series, found, strict=True):
            accuracies = [100 * event.metrics["test_accuracy"] for event in run.history.epochs]
            np.testing.assert_allclose(series.y, accuracies)
    np.testing.assert_allclose(by_epoch.series[0].x, [1, 2])
    # equal curves are seen one upon the other
    assert by_epoch.series[0].width > by_epoch.series[1].width
    (series,) = deviation.series
    one, three = (np.asarray(run.history[:, "loss"]) for run in found)
    largest = np.max(np.abs(three - one) / np.abs(one))
    assert series.label == "3 devices"
    assert max(series.y) == pytest.approx(max(largest, 1e-17), rel=0.1)
    assert list(series.y) == sorted(series.y)  # the largest so far
    assert times.rows == moved.rows == ("1 device", "3 devices")
    np.testing.assert_allclose([bar.end for bar in times.bars], [r.history.seconds for r in found])
    assert moved.bars[1].end == devices.sent(found.all[1].spec, 12) / 1e6


def test_quick(tmp_path: Path) -> None:
    """As `--quick` does, on generated images and in processes."""
    pytest.importorskip("torch")
    fields = {"data.source": "generated", "data.max_examples": 256, "batch_size": 64}
    fields["precision"] = "float64"  # only the order of sums differs
    outcome = ask("devices", out=tmp_path, quick=True, epochs=1, **fields)
    one, two = outcome.found
    assert (one.spec.devices, two.spec.devices) == (1, 2)
    assert one.spec.framework == two.spec.framework == "torch"
    assert any("2 processes" in note for note in two.history.notes)
    np.testing.assert_allclose(two.history[:, "loss"], one.history[:, "loss"], rtol=1e-12)
    assert (tmp_path / "page.html").exists()


def test_a_framework_that_is_missing_is_named_before_anything_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCKSTEP_ENVIRONMENTS", str(tmp_path / "none"))
    words = ["--framework", "numpy,mxnet", "--data", "generated", "--out", str(tmp_path / "out")]
    assert main(["experiment", "devices", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "framework = 'mxnet': is not installed here" in err
    assert not (tmp_path / "out" / "runs").exists()


def test_what_is_compared_cannot_be_set(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["--devices", "1,none", "--out", str(tmp_path)]
    assert main(["experiment", "devices", *words]) == 2
    assert "devices = 'none': is not a whole number" in capsys.readouterr().err
