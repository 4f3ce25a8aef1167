"""TensorBoard's own reader finds a run's curves: at their steps, whole, none of them twice."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tensorboard.plugins.hparams.metadata import parse_session_start_info_plugin_data

import lockstep as ls
from lockstep.errors import InputError, MissingError
from lockstep.loggers.tensorboard import SUFFIX
from lockstep.training import Result, Training
from lockstep.training.events import Event, StepsCompleted
from lockstep.training.in_processes import Launch

from .reading import curve, read, text

RUN = ls.recipes.airfoil_linear(epochs=2, batch_size=50, checkpoint_steps=20)  # 60 steps


def float32(values: np.ndarray) -> list[float]:
    return values.astype(np.float32).tolist()


def assert_whole(folder: Path, result: Result) -> None:
    """Every step and every epoch of the run is there once, with its value."""
    found, history = read(folder), result.history
    for name in ("loss", "grad_norm", "lr"):
        steps, values = zip(*curve(found, name), strict=True)
        assert list(steps) == list(range(len(history)))
        assert list(values) == float32(history[:, name])
    epochs = [(e.step, *float32(np.array([e.metrics["train_loss"]]))) for e in history.epochs]
    assert curve(found, "train_loss") == epochs


def test_a_run_is_there_by_its_folders_name(tmp_path: Path) -> None:
    begin = time.time()
    result = ls.train(RUN, out=tmp_path / "a", listeners=[ls.loggers.TensorBoard(tmp_path / "tb")])
    assert result.history[0, "loss"] > 2 * result.history[-1, "loss"]
    assert_whole(tmp_path / "tb" / "a", result)
    found = read(tmp_path / "tb" / "a")
    times = [event.wall_time for event in found.Scalars("loss")]
    assert times == sorted(times)
    assert begin <= times[0] <= times[-1] <= time.time()
    assert 'kind = "airfoil"' in text(found, "spec")
    assert text(found, "ran as") == "\n\n".join(result.history.notes)
    content = found.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    settings = parse_session_start_info_plugin_data(content).hparams
    assert settings["batch_size"].number_value == 50
    assert settings["optimizer.kind"].string_value == "sgd"


def test_steps_that_a_resumed_run_repeats_are_there_once(tmp_path: Path) -> None:
    def crash(event: Event, training: Training) -> None:
        if isinstance(event, StepsCompleted) and training.step >= 35:
            raise RuntimeError("lost")

    logger = ls.loggers.TensorBoard(tmp_path / "tb")
    with pytest.raises(RuntimeError, match="lost"):
        ls.train(RUN, out=tmp_path / "a", listeners=[logger], callbacks=[crash], event_steps=5)
    assert curve(read(tmp_path / "tb" / "a"), "loss")[-1][0] == 34
    result = ls.resume(tmp_path / "a", listeners=[logger])  # from step 20
    assert_whole(tmp_path / "tb" / "a", result)


def test_one_that_is_resumed_at_an_epochs_end_keeps_its_metrics(tmp_path: Path) -> None:
    spec = RUN.with_fields({"evaluate_steps": 10})
    ls.train(spec.with_fields({"epochs": 1}), out=tmp_path / "a")
    logger = ls.loggers.TensorBoard(tmp_path / "tb")  # only from here on, and yet all is there
    result = ls.resume(tmp_path / "a", spec=spec, listeners=[logger])
    assert_whole(tmp_path / "tb" / "a", result)
    measured = [step for step, _ in curve(read(tmp_path / "tb" / "a"), "final_train_loss")]
    assert measured == [0, 10, 20, 30, 40, 50, 60]


def test_a_run_in_another_process(tmp_path: Path) -> None:
    logger = ls.loggers.TensorBoard(tmp_path / "tb")
    result = ls.train(RUN, out=tmp_path / "a", listeners=[logger], launch=Launch(apart=True))
    assert_whole(tmp_path / "tb" / "a", result)


def test_runs_without_a_folder_have_folders_of_their_own(tmp_path: Path) -> None:
    results = [ls.train(RUN, listeners=[ls.loggers.TensorBoard(tmp_path)]) for _ in range(2)]
    name = f"airfoil-linear-numpy-{RUN.hash}"
    assert_whole(tmp_path / name, results[0])
    assert_whole(tmp_path / f"{name}-2", results[1])


def test_every_so_many_steps(tmp_path: Path) -> None:
    logger = ls.loggers.TensorBoard(tmp_path / "tb", every=7)
    result = ls.train(RUN, out=tmp_path / "a", listeners=[logger], event_steps=4)
    steps, values = zip(*curve(read(tmp_path / "tb" / "a"), "loss"), strict=True)
    assert list(steps) == list(range(0, 60, 7))
    assert list(values) == float32(result.history[::7, "loss"])


# --- what goes wrong ------------------------------------------------------------------------------


def test_a_full_disk_ends_the_log_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file = Path.open

    def on_a_full_disk(path: Path, *args: str, **how: int) -> object:
        if path.name.endswith(SUFFIX):
            return open_file(Path("/dev/full"), "wb")
        return open_file(path, *args, **how)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", on_a_full_disk)
    heard: list[Event] = []
    logger = ls.loggers.TensorBoard(tmp_path / "tb")
    result = ls.train(RUN, out=tmp_path / "a", listeners=[logger, heard.append])
    assert result.status == "completed"
    assert len(result.history) == 60
    (remark,) = result.history.remarks
    assert "TensorBoard" in remark
    assert "No space left" in remark
    assert "lockstep export" in remark
    assert remark in [getattr(event, "text", "") for event in heard]
    held = ls.resume(tmp_path / "a")  # completed already: as its folder tells
    assert not held.ran
    assert held.history.remarks == [remark]


def test_a_place_that_cannot_be_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "tb").write_text("a file")
    with pytest.raises(InputError, match=r"tensorboard = .*is a file. Name a folder"):
        ls.train(RUN, out=tmp_path / "a", listeners=[ls.loggers.TensorBoard(tmp_path / "tb")])
    assert not (tmp_path / "a").exists()


def test_the_curves_of_another_run_are_not_mixed_up(tmp_path: Path) -> None:
    logger = ls.loggers.TensorBoard(tmp_path / "tb")
    ls.train(RUN, out=tmp_path / "one" / "a", listeners=[logger])
    with pytest.raises(InputError, match="there is a a already, of another run"):
        ls.train(RUN, out=tmp_path / "two" / "a", listeners=[logger])
    assert not (tmp_path / "two").exists()
    ls.train(RUN.with_fields({"max_steps": 5}), out=tmp_path / "two" / "a")
    with pytest.raises(InputError, match=r"of another run \(.*one/a\)"):
        ls.resume(tmp_path / "two" / "a", spec=RUN, listeners=[logger])


def test_without_tensorboard_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MissingError, match=r"pip install 'lockstep-train\[tensorboard\]'"):
        ls.train(RUN, out=tmp_path / "a", listeners=[ls.loggers.TensorBoard(tmp_path / "tb")])
    assert not (tmp_path / "a").exists()
