"""The step of step.py as a graph, one for each batch size."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lockstep.frameworks.mindspore.arrays import Array, mapped
from lockstep.frameworks.mindspore.ops import MindSporeOps
from lockstep.frameworks.mindspore.recording import Recording, leaves
from lockstep.frameworks.protocol import Weights
from lockstep.frameworks.step import Step, make_step

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


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
        new = graph(w, slots, carry, data, rows, [ops.asarray(number) for number in numbers])
        return new

    return step
