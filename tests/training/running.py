"""Small runs for the tests of this room, stopping them at an exact step, and comparing two."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import lockstep as ls
from lockstep.ops import Snapshot
from lockstep.training import Callback, Result, Training, checkpoints
from lockstep.training.directory import RunDirectory
from lockstep.training.events import EpochCompleted, Event, StepsCompleted
from lockstep.training.history import COLUMNS
from lockstep.training.steps import RECORD, checks

SOURCE = Path(ls.__file__).resolve().parents[1]

LIMIT = 60.0  # seconds that anything may take on a busy machine

# every way that a run can be computed: framework, style, fused
PATHS: dict[str, dict[str, Any]] = {
    "numpy": {"framework": "numpy"},
    "torch": {"framework": "torch"},
    "torch-plain": {"framework": "torch", "fused": False},
    "torch-concise": {"framework": "torch", "style": "concise"},
    "jax": {"framework": "jax"},
    "jax-concise": {"framework": "jax", "style": "concise"},
}

# every recipe, made small; each epoch has a few steps, and the examples do not divide evenly
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "airfoil": ("airfoil-linear", {"data.max_examples": 211, "batch_size": 32}),
    "lenet": ("fashion-lenet", {"data.max_examples": 100, "batch_size": 32}),
    "lenet-avg": (
        "fashion-lenet",
        {"data.max_examples": 100, "batch_size": 32, "model.pooling": "avg"},
    ),
    "softmax": ("fashion-softmax", {"data.max_examples": 100, "batch_size": 32}),
    "mlp": (
        "fashion-mlp",
        {"data.max_examples": 100, "batch_size": 32, "model.hiddens": "16"},
    ),
    "rnn": ("timemachine-rnn", {}),
    "gru-before": ("timemachine-gru", {"model.reset": "before"}),
    "gru-after": ("timemachine-gru", {"model.reset": "after"}),
    "recall": ("recall-gru", {"data.num_sequences": 44, "data.window": 6, "batch_size": 8}),
    "gru-random": ("timemachine-gru", {"model.reset": "after", "data.sampling": "random"}),
}
TEXT = {"data.max_tokens": 400, "data.window": 7, "batch_size": 8, "model.num_hiddens": 12}
RATES = {"sgd": 0.1, "sgld": 0.1, "adagrad": 0.05, "adadelta": 1.0}  # of the others: 0.01


def small(task: str, path: str = "numpy", optimizer: str = "sgd", **fields: Any) -> ls.RunSpec:
    """A recipe made small, on generated data (airfoil is embedded), in one of the paths."""
    recipe, changes = TASKS[task]
    spec = ls.recipes.get(recipe, epochs=3)
    text = TEXT if recipe.startswith("timemachine") else {}
    source = {} if task in ("airfoil", "recall") else {"data.source": "generated"}
    clip = {"optimizer.clip_norm": spec.optimizer.clip_norm}
    spec = spec.with_fields({"optimizer": optimizer} | text | source | changes)
    spec = spec.with_fields(clip | {"evaluate": "train"} | PATHS[path] | fields)
    return spec.with_lr(RATES.get(optimizer, 0.01)) if "schedule" not in fields else spec


def at_step(step: int) -> Callback:
    """Stop the run once `step` steps are done, before an epoch's end is recorded."""

    def callback(event: Event, training: Training) -> None:
        if isinstance(event, StepsCompleted) and training.step >= step:
            training.stop()

    return callback


def after_epoch(epoch: int) -> Callback:
    """Stop the run once the end of `epoch` is recorded."""

    def callback(event: Event, training: Training) -> None:
        if isinstance(event, EpochCompleted) and event.epoch >= epoch:
            training.stop()

    return callback


def assert_same_snapshot(one: Snapshot, other: Snapshot) -> None:
    """Equal to the last bit: names, types, shapes and values."""
    for group in ("weights", "slots", "carry"):
        mine, theirs = getattr(one, group), getattr(other, group)
        assert mine.keys() == theirs.keys(), group
        for name, value in mine.items():
            assert value.dtype == theirs[name].dtype, name
            assert value.shape == theirs[name].shape, name
            assert value.tobytes() == theirs[name].tobytes(), f"{group}/{name}"


def assert_same_run(one: Result, other: Result) -> None:
    """Equal to the last bit: the state, every step's record and every epoch's metrics."""
    assert one.status == other.status
    for column in COLUMNS:
        assert one.history[:, column].tolist() == other.history[:, column].tolist(), column
    assert [(e.epoch, e.step) for e in one.history.epochs] == [
        (e.epoch, e.step) for e in other.history.epochs
    ]
    for mine, theirs in zip(one.history.epochs, other.history.epochs, strict=True):
        assert mine.metrics == theirs.metrics
    assert_same_snapshot(one.snapshot, other.snapshot)


def assert_whole_log(folder: Path, num_steps: int) -> None:
    """Every step is recorded once, in its place: its record carries the check of its step."""
    records = np.fromfile(folder / "steps.bin", RECORD)[1:]  # the header is as long as a record
    assert records["check"].tolist() == checks(records, 0).tolist()
    assert len(records) == num_steps
    assert not [e for e in RunDirectory(folder).events() if isinstance(e, StepsCompleted)]


def assert_learned(result: Result) -> None:
    """The loss moved, and down: the mean of the last epoch is below that of the first."""
    first, last = result.history.epochs[0], result.history.epochs[-1]
    assert last.metrics["train_loss"] < first.metrics["train_loss"]
    assert np.ptp(result.history[:, "loss"]) > 0


def command(*words: object) -> list[str]:
    """`lockstep WORDS` in a new interpreter; a file in the current folder is no package."""
    return [sys.executable, "-P", "-m", "lockstep", *map(str, words)]


def environment() -> dict[str, str]:
    """This process's, with the way to the source under test."""
    return os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}


def lockstep(*words: object, cwd: Path, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Carry out a command to its end."""
    return subprocess.run(
        command(*words), cwd=cwd, env=environment(), capture_output=True, text=True, timeout=timeout
    )


def started(
    *words: object, cwd: Path, python: Path | str = sys.executable
) -> subprocess.Popen[str]:
    """Start a command, in a process group of its own, as a shell does."""
    return subprocess.Popen(
        [str(python), *command(*words)[1:]],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """However the test goes on, the process does not outlive it."""
    try:
        yield
    finally:
        process.kill()
        process.wait()


def wait_until(process: subprocess.Popen[str], condition: Callable[[], object]) -> None:
    """The process must not end before the condition holds."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def changed(path: Path) -> int:
    """When a file was last written to; 0 before it is there."""
    return path.stat().st_mtime_ns if path.exists() else 0


def assert_same_end(folder: Path, spec: ls.RunSpec) -> None:
    """The folder holds the state and the record of an undisturbed run, to the last bit."""
    whole = ls.train(spec)
    newest = checkpoints.newest(folder / "checkpoints")
    assert newest is not None
    assert_same_snapshot(checkpoints.load(newest)[0], whole.snapshot)
    history = RunDirectory(folder).history()
    for column in COLUMNS:
        assert history[:, column].tolist() == whole.history[:, column].tolist(), column
    found = [(e.epoch, e.step, e.metrics) for e in history.epochs]
    assert found == [(e.epoch, e.step, e.metrics) for e in whole.history.epochs]
    assert_whole_log(folder, len(whole.history))
