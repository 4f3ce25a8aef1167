"""Continuing a text, one most likely symbol at a time, with NumPy from canonical weights."""

from __future__ import annotations

import numpy as np

from lockstep.errors import InputError
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.ops import Arrays
from lockstep.task import Task


def generate(task: Task, weights: Arrays, prefix: str, num: int) -> str:
    """The prefix and `num` more symbols; each is the one with the highest score."""
    if task.vocabulary is None:
        raise InputError("run", "this run", "is not of a language model", "Use a text recipe.")
    if num < 0:
        raise InputError("num", num, "must be at least 0", "Give how many symbols to add.")
    symbols = task.vocabulary.encode(prefix).tolist()
    if not symbols:
        raise InputError("prefix", prefix, "is empty", "Give at least one letter to start from.")
    ops = NumpyOps("float64")
    w = {name: ops.asarray(value) for name, value in weights.items()}
    carry = {n: ops.zeros(shape) for n, shape in task.model.carry_shapes(1).items()}
    x = np.array(symbols, dtype=np.int64).reshape(-1, 1)  # (T, 1)
    for _ in range(num):
        scores, carry = task.model.apply(ops, w, x, carry)
        symbols.append(int(np.argmax(scores[-1, 0])))
        x = np.array([[symbols[-1]]], dtype=np.int64)
    return task.vocabulary.decode(symbols)
