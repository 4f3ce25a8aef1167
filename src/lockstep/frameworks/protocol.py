"""The contract between the house and a framework, documented here once.

A model and an optimizer are written over `Ops`. A `Framework` compiles a task and a spec into a
`Program`; canonical NumPy arrays go in and come out, so checkpoints, hand-over between frameworks
and parity need no framework's help. Nothing here imports a framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from lockstep.parallel.collective import Collective
    from lockstep.parallel.ranks import Rank
    from lockstep.spec import RunSpec
    from lockstep.task import Task

Array = Any  # a framework's own array; it has + - * / ** @, unary -, comparisons and basic slicing
Arrays = dict[str, np.ndarray]
Weights = dict[str, Array]


class Ops(Protocol):
    """What models, losses and optimizers are written over, in one precision.

    Shapes are canonical: images (B, C, H, W), convolution kernels (out, in, height, width), linear
    weights (in, out), sequences (T, B, ...). Operators on arrays (`+ - * / ** @`, comparisons,
    basic slicing with integers, slices, `None` and `...`) are part of the contract and broadcast as
    NumPy's do; numbers mix freely with arrays. Every floating result has the precision of the Ops.
    Gradients follow the arguments named x, w, b, a, xs; index arguments have none.
    """

    precision: str  # "float32" or "float64"
    fused: Mapping[str, Callable[..., Any]]  # faster equals of model parts, by the part's name

    # --- in and out
    def asarray(self, value: Any) -> Array:
        """From NumPy: floats in this precision, whole numbers as they are (uint8 stays uint8)."""

    def to_numpy(self, x: Array) -> np.ndarray:
        """To NumPy, detached from any gradient. A host sync."""

    def floating(self, x: Array) -> Array:
        """Whole numbers or booleans to this precision."""

    def zeros(self, shape: Sequence[int]) -> Array: ...

    # --- elementwise
    def exp(self, x: Array) -> Array: ...
    def log(self, x: Array) -> Array: ...
    def sqrt(self, x: Array) -> Array: ...
    def abs(self, x: Array) -> Array:
        """|x|; the gradient at 0 is 0."""

    def tanh(self, x: Array) -> Array: ...
    def sigmoid(self, x: Array) -> Array:
        """1 / (1 + exp(-x)), without overflow."""

    def relu(self, x: Array) -> Array:
        """max(x, 0); the gradient at 0 is 0."""

    def maximum(self, a: Array, b: Any) -> Array:
        """Elementwise; b may be a number."""

    def minimum(self, a: Array, b: Any) -> Array: ...
    def where(self, condition: Array, a: Any, b: Any) -> Array: ...

    # --- reductions
    def sum(
        self, x: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> Array: ...
    def mean(
        self, x: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> Array: ...
    def max(self, x: Array, axis: int, keepdims: bool = False) -> Array:
        """Along one axis; at ties the gradient goes to the first."""

    def argmax(self, x: Array, axis: int = -1) -> Array:
        """Index of the first largest; no gradient."""

    # --- shape
    def reshape(self, x: Array, shape: Sequence[int]) -> Array: ...
    def transpose(self, x: Array, axes: Sequence[int]) -> Array: ...
    def concat(self, xs: Sequence[Array], axis: int = 0) -> Array: ...
    def stack(self, xs: Sequence[Array], axis: int = 0) -> Array: ...

    # --- selection
    def take(self, x: Array, indices: Array) -> Array:
        """Rows of x: result shape is indices.shape + x.shape[1:]."""

    def pick(self, x: Array, indices: Array) -> Array:
        """One entry of the last axis for each index: x (..., C), indices (...) -> (...)."""

    def one_hot(self, indices: Array, depth: int) -> Array:
        """indices (...) -> (..., depth), floating."""

    # --- layers
    def matmul(self, a: Array, b: Array) -> Array:
        """The same as `a @ b`, for 2-D b."""

    def log_softmax(self, x: Array) -> Array:
        """x - log sum exp x along the last axis, without overflow."""

    def conv2d(self, x: Array, w: Array, b: Array, padding: int = 0) -> Array:
        """Cross-correlation, stride 1: x (B,C,H,W), w (O,C,h,w), b (O,)."""

    def max_pool2d(self, x: Array, size: int) -> Array:
        """Windows of size x size, stride size, remainder dropped; ties go to the first."""

    def avg_pool2d(self, x: Array, size: int) -> Array: ...

    # --- control
    def scan(
        self, step: Callable[[Any, Array], tuple[Any, Array]], carry: Any, xs: Array
    ) -> tuple[Any, Array]:
        """For each xs[t] in turn: carry, y = step(carry, xs[t]); returns carry and stacked ys.

        carry is an array or a dict of arrays."""

    def stop_gradient(self, x: Array) -> Array: ...
    def value_and_grad(
        self, function: Callable[..., tuple[Array, Any]]
    ) -> Callable[..., tuple[tuple[Array, Any], Weights]]:
        """From f(weights, *args) -> (scalar, aux) to g(weights, *args) -> ((scalar, aux), grads).

        grads has the names of weights (zeros for one that was not used). The scalar, aux (an array,
        or dicts and tuples of them) and grads come back detached."""


@dataclass(frozen=True)
class Snapshot:
    """All that a run needs to go on, in canonical NumPy: weights, optimizer slots, carried state.

    `slots` are keyed "slot/weight" ("velocity/w_h"); `carry` is {} for models without state.
    """

    weights: Arrays
    slots: Arrays = field(default_factory=dict)
    carry: Arrays = field(default_factory=dict)


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

    def ops(self, precision: str, fused: bool = True) -> Ops: ...
    def compile(self, task: Task, spec: RunSpec) -> Program:
        """The program of a run, on `spec.devices` devices."""


@runtime_checkable
class JoinsProcesses(Protocol):
    """A framework whose program may run in several processes, each a part of every batch."""

    def join(self, place: Rank) -> Collective:
        """Meet the other processes, once; what they do together beside the program."""
