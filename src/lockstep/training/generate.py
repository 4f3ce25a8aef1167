"""Continuing a text, one most likely symbol at a time, with NumPy from canonical weights."""

from __future__ import annotations

import numpy as np

from lockstep.data import Vocabulary
from lockstep.errors import InputError
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.models import Model
from lockstep.ops import Arrays
from lockstep.task import Task, assemble, load_encoding, model_of
from lockstep.training.directory import RunDirectory

PREFIX = "time traveller"


def generate(task: Task, weights: Arrays, prefix: str, num: int) -> str:
    """The prefix and `num` more symbols; each is the one with the highest score."""
    return continued(task.model, task.vocabulary, weights, prefix, num)


def continued(
    model: Model, vocabulary: Vocabulary | None, weights: Arrays, prefix: str, num: int
) -> str:
    """As `generate`, by a model and its vocabulary alone."""
    if vocabulary is None:
        raise InputError("run", "this run", "is not of a language model", "Use a text recipe.")
    if num < 0:
        raise InputError("num", num, "must be at least 0", "Give how many symbols to add.")
    symbols = vocabulary.encode(prefix).tolist()
    if not symbols:
        raise InputError("prefix", prefix, "is empty", "Give at least one letter to start from.")
    ops = NumpyOps("float64")
    w = {name: ops.asarray(value) for name, value in weights.items()}
    carry = {n: ops.zeros(shape) for n, shape in model.carry_shapes(1).items()}
    x = np.array(symbols, dtype=np.int64).reshape(-1, 1)  # (T, 1)
    for _ in range(num):
        scores, carry = model.apply(ops, w, x, carry)
        symbols.append(int(np.argmax(scores[-1, 0])))
        x = np.array([[symbols[-1]]], dtype=np.int64)
    return vocabulary.decode(symbols)


def language_of(directory: RunDirectory) -> tuple[Model, Vocabulary | None]:
    """The model of a run and its vocabulary. One that learned from a file knows its own, whatever
    has become of the file."""
    encoding = load_encoding(directory.path)
    if encoding is None:
        task = assemble(directory.spec)
        return task.model, task.vocabulary
    vocabulary = Vocabulary(encoding.symbols) if encoding.symbols else None
    return model_of(directory.spec, encoding), vocabulary


def usual_prefix(vocabulary: Vocabulary | None) -> str:
    """The chapter's, or the most frequent symbol of a text that has not its letters.

    >>> usual_prefix(Vocabulary(("<unk>", "的", "一")))
    '的'
    """
    if vocabulary is None or set(PREFIX) <= set(vocabulary.symbols):
        return PREFIX
    return next((s for s in vocabulary.symbols[1:] if s.strip()), vocabulary.symbols[-1])
