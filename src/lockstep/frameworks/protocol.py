"""The contract between the house and a framework, documented here once.

A `Framework` compiles a task and a spec into a `Program`; canonical NumPy arrays go in and come
out, so checkpoints, hand-over between frameworks and parity need no framework's help. What models
are written over is in `lockstep/ops.py`. Nothing here imports a framework.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from lockstep.contract import ContractOps
from lockstep.errors import InputError
from lockstep.optimizers import adds_noise

if TYPE_CHECKING:
    from lockstep.ops import Kernels, Snapshot
    from lockstep.processes.collective import Collective
    from lockstep.processes.ranks import Rank
    from lockstep.spec import RunSpec
    from lockstep.task import Task


@dataclass(frozen=True)
class Sums:
    """Sums over labels, or examples without labels; divided once at the end by `count`. Those of
    own `metrics` are over examples, losses may be weighted: the task knows what divides them."""

    loss: float
    correct: float
    count: int
    metrics: tuple[float, ...] = ()


State = Any  # a program's own; never looked into from outside
StepLog = Any  # per-step quantities still on the device


class Program(Protocol):
    """One task compiled for one framework."""

    notes: tuple[str, ...]  # which path runs ("fused linear sgd"), and every fallback with its why

    def initial(self) -> Snapshot:
        """Where the run starts: the same canonical weights in every framework."""

    def prepare(self, state: State, blocks: Sequence[np.ndarray]) -> None:
        """Compile for row blocks of these shapes, so that steps and compile time stay apart."""

    def load(self, snapshot: Snapshot) -> State:
        """Canonical arrays to a state. Missing slots start at zero, a missing carry at zero."""

    def dump(self, state: State) -> Snapshot:
        """A state to canonical arrays (copies). A host sync."""

    def restart_carry(self, state: State) -> State:
        """The state with its carried recurrent state back at zero, as an epoch begins."""

    def steps(
        self, state: State, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[State, StepLog]:
        """len(rows) updates: rows (n, b) int32, lrs (n,) float64; the i-th is step first_step + i.

        The state given stays valid and unchanged. How a run is cut into calls changes no bit."""

    def fetch(self, log: StepLog) -> dict[str, np.ndarray]:
        """ "loss" and "grad_norm" (before clipping), each (n,). A host sync."""

    def evaluate(self, state: State, split: str) -> Sums:
        """Sums over every example of a split, each exactly once. A host sync."""


@runtime_checkable
class GivesOutputs(Protocol):
    """A program that can be asked for the outputs of its model: those of layers of the framework's
    own can."""

    def outputs(self, state: State, x: np.ndarray) -> np.ndarray:
        """(n, ...) for inputs (n, ...), in evaluation mode, on one device. A host sync."""


class ManyProgram(Protocol):
    """S settings of one task trained together: they differ in their schedule, their seed, or both.

    The contract is that of `Program`, with an axis for the settings."""

    notes: tuple[str, ...]

    def load(self, snapshots: Sequence[Snapshot]) -> State:
        """The canonical arrays of every setting to a state."""

    def prepare(self, state: State, blocks: Sequence[np.ndarray]) -> None:
        """Compile for row blocks of these shapes."""

    def dump(self, state: State) -> list[Snapshot]:
        """A state to the canonical arrays of every setting (copies). A host sync."""

    def restart_carry(self, state: State) -> State:
        """As an epoch begins."""

    def steps(
        self, state: State, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[State, StepLog]:
        """len(rows) updates of every setting: lrs (n, S) float64, and rows (n, b) where all have
        the same batches, (n, S, b) where each has its own."""

    def fetch(self, log: StepLog) -> np.ndarray:
        """The losses, (n, S). A host sync."""

    def evaluate(self, state: State, split: str) -> list[Sums]:
        """The sums of every setting. A host sync."""


def _nothing_to_show(count: int) -> None:
    """For frameworks whose devices are copies of the arrays, or processes."""


# (kernels, task, spec) -> the program of a run on `spec.devices` devices
MakeProgram = Callable[[Any, "Task", "RunSpec"], Program]
# (kernels, task, spec, number of settings) -> the program of many settings on one device
MakeManyProgram = Callable[[Any, "Task", "RunSpec", int], ManyProgram]


@dataclass(frozen=True)
class Framework:
    """A framework as its package presents it; `adapter.py` ends with `framework = Framework(...)`.

    - `several`: how it has several devices on a CPU, in words.
    - `devices()`: the devices that it sees in this process.
    - `kernels(precision, fused=True)`: its operations on its own arrays, for our models and
      optimizers; `fused` adds its faster equivalent implementations of model parts.
    - `program`: makes the program of a model over these kernels.
    - `module_program`: makes the program of the framework's own layers and optimizer (the concise
      style), or of a person's own module.
    - `one_device_layers`: the name of its layers, where they train on one device only.
    - `show_devices(count)`: makes this process able to compile for `count` devices, before anything
      is computed in it. StartedError if the framework has started with fewer.
    - `join(rank)`: joins the other processes, once, and returns what they do together beside the
      program; None where a program cannot run in several processes.
    - `many_program`: makes the program that trains many settings of our models at once; None where
      the framework cannot, and settings are trained in processes.
    """

    name: str
    version: str
    several: str
    devices: Callable[[], list[str]]
    kernels: Callable[..., Kernels]
    program: MakeProgram
    module_program: MakeProgram
    one_device_layers: str = ""
    show_devices: Callable[[int], None] = _nothing_to_show
    join: Callable[[Rank], Collective] | None = None
    many_program: MakeManyProgram | None = None

    def ops(self, precision: str) -> ContractOps:
        """All of Ops, as its contract says: for a person's net."""
        return ContractOps(self.kernels(precision))

    def compile(self, task: Task, spec: RunSpec) -> Program:
        """The program of a run, on `spec.devices` devices."""
        own_layers = task.native is not None or spec.style == "concise"
        if own_layers and self.one_device_layers:
            refuse_several(spec, self.one_device_layers)
        self.show_devices(spec.devices)
        make = self.module_program if own_layers else self.program
        program = make(self.kernels(spec.precision, spec.fused), task, spec)
        if spec.micro_batches > 1:
            program.notes = (*program.notes, _micro_batches(spec))
        return program

    def compile_many(self, task: Task, spec: RunSpec, count: int) -> ManyProgram | None:
        """The program of `count` settings of a run, as `many_program` makes it; None where there is
        none, or the run needs another: several devices, layers of the framework's own, or noise
        in its steps."""
        own_layers = task.native is not None or spec.style == "concise"
        several = spec.devices > 1 or bool(task.metrics)
        apart = own_layers or several or adds_noise(spec.optimizer)
        if self.many_program is None or apart:
            return None
        return self.many_program(self.kernels(spec.precision, spec.fused), task, spec, count)


def _micro_batches(spec: RunSpec) -> str:
    """The note of a run whose batches are cut; no device cuts finer than its rows."""
    if spec.devices == 1:
        return f"each batch in {spec.micro_batches} parts"
    rows = -(-spec.batch_size // spec.devices)
    return f"each device's share of a batch cut into {min(spec.micro_batches, rows)}"


def refuse_several(spec: RunSpec, layers: str) -> None:
    """Raise for a run on several devices of layers that keep their state inside."""
    if spec.devices > 1:
        remedy = "Use --style scratch, or --devices 1."
        raise InputError("devices", spec.devices, f"{layers} train on one device", remedy)
