"""A task: data, model, loss and metric, ready for any framework. No framework is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from lockstep.data.characters import Vocabulary
from lockstep.data.data_set import Plan
from lockstep.data.encoding import Encoding
from lockstep.data.examples import Batch
from lockstep.data.plans import WindowPlan
from lockstep.errors import InputError
from lockstep.models.losses import Loss, are_correct, cross_entropy
from lockstep.models.model import Model
from lockstep.ops import Array, Arrays, Ops, Snapshot
from lockstep.optimizers import slot_names
from lockstep.spec import RunSpec
from lockstep.task.own_functions import OwnFunction

EVALUATION_BATCH = 1000


@dataclass(frozen=True)
class Task:
    """What is learned, from what. `splits` holds NumPy arrays by split and name.

    `batch(ops, arrays, rows)` turns row numbers into (x, y) on the device. `native` is a person's
    own module of one framework, in place of `model`. `facts` are recorded with the run. With
    `time_first`, examples are sequences of symbols and batches (T, B). `metrics` are own ones.
    Splits with "weight" (N,) or (N, labels) have it as the factor of their losses. `encoding` is
    what reading a file settled.
    """

    splits: Mapping[str, Arrays]
    batch: Batch
    model: Model
    loss: Loss
    plan: Plan
    facts: Mapping[str, Any] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None
    native: Any = None
    time_first: bool = False
    encoding: Encoding | None = None
    metrics: Mapping[str, OwnFunction] = field(default_factory=dict)

    @property
    def own_functions(self) -> dict[str, OwnFunction]:
        """The own loss, if it is one, and the own metrics."""
        own = {"loss": self.loss} if isinstance(self.loss, OwnFunction) else {}
        return {**own, **self.metrics}

    @property
    def classifies(self) -> bool:
        """Whether there are labels to count as right or wrong."""
        return self.loss is cross_entropy

    @property
    def carries_state(self) -> bool:
        """Whether recurrent state flows from one batch into the next."""
        return isinstance(self.plan, WindowPlan) and self.plan.carries_state

    def count(self, split: str) -> int:
        """How many losses an evaluation of a split sums: labels, or examples without labels."""
        rows = sum(block.size for block in self.evaluation_rows(split))
        if isinstance(self.plan, WindowPlan):
            return rows * self.plan.num_steps
        return rows * (prod(self.splits[split]["y"].shape[1:]) if self.classifies else 1)

    def num_examples(self, split: str) -> int:
        """How many values of an own metric an evaluation of a split sums."""
        return sum(block.size for block in self.evaluation_rows(split))

    def total_weight(self, split: str) -> float:
        """What the sum of a split's losses is divided by: how many, or the sum of their weights."""
        weights = self.splits[split].get("weight")
        return self.count(split) if weights is None else float(weights.sum())

    def metric_names(self, split: str) -> dict[str, str]:
        """What is measured of a split, with its name in reports: {"loss": "test_loss", ...}."""
        # the mean over an epoch's steps is train_loss; the loss of the state at its end is another
        prefix = "final_train" if split == "train" else split
        kinds = ["loss", *(["perplexity"] if self.time_first else [])]
        if self.classifies and self.vocabulary is None:  # of a text nobody asks how often
            kinds.append("accuracy")
        return {kind: f"{prefix}_{kind}" for kind in (*kinds, *self.metrics)}

    def losses(self, ops: Ops, outputs: Array, y: Array) -> Array:
        """One for each label (or example without labels), time first: (T * B,)."""
        return self._time_first(ops, self.loss(ops, outputs, y), y)

    def correct(self, ops: Ops, outputs: Array, y: Array) -> Array:
        """1 for each label that the largest score names, else 0; time first: (T * B,)."""
        return self._time_first(ops, are_correct(ops, outputs, y), y)

    def _time_first(self, ops: Ops, values: Array, y: Array) -> Array:
        """Labels of a person's own examples come as (B, T), those of symbols as (T, B)."""
        examples = y.shape[0]
        if self.time_first or not self.classifies or len(y.shape) == 1:
            return values
        each = prod(y.shape[1:])
        by_example = ops.reshape(values, (examples, each))
        return ops.reshape(ops.transpose(by_example, (1, 0)), (each * examples,))

    def evaluation_rows(self, split: str) -> list[np.ndarray]:
        """Rows that meet every example of a split once, in blocks (n, b) of equal batches."""
        size = len(next(iter(self.splits[split].values())))
        if isinstance(self.plan, WindowPlan):
            steps = self.plan.num_steps
            rows = np.arange(0, size - steps, steps, dtype=np.int32)
        else:
            rows = np.arange(size, dtype=np.int32)
        whole = len(rows) // EVALUATION_BATCH * EVALUATION_BATCH
        blocks = [rows[:whole].reshape(-1, EVALUATION_BATCH), rows[whole:].reshape(1, -1)]
        return [block for block in blocks if block.size]

    def complete(self, snapshot: Snapshot, spec: RunSpec) -> Snapshot:
        """The snapshot as this task needs it: slots and carried state it lacks are zeros, slots of
        another optimizer are left out. One of another model, or batch size, is refused."""
        if self.native is None:
            _require_same(snapshot.weights, self.model.initial_weights(spec.seed))
        slots = {
            f"{slot}/{name}": np.zeros_like(w)
            for slot in slot_names(spec.optimizer)
            for name, w in snapshot.weights.items()
        }
        slots |= {name: value for name, value in snapshot.slots.items() if name in slots}
        shapes = self.model.carry_shapes(spec.batch_size)
        carry = {name: np.zeros(shape) for name, shape in shapes.items()}
        if self.carries_state:
            _require_same_batch(snapshot.carry, carry, spec.batch_size)
            carry |= snapshot.carry
        return Snapshot(snapshot.weights, slots, carry)


def _require_same(given: Arrays, own: Arrays) -> None:
    for name in dict.fromkeys([*own, *given]):
        there, here = (arrays[name].shape if name in arrays else None for arrays in (given, own))
        if there != here:
            problem = f"the model has {here or 'none of that name'}"
            remedy = "Start from the weights of the same model."
            raise InputError(f"weight {name}", there or "missing", problem, remedy)


def _require_same_batch(given: Arrays, own: Arrays, batch_size: int) -> None:
    for name, value in given.items():
        if value.shape != own[name].shape:
            problem = f"the state carried so far is that of {len(value)} sequences"
            raise InputError("batch_size", batch_size, problem, f"Give {len(value)}.")
