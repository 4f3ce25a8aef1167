"""MLflow: a run's curves, its settings and how it ended, through MLflow's own client."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from lockstep.checks import whole
from lockstep.errors import InputError, MissingError
from lockstep.loggers.points import Point, points, replayed, stride
from lockstep.spec.convert import flatten
from lockstep.training.directory import RunDirectory, holds_run
from lockstep.training.events import (
    Event,
    ProgramCompiled,
    RemarkMade,
    RunCompleted,
    RunDiverged,
    RunInterrupted,
    RunStarted,
)

if TYPE_CHECKING:
    from lockstep.spec import RunSpec

EXPERIMENT = "lockstep"
FOLDER = "lockstep.folder"  # the tag by which a run that is resumed is found again
ENDED: dict[type, str] = {RunCompleted: "FINISHED", RunDiverged: "FAILED", RunInterrupted: "KILLED"}
LONGEST = 500  # letters of a setting that every server takes
MOST_METRICS = 1000  # in one request
RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"  # as MLflow reads it, at each request


class MLflow:
    """A logger: `ls.train(run, out="a", listeners=[ls.loggers.MLflow("http://localhost:5000")])`.

    `uri` names the server or store, as MLflow does. Steps are chosen as for TensorBoard. A run that
    is resumed goes on in the same run of MLflow, by its folder; the steps that it repeats are there
    already and are left out, for MLflow can take nothing back.
    """

    def __init__(self, uri: str, experiment: str = EXPERIMENT, every: int | None = None) -> None:
        self.uri, self.experiment = uri, experiment
        if every is not None:
            whole("every", every)
        self._every = every

    def __str__(self) -> str:
        return f"the log for MLflow at {self.uri}"

    def begin(self, spec: RunSpec, folder: Path | None) -> None:
        """Find the store and, of a run that is resumed, the run in it. Nothing is changed there:
        the run may yet be refused."""
        client, problem_of = import_mlflow()
        self._spec, self._folder = spec, folder.resolve() if folder else None
        self._run = RunDirectory(folder) if folder and holds_run(folder) else None
        self._id = self._before = ""
        self._newest: dict[str, int] = {}
        try:
            with _little_patience():
                self._client = client(tracking_uri=self.uri, registry_uri="file:")
                found = self._client.get_experiment_by_name(self.experiment)
            if self._run is not None and found:
                self._find_run(found.experiment_id)
        except problem_of as error:
            problem = f"MLflow does not take it ({str(error).splitlines()[0]})"
            remedy = "Name a server, such as http://localhost:5000, or a store."
            raise InputError("mlflow", self.uri, problem, remedy) from None

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._start(event)
        if not self._id:
            return
        self._log(event, time.time())
        if isinstance(event, ProgramCompiled):
            self._client.set_tag(self._id, "lockstep.ran_as", "; ".join(event.notes))
        elif isinstance(event, RemarkMade):
            self._client.set_tag(self._id, f"lockstep.note.{event.step}", event.text)
        elif type(event) in ENDED:
            self._client.set_terminated(self._id, ENDED[type(event)])
            self._id = ""

    def end(self) -> None:
        if self._id:  # it was stopped, or failed
            self._client.set_terminated(self._id, "KILLED")
            self._id = ""

    def _find_run(self, experiment: str) -> None:
        """Find the run that was logged before, and how far."""
        query = f"tags.`{FOLDER}` = '{_tag(self._folder)}'"
        found = self._client.search_runs([experiment], query, max_results=1)
        if found:
            self._before = found[0].info.run_id
            for name in found[0].data.metrics:
                history = self._client.get_metric_history(self._before, name)
                self._newest[name] = max(metric.step for metric in history)

    def _start(self, event: RunStarted) -> None:
        self._stride = self._every or stride(event.num_steps)
        if self._before:
            self._id = self._before
            self._client.update_run(self._id, status="RUNNING")
        else:
            name = self._folder.name if self._folder else self._spec.name
            tags = {FOLDER: _tag(self._folder)} if self._folder else {}
            made = self._client.create_run(self._experiment_id(), tags=tags, run_name=name)
            self._id = made.info.run_id
            for field, value in flatten(self._spec.to_dict()).items():
                self._client.log_param(self._id, field, str(value)[:LONGEST])
            note = indent(self._spec.to_toml(), "    ")
            self._client.set_tag(self._id, "mlflow.note.content", note)
        if event.step and self._run is not None:
            end = self._run.log.stat().st_mtime
            for before, at in replayed(self._run.history(), end, event.step):
                self._log(before, at)

    def _experiment_id(self) -> str:
        """Of the experiment, which another run may have made since this one began."""
        found = self._client.get_experiment_by_name(self.experiment)
        made: str = (
            found.experiment_id if found else self._client.create_experiment(self.experiment)
        )
        return made

    def _log(self, event: Event, at: float) -> None:
        from mlflow.entities import Metric

        metrics = [
            Metric(name, value, int(point.time * 1000), point.step)
            for point in points(event, at, self._stride)
            for name, value in self._new(point)
        ]
        for start in range(0, len(metrics), MOST_METRICS):
            self._client.log_batch(self._id, metrics=metrics[start : start + MOST_METRICS])

    def _new(self, point: Point) -> list[tuple[str, float]]:
        """The values of a point that are not there yet."""
        return [(n, v) for n, v in point.values.items() if point.step > self._newest.get(n, -1)]


@contextmanager
def _little_patience() -> Iterator[None]:
    """While inside, a server that does not answer is given up after seconds, unless the environment
    says otherwise. MLflow tries for four minutes, which is right only once a run goes on."""
    if RETRIES in os.environ:
        yield
        return
    os.environ[RETRIES] = "2"
    try:
        yield
    finally:
        os.environ.pop(RETRIES, None)


def import_mlflow() -> tuple[Any, type[Exception]]:
    """MLflow's client, and the error that it raises."""
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError:
        remedy = "Install it with: pip install 'lockstep-train[mlflow]'"
        raise MissingError("mlflow is not installed", remedy) from None
    return MlflowClient, MlflowException


def _tag(folder: Path | None) -> str:
    """The text that a run's folder is looked up by; a query knows no way to write a quote.

    >>> _tag(Path("/home/o'neill/a"))
    '/home/o%27neill/a'
    """
    return str(folder).replace("'", "%27")
