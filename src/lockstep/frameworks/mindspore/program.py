"""The program of a run: the step of step.py as a graph, one for each batch size; on several devices
two graphs, its gradient and its update.

Programs take turns: MindSpore fails, or crashes, when two threads compute at once.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mindspore import Tensor

from lockstep.frameworks.device_share import Part, WholeBatch
from lockstep.frameworks.mindspore.arrays import Array, mapped
from lockstep.frameworks.mindspore.ops import MindSporeOps
from lockstep.frameworks.mindspore.recording import Recording, leaves
from lockstep.frameworks.programs import StepProgram
from lockstep.frameworks.protocol import GivesOutputs, MakeProgram, Program
from lockstep.frameworks.replicas import Replica, clipped_update, copies_program
from lockstep.frameworks.step import Step, make_gradient, make_step, make_sums, rule_update
from lockstep.ops import Weights

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def program(ops: MindSporeOps, task: Task, spec: RunSpec) -> StepProgram:
    if spec.devices > 1:
        replica = graph_replica(ops, task, spec)
        return copies_program(replica, task, spec, ("compiled gradients and updates",))
    return StepProgram(ops, task, spec, step=graph_step(ops, task, spec), notes=("compiled steps",))


class Graph:
    """function(ops, *trees) of dicts, lists and tuples of arrays, compiled for the shapes met."""

    def __init__(self, ops: MindSporeOps, function: Callable[..., Any]) -> None:
        self._ops, self._function = ops, function
        self._compiled: dict[Any, tuple[Callable[..., Any], Any]] = {}

    def __call__(self, *trees: Any) -> Any:
        inputs = leaves(trees)
        key = tuple(array.shape for array in inputs)
        if key not in self._compiled:
            self._compiled[key] = self._compile(trees)
        graph, outcome = self._compiled[key]
        tensors = iter(graph(*(array.tensor for array in inputs)))
        return mapped(lambda _: Array(self._ops, next(tensors)), outcome)

    def _compile(self, trees: Any) -> tuple[Callable[..., Any], Any]:
        recording = Recording()
        ops = MindSporeOps(self._ops.precision, recording)
        own = mapped(lambda a: Array(ops, a.tensor, recording.new_name()), trees)
        outcome = self._function(ops, *own)
        recording.give_back(outcome)
        return recording.compiled(own), outcome


def graph_step(ops: MindSporeOps, task: Task, spec: RunSpec) -> Step:
    graph = Graph(ops, lambda own, *given: make_step(own, task, spec)(*given, t=0))

    def step(
        w: Weights, slots: Weights, carry: Weights, data: Weights, rows: Array, numbers: Any, t: Any
    ) -> tuple[Weights, Weights, Weights, Array, Array]:
        new: tuple[Weights, Weights, Weights, Array, Array]
        new = graph(w, slots, carry, data, rows, _arrays(ops, numbers))
        return new

    return step


def _arrays(ops: MindSporeOps, numbers: Any) -> list[Any]:
    """The numbers of a step as arrays; the noise of each weight is arrays already."""
    return [n if isinstance(n, dict) else ops.asarray(n) for n in numbers]


def graph_replica(ops: MindSporeOps, task: Task, spec: RunSpec) -> Replica:
    """A device whose gradient, for each size of a share, and update are graphs."""
    gradients: dict[int, Graph] = {}  # by the size of the batch, which is a number in the graph

    def gradient(
        w: Weights, carry: Weights, data: Weights, rows: Array, count: int
    ) -> tuple[Array, Weights, Weights]:
        def found(own: MindSporeOps, w: Weights, carry: Weights, data: Weights, rows: Array) -> Any:
            gradient = make_gradient(own, task, None, WholeBatch(own), spec.micro_batches)
            return gradient(w, carry, data, Part(rows, count))

        if count not in gradients:
            gradients[count] = Graph(ops, found)
        new: tuple[Array, Weights, Weights] = gradients[count](w, carry, data, rows)
        return new

    def updated(own: MindSporeOps, *given: Any) -> Any:
        return clipped_update(own, spec, rule_update(own, spec))(*given, t=0)

    graph = Graph(ops, updated)

    def update(
        w: Weights, grads: Weights, slots: Weights, numbers: Any, t: Any
    ) -> tuple[Weights, Weights, Array]:
        new: tuple[Weights, Weights, Array]
        new = graph(w, grads, slots, _arrays(ops, numbers))
        return new

    def to_device(x: Array) -> Array:
        # Tensor.copy takes three times as long
        return Array(ops, Tensor(x.tensor.asnumpy().copy()))

    return Replica(ops, to_device, gradient, update, make_sums(ops, task))


# --- one thread at a time -------------------------------------------------------------------------

TURN = threading.RLock()


class SerialProgram:
    """A program whose calls wait until no other thread computes in MindSpore."""

    def __init__(self, program: Program) -> None:
        self.notes = program.notes
        self.initial = _wait(program.initial)
        self.prepare = _wait(program.prepare)
        self.load = _wait(program.load)
        self.dump = _wait(program.dump)
        self.restart_carry = _wait(program.restart_carry)
        self.steps = _wait(program.steps)
        self.fetch = _wait(program.fetch)
        self.evaluate = _wait(program.evaluate)
        if isinstance(program, GivesOutputs):
            self.outputs = _wait(program.outputs)


def _wait(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with TURN:
            return function(*arguments)

    return call


def in_turn(make: MakeProgram) -> MakeProgram:
    """The same programs, made and called by one thread at a time."""
    waiting = _wait(make)
    return lambda ops, task, spec: SerialProgram(waiting(ops, task, spec))
