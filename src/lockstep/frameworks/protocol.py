"""The contract between the house and a framework, documented here once.

A `Framework` compiles a task and a spec into a `Program`; canonical NumPy arrays go in and come
out, so checkpoints, hand-over between frameworks and parity need no framework's help. What models
are written over is in `lockstep/ops.py`. Nothing here imports a framework.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from lockstep.contract import ContractOps, Kernels
    from lockstep.ops import Snapshot
    from lockstep.processes.collective import Collective
    from lockstep.processes.ranks import Rank
    from lockstep.spec import RunSpec
    from lockstep.task import Task


@dataclass(frozen=True)
class Sums:
    """Sums over labels, or examples without labels; divided once at the end by `count`."""

    loss: float
    correct: float
    count: int


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


class Framework(Protocol):
    """A framework as an adapter presents it. An adapter is a module with `framework = ...`."""

    name: str
    several: str  # how it comes by several devices on a CPU, in words

    def version(self) -> str: ...
    def devices(self) -> list[str]: ...
    def show_devices(self, count: int) -> None:
        """Make this process able to compile for `count` devices, before anything is computed in it.

        StartedError if the framework has started with fewer. Where devices are mere replicas, or
        processes, there is nothing to do."""

    def ops(self, precision: str) -> ContractOps:
        """What the contract of Ops says, whole: for a person's net, and for whoever computes."""

    def kernels(self, precision: str, fused: bool = True) -> Kernels:
        """The framework's operations on its own arrays, for the models and optimizers of ours."""

    def compile(self, task: Task, spec: RunSpec) -> Program:
        """The program of a run, on `spec.devices` devices."""


@runtime_checkable
class JoinsProcesses(Protocol):
    """A framework whose program may run in several processes, each a part of every batch."""

    def join(self, place: Rank) -> Collective:
        """Meet the other processes, once; what they do together beside the program."""
