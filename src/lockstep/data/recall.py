"""Recall: sequences whose first symbol must be remembered. They are always generated.

There are n cues, 0 to n - 1, and n distractors, n to 2n - 1. A sequence is a cue and then
distractors, and the label of every step is the cue: the accuracy at step t says whether the cue is
remembered over a distance of t.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lockstep.data.data_set import DataSet, Loaded
from lockstep.data.examples import origin_generated
from lockstep.data.plans import ExamplePlan
from lockstep.data.random import generator
from lockstep.data.source import Progress
from lockstep.ops import Array, Arrays, Ops, Weights
from lockstep.spec import Recall

NUM_TEST = 1000


def draw_sequences(
    count: int, num_symbols: int, window: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """`count` sequences: a cue below num_symbols, then distractors from num_symbols on.

    >>> x = draw_sequences(3, 8, 5, generator(0, "doctest"))
    >>> x.shape, bool((x[:, 0] < 8).all()), bool((x[:, 1:] >= 8).all()), bool(x.max() < 16)
    ((3, 5), True, True, True)
    """
    x = rng.integers(num_symbols, 2 * num_symbols, size=(count, window), dtype=np.int32)
    x[:, 0] = rng.integers(0, num_symbols, size=count, dtype=np.int32)
    return x


def _split(part: Recall, split: str, count: int, seed: int) -> Arrays:
    rng = generator(seed, f"recall: {split}")
    x = draw_sequences(count, part.num_symbols, part.window, rng)
    return {"x": x, "y": np.repeat(x[:, :1], part.window, axis=1)}


def _load(part: Recall, seed: int, progress: Progress | None) -> Loaded:
    counts = {"train": part.num_sequences, "test": NUM_TEST}
    splits = {split: _split(part, split, count, seed) for split, count in counts.items()}
    contents = [arrays["x"].tobytes() for arrays in splits.values()]
    return Loaded(splits, origin_generated("recall", seed, *contents))


def _batch(ops: Ops, data: Weights, rows: Array) -> tuple[Array, Array]:
    """Sequences time first: x and y (T, B)."""
    x, y = (ops.transpose(ops.take(data[name], rows), (1, 0)) for name in ("x", "y"))
    return x, y


def _plan(part: Recall, num_sequences: int, batch_size: int, seed: int) -> ExamplePlan:
    return ExamplePlan(num_sequences, batch_size, drop_last=True, seed=seed)


DATA_SET = DataSet(
    _load,
    input_shape=(),
    num_outputs=lambda part: 2 * part.num_symbols,
    loss="cross_entropy",
    batch=lambda part: _batch,
    plan=_plan,
)
