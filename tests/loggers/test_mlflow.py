"""MLflow's own client finds a run's curves, its settings and how it ended."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import lockstep as ls
from lockstep.errors import InputError, MissingError
from lockstep.loggers.mlflow import RETRIES
from lockstep.training import Training
from lockstep.training.events import Event, StepsCompleted

RUN = ls.recipes.airfoil_linear(epochs=2, batch_size=50, checkpoint_steps=20)  # 60 steps


@pytest.fixture
def uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of files: mlflow-skinny has no data base, and a server would be another process."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return (tmp_path / "store").as_uri()


def logged(uri: str) -> tuple[Any, list[Any]]:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("lockstep")
    return client, client.search_runs([experiment.experiment_id])


def test_curves_settings_and_end(tmp_path: Path, uri: str) -> None:
    result = ls.train(RUN, out=tmp_path / "a", listeners=[ls.loggers.MLflow(uri)])
    client, (run,) = logged(uri)
    assert run.info.run_name == "a"
    assert run.info.status == "FINISHED"
    assert run.data.params["batch_size"] == "50"
    assert run.data.params["optimizer.kind"] == "sgd"
    metrics = client.get_metric_history(run.info.run_id, "loss")
    assert [(m.step, m.value) for m in metrics] == list(enumerate(result.history[:, "loss"]))
    epochs = client.get_metric_history(run.info.run_id, "train_loss")
    assert [(m.step, m.value) for m in epochs] == [
        (e.step, e.metrics["train_loss"]) for e in result.history.epochs
    ]


def test_a_resumed_run_goes_on_in_the_same_one(tmp_path: Path, uri: str) -> None:
    def crash(event: Event, training: Training) -> None:
        if isinstance(event, StepsCompleted) and training.step >= 35:
            raise RuntimeError("lost")

    logger, folder = ls.loggers.MLflow(uri), tmp_path / "o'neill"
    with pytest.raises(RuntimeError, match="lost"):
        ls.train(RUN, out=folder, listeners=[logger], callbacks=[crash], event_steps=5)
    _, (run,) = logged(uri)
    assert run.info.status == "KILLED"
    result = ls.resume(folder, listeners=[logger])
    client, (run,) = logged(uri)
    assert run.info.status == "FINISHED"
    metrics = client.get_metric_history(run.info.run_id, "loss")
    assert [(m.step, m.value) for m in metrics] == list(enumerate(result.history[:, "loss"]))


def test_a_run_that_is_refused_changes_nothing(tmp_path: Path, uri: str) -> None:
    from mlflow import MlflowClient

    logger, folder = ls.loggers.MLflow(uri), tmp_path / "a"
    logger.begin(RUN, folder)
    logger.end()
    assert MlflowClient(tracking_uri=uri).get_experiment_by_name("lockstep") is None
    ls.train(RUN, out=folder, listeners=[logger])
    logger.begin(RUN, folder)  # what a resume begins with; then it is refused
    logger.end()
    _, (run,) = logged(uri)
    assert run.info.status == "FINISHED"


def test_a_store_that_is_none_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"mlflow = 'nothing://like/it'"):
        ls.train(RUN, out=tmp_path / "a", listeners=[ls.loggers.MLflow("nothing://like/it")])
    assert not (tmp_path / "a").exists()


def test_a_server_that_does_not_answer_is_refused_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLflow itself tries for four minutes, in which a person would see nothing."""
    monkeypatch.delenv(RETRIES, raising=False)
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{taken.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(InputError, match=uri):
            ls.train(RUN, out=tmp_path / "a", listeners=[ls.loggers.MLflow(uri)])
    assert time.monotonic() - begin < 30
    assert RETRIES not in os.environ  # later requests are as patient as MLflow is


def test_without_mlflow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingError, match=r"pip install 'lockstep-train\[mlflow\]'"):
        ls.train(RUN, listeners=[ls.loggers.MLflow("file:store")])
