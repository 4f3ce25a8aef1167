"""Programs of layers and optimizers that keep their state inside, step by step; and the checks of
a person's own module that frameworks share.

Between calls the state is kept apart, so that the one given stays valid: it is put into the module
when a call begins and taken out when it ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lockstep.errors import InputError
from lockstep.frameworks.device_share import Part, Share, WholeBatch, mean
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.micro_batches import summed
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.frameworks.programs import Log, evaluated, fetched
from lockstep.frameworks.protocol import Sums
from lockstep.frameworks.state import DeviceState, States
from lockstep.frameworks.step import loss_factors, make_sums, start_carry, zero_carry
from lockstep.models.fitting import check_outputs
from lockstep.ops import Array, Ops, Snapshot, Weights
from lockstep.optimizers import clip
from lockstep.task.own_functions import try_functions

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task

SEEDS_APART = 1_000_003  # between the first steps of neighbouring seeds: they draw apart
PARTS_APART = 7_368_787  # between the parts of a batch
EVALUATION_SEED = 0  # of what a module draws while it is evaluated, or tried
# Layers such as Dropout draw from a generator that the whole process shares. A run whose module may
# draw seeds it for each step, and holds this lock until the step's gradient is there: runs in
# several threads each draw what they draw alone. A module may be called within a module.
_GENERATOR = threading.RLock()


@contextmanager
def drawing(
    seeded: Callable[[int], AbstractContextManager[object]], seed: int | None
) -> Iterator[None]:
    """Within it, what a module draws follows from the seed; None: the module draws nothing.

    `seeded(seed)` seeds the framework's generator, and gives it back as it was where it can."""
    if seed is None:
        yield
        return
    with _GENERATOR, seeded(seed):
        yield


def require_module(model: Any, kind: type | tuple[type, ...], name: str) -> None:
    """Refuse a person's own model that is not a module of this framework."""
    if not isinstance(model, kind):
        remedy = "Run it in its own framework."
        raise InputError("model", type(model).__name__, f"is not a {name}", remedy)


def check_module(task: Task, module: Any, call: Callable[[np.ndarray], Array]) -> None:
    """Refuse a module that fails on the task's examples, or whose outputs do not fit its y."""
    own = task.own_functions
    also = partial(try_functions, own, NumpyOps("float64"))
    name = type(module).__name__
    check_outputs(task.splits, task.classifies, name, call, "loss" in own, also)


def refuse_other_state(names: Iterable[str]) -> None:
    """Refuse a module with state beside its parameters, by their names."""
    if found := ", ".join(sorted(names)):
        raise InputError(
            "model",
            found,
            "is state beside parameters, which a run cannot carry",
            "Use layers without it (no BatchNorm, no Dropout).",
        )


def refuse_batch_statistics(spec: RunSpec, layers: Iterable[object]) -> None:
    """Refuse to cut batches for a module that takes statistics over them, by the layer's name."""
    for layer in layers if spec.micro_batches > 1 else ():
        if any("BatchNorm" in kind.__name__ for kind in type(layer).__mro__):
            problem = f"{type(layer).__name__} takes statistics of a whole batch"
            remedy = "Leave it out, or use a layer such as LayerNorm."
            raise InputError("micro_batches", spec.micro_batches, problem, remedy)


class NativeModule(Protocol):
    """A framework's own layers with its own optimizer. All names are native ones; slots are keyed
    "slot/parameter", with our names of the slots."""

    def install(self, weights: Weights, slots: Weights, step: int) -> None:
        """Set copies of these as the state after `step` updates."""

    def extract(self) -> tuple[Weights, Weights]:
        """Copies of the weights and slots."""

    def gradient(
        self, loss: Callable[[Array], Array], x: Array, carry: Weights, seed: int
    ) -> tuple[Array, Weights, Weights]:
        """In training mode, loss(outputs) of a batch, the new carry, and the gradient of every
        trained parameter (zeros for one that was not used), all detached. `seed`, another one for
        each step, is for what draws random numbers itself: a resumed run draws the same."""

    def update(self, grads: Weights, lr: float) -> None:
        """One step of the optimizer along these gradients."""

    def outputs(self, x: Array, carry: Weights) -> tuple[Array, Weights]:
        """In evaluation mode, without gradients."""


class ModuleProgram:
    """The program of a `NativeModule`."""

    def __init__(
        self,
        ops: Ops,
        task: Task,
        spec: RunSpec,
        module: NativeModule,
        *,
        layout: Layout,
        initial: Callable[[], Snapshot],
        notes: tuple[str, ...],
        share: Share | None = None,
    ) -> None:
        self.notes, self.initial = notes, initial
        self._ops, self._task, self._spec, self._module = ops, task, spec, module
        self._share = share or WholeBatch(ops)
        call = lambda w, x, carry: module.outputs(x, carry)  # noqa: E731
        self._sums = make_sums(ops, task, call, self._share)
        states = States(ops, task, spec, layout)
        self._data = states.data()
        self.load, self.dump = states.load, states.dump
        self.restart_carry = states.restart_carry

    def prepare(self, state: DeviceState, blocks: Sequence[np.ndarray]) -> None:
        """Nothing to compile."""

    def steps(
        self, state: DeviceState, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[DeviceState, Log]:
        self._module.install(state.weights, state.slots, first_step)
        carry, log = state.carry, []
        for i, batch in enumerate(self._ops.asarray(rows)):
            loss, norm, carry = self._step(batch, carry, float(lrs[i]), first_step + i)
            log.append((loss, norm))
        return DeviceState(*self._module.extract(), carry), log

    def _step(
        self, rows: Array, carry: Weights, lr: float, step: int
    ) -> tuple[Array, Array, Weights]:
        part = self._share.split(rows)
        start = start_carry(self._ops, self._task, self._share, carry, part)
        seed = self._spec.seed * SEEDS_APART + step

        def of_part(i: int, own: Part, begin: Weights) -> tuple[Array, Weights, Weights]:
            return self._gradient(own, begin, seed + i * PARTS_APART)

        count = self._spec.micro_batches
        found = (
            of_part(0, part, start)
            if count == 1
            else summed(self._ops, part, start, count, of_part)
        )
        value, after, grads = self._share.sum(*found)
        grads, norm = clip(self._ops, self._spec.optimizer, grads)
        self._module.update(grads, lr)
        return value, norm, after if self._task.carries_state else carry

    def _gradient(self, part: Part, start: Weights, seed: int) -> tuple[Array, Weights, Weights]:
        x, y = self._task.batch(self._ops, self._data["train"], part.rows)
        factors = loss_factors(self._ops, self._data["train"], part)

        def loss(outputs: Array) -> Array:
            losses = self._task.losses(self._ops, outputs, y)
            return mean(self._ops, losses, factors)

        return self._module.gradient(loss, x, start, seed)

    def fetch(self, log: Log) -> dict[str, np.ndarray]:
        return fetched(log)

    def evaluate(self, state: DeviceState, split: str) -> Sums:
        self._module.install(state.weights, state.slots, 0)

        def sums(rows: Array) -> tuple[Array, Array]:
            return self._sums(state.weights, self._data[split], rows)

        return evaluated(self._ops, self._task, split, sums, self._share)

    def outputs(self, state: DeviceState, x: np.ndarray) -> np.ndarray:
        self._module.install(state.weights, state.slots, 0)
        carry = zero_carry(self._ops, self._task, len(x))
        return self._ops.to_numpy(self._module.outputs(self._ops.asarray(x), carry)[0])
