"""Predictions of a trained run for new examples, read as those that it learned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.data import data_set
from lockstep.data.encoding import Encoding
from lockstep.data.examples import NewExamples
from lockstep.data.new_rows import plain_examples
from lockstep.errors import InputError
from lockstep.models.fitting import as_numbers
from lockstep.ops import Arrays
from lockstep.spec import OwnData, RunSpec
from lockstep.task import Own, Task, check_own, load_encoding, load_own
from lockstep.training.directory import RunDirectory
from lockstep.training.model_outputs import TrainedModel, outputs
from lockstep.training.predictions import Predictions
from lockstep.training.references import references

READING = ("file", "header", "separator")  # how a new file is read may be another
FLOAT = np.dtype(np.float64)
MOST_BYTES = 4 * 2**30  # of the scores of a text, a float64 for each symbol at each place


@dataclass(frozen=True)
class Predictor:
    """A run's model, and how it reads examples: by the `encoding` of its file, or in the `shape`
    and `dtype` that its own arrays have."""

    trained: TrainedModel
    shape: tuple[int, ...] = ()
    dtype: np.dtype[Any] = FLOAT
    reading: dict[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> RunSpec:
        return self.trained.spec

    def __call__(self, given: Any, framework: str = "") -> Predictions:
        """What the model says of examples: of a file where a Path is given, else of arrays."""
        found = self._examples(given)
        encoding = self.trained.encoding
        if not len(found.x):
            raise _no_examples(given, encoding)
        if encoding is not None and encoding.symbols:
            _refuse_long(given, len(found.x), len(encoding.symbols))
        scores = outputs(self.trained, found.x, framework or self.spec.framework)
        if encoding is None:
            labelled = getattr(self.spec.data, "loss", "") == "cross_entropy"
            classes = tuple(map(str, range(scores.shape[-1]))) if labelled else ()
            return Predictions(scores, classes)
        if encoding.symbols:
            return Predictions(scores, encoding.symbols, symbols=found.names)
        if encoding.loss == "cross_entropy":
            classes = encoding.classes or tuple(map(str, range(encoding.num_outputs)))
            return Predictions(scores, classes, encoding.target, found.names)
        values = scores * encoding.target_std + encoding.target_mean
        return Predictions(values, target=encoding.target, names=found.names)

    def _examples(self, given: Any) -> NewExamples:
        part: Any = self.spec.data
        encoding = self.trained.encoding
        if not self.trained.is_sequence:
            given = _rows(given)
        if isinstance(part, OwnData):
            return NewExamples(_plain(given, self.shape, self.dtype))
        features = data_set.of(part).features
        if features is not None and encoding is not None:
            return features(replace(part, **self.reading), encoding, given)
        if isinstance(given, Path) or encoding is None or not encoding.input_shape:
            problem = f"has data of its own ({part.kind}), not in a file"
            remedy = "Train table-linear, text-gru or images-lenet on a file: --data.file."
            raise InputError("run", self.spec.name, problem, remedy)
        return NewExamples(_plain(given, encoding.input_shape, FLOAT))


def _plain(given: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Arrays of a shape as they stand, in the type that the model learned from."""
    x = as_numbers("x", plain_examples(given) if isinstance(given, Path) else given)
    if x.shape[1:] != shape:
        problem = f"the model takes examples of shape {shape}"
        wanted = ", ".join(map(str, ("N", *shape)))
        raise InputError("x", x.shape, problem, f"Give an array ({wanted}).")
    if dtype.kind == "f":
        return x.astype(np.float64)
    kind = dtype if dtype in (np.uint8, np.bool_) else np.dtype(np.int32)
    with np.errstate(invalid="ignore"):  # what does not fit is found by looking at it
        fitting = x.astype(kind)
    odd = fitting != x
    if odd.any():
        problem = f"is not of the kind that the model learned from ({kind})"
        raise InputError("x", x[odd][0].item(), problem, "Give whole numbers.")
    return fitting


def _rows(given: Any) -> Any:
    """Examples as given, of equal length: rows of a list, or columns by name."""
    if isinstance(given, str):
        remedy = f"Give the Path of a file: pathlib.Path({given[:40]!r})."
        raise InputError("x", given, "is a text, and the model takes numbers", remedy)
    if isinstance(given, list | tuple):
        try:
            return np.asarray(given)
        except ValueError as error:
            problem = "has rows of different lengths"
            raise InputError("x", given, problem, "Give rows of equal length.") from error
    if isinstance(given, Mapping):
        lengths = {name: np.shape(column)[:1] for name, column in given.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {length}" for name, length in lengths.items())
            remedy = "Give an array (N,) for each, with one N."
            raise InputError("x", told, "has columns of different lengths", remedy)
    return given


def _refuse_long(given: Any, length: int, num_symbols: int) -> None:
    """Refuse a text whose scores would fill the memory."""
    if (most := MOST_BYTES // (8 * num_symbols)) < length:
        problem = f"has {length:,} symbols; with {num_symbols:,} scores for each, {most:,} fit"
        raise InputError(*_named(given), problem, "Give it in parts.")


def _named(given: Any) -> tuple[str, Any]:
    """The field that examples were given in, and what was given."""
    return ("data.file", str(given)) if isinstance(given, Path) else ("x", given)


def _no_examples(given: Any, encoding: Encoding | None) -> InputError:
    field, value = _named(given)
    if encoding is not None and encoding.symbols:
        problem = f"has none of the {len(encoding.symbols)} symbols that the model knows"
        return InputError(field, value, problem, "Give a text in the script that it learned from.")
    return InputError(field, value, "has no examples", "Give one at least.")


def of_task(spec: RunSpec, task: Task, weights: Arrays) -> Predictor:
    """Of a run that was carried out here, and its task."""
    if isinstance(spec.data, OwnData):
        x = task.splits["train"]["x"]
        return Predictor(TrainedModel(spec, weights, None, task), x.shape[1:], x.dtype)
    return Predictor(TrainedModel(spec, weights, task.encoding or _of_data_set(spec)))


def of_run(directory: RunDirectory, weights: Arrays, reading: dict[str, Any]) -> Predictor:
    """Of a run's folder. The file that it learned from is not needed."""
    spec = directory.spec
    for name, value in reading.items():
        known = not isinstance(spec.data, OwnData) and hasattr(spec.data, name)
        if name not in READING or not known:
            problem = "is not how a new file is read" if known else "is no setting of its data"
            raise InputError(f"data.{name}", value, problem, "Leave it out.")
    if isinstance(spec.data, OwnData):
        x = _own(directory, spec).splits["train"]["x"]
        return Predictor(TrainedModel(spec, weights), x.shape[1:], x.dtype)
    encoding = load_encoding(directory.path) or _of_data_set(spec)
    return Predictor(TrainedModel(spec, weights, encoding), reading=reading)


def _of_data_set(spec: RunSpec) -> Encoding | None:
    known = data_set.of(spec.data)
    if known.settled is not None:
        return known.settled(spec.data, spec.seed)
    return None if known.input_shape is None else known.encoding(spec.data)


def _own(directory: RunDirectory, spec: RunSpec) -> Own:
    """The run's own task, whose model must be the one that learned these weights."""
    for name, reference in references(spec).items():
        if not reference:
            problem = f"its {name} has no file to be found in"
            remedy = "Predict from Python: result.predict(x)."
            raise InputError("run", str(directory.path), problem, remedy)
    own = load_own(directory.path, spec)
    assert own is not None  # its data are own arrays
    check_own(spec, own, directory.path)
    return own
