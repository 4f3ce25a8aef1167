"""Functions compiled by recording them: MXNet's record of one call becomes one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import mxnet as mx
from mxnet import autograd

from lockstep.frameworks.step import Update, rule_update
from lockstep.ops import Array, Weights

if TYPE_CHECKING:
    from lockstep.frameworks.mxnet.ops import MxnetOps
    from lockstep.spec import RunSpec

Function = Callable[..., Any]
# memory is planned once for the shapes that were recorded
FLAGS = (("static_alloc", True), ("static_shape", True))


class Recording:
    """The inputs of a call on the tape: its arguments, then the arrays made while it ran."""

    def __init__(self) -> None:
        self.inputs: list[Array] = []

    def add(self, array: Array) -> None:
        # marked as if for a gradient, or it would have no name on the tape; none is computed
        autograd.mark_variables([array], [array.detach()])
        self.inputs.append(array)


def compile_function(ops: MxnetOps, function: Function) -> Function:
    """The same function of dicts and tuples of arrays, recorded once for each set of shapes.

    What it does must follow from shapes alone: a number read from an array would be kept.
    """
    graphs: dict[tuple[tuple[int, ...], ...], Function] = {}

    def run(*arguments: Any) -> Any:
        arrays = list(_leaves(arguments))
        shapes = tuple(array.shape for array in arrays)
        if shapes not in graphs:
            graphs[shapes] = _recorded(ops, function, arguments, arrays)
        return graphs[shapes](arrays)

    return run


def compiled_update(ops: MxnetOps, spec: RunSpec) -> Update:
    """The optimizer's rule as one graph."""
    rule = rule_update(ops, spec)
    run = compile_function(ops, lambda w, grads, slots, numbers: rule(w, grads, slots, numbers, 0))

    def update(
        w: Weights, grads: Weights, slots: Weights, numbers: list[Any], t: Any
    ) -> tuple[Weights, Weights]:
        # asarray would wait for the steps under way; the noise of each weight is arrays already
        arrays = [
            n if isinstance(n, dict) else mx.np.full((), n, dtype=ops.dtype, ctx=ops.device)
            for n in numbers
        ]
        new: tuple[Weights, Weights] = run(w, grads, slots, arrays)
        return new

    return update


def _recorded(ops: MxnetOps, function: Function, arguments: Any, arrays: list[Array]) -> Function:
    ops.recording = recording = Recording()
    try:
        own = [array.detach() for array in arrays]
        for array in own:
            recording.add(array)
        with autograd.record():
            results = function(*_like(arguments, iter(own)))
    finally:
        ops.recording = None
    graph = mx.sym.Group([autograd.get_symbol(result) for result in _leaves(results)])
    names = [autograd.get_symbol(array).name for array in recording.inputs]
    order = [names.index(name) for name in graph.list_inputs()]
    made = [array.detach() for array in recording.inputs[len(arrays) :]]
    call = mx.nd.CachedOp(graph.as_np_ndarray(), FLAGS)

    def run(arrays: list[Array]) -> Any:
        inputs = arrays + made
        found = call(*(inputs[i] for i in order))
        return _like(results, iter(found if isinstance(found, list) else [found]))

    return run


def _leaves(tree: Any) -> Iterator[Array]:
    if not isinstance(tree, dict | tuple | list):
        yield tree
        return
    for part in tree.values() if isinstance(tree, dict) else tree:
        yield from _leaves(part)


def _like(tree: Any, arrays: Iterator[Array]) -> Any:
    """A tree of the same form with these arrays in place of its own."""
    if isinstance(tree, dict):
        return {name: _like(part, arrays) for name, part in tree.items()}
    if isinstance(tree, tuple | list):
        return tuple(_like(part, arrays) for part in tree)
    return next(arrays)
