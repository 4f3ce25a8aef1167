"""A function over Ops as straight-line source, from which MindSpore builds one graph.

MindSpore compiles source, but does not understand ours, and its own tracing leaves gradients out.
So the function is run once on example arrays, while every operation is written down as a line.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import mindspore as ms

from lockstep.frameworks.mindspore.arrays import Array, mapped

_compiled: dict[tuple[Any, ...], Callable[..., Any]] = {}


class Recording:
    """The lines so far, and the values of those names that no line assigns."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self._numbers, self._indent = count(), " " * 8

    def new_name(self) -> str:
        return f"v{next(self._numbers)}"

    def write(self, line: str) -> None:
        self.lines.append(self._indent + line)

    def assign(self, expression: str) -> str:
        name = self.new_name()
        self.write(f"{name} = {expression}")
        return name

    def source(self, value: Any) -> str:
        """An argument as it stands in a line; an array that no line made is a constant."""
        if isinstance(value, tuple | list):
            return "(" + "".join(f"{self.source(part)}, " for part in value) + ")"
        if not isinstance(value, Array):
            return repr(value)
        if not value.name:
            value.name = self.new_name()
            self.names[value.name] = value.tensor
        return value.name

    @contextmanager
    def function(self, arguments: Any) -> Iterator[str]:
        """The lines written meanwhile are the body of a function of these arrays."""
        name = f"f{next(self._numbers)}"
        self.write(f"def {name}({listed(arguments)}):")
        self._indent += " " * 4
        yield name
        self._indent = self._indent[:-4]

    def give_back(self, outputs: Any) -> None:
        self.write(f"return {', '.join(map(self.source, leaves(outputs)))},")

    def compiled(self, inputs: Any) -> Callable[..., Any]:
        """The graph from tensors in the place of inputs to a tuple of tensors."""
        body = "\n".join([f"({listed(inputs)}):", *self.lines])
        key = (body, *(_identity(value) for value in self.names.values()))
        if key not in _compiled:  # one that was recorded before is not compiled again
            _compiled[key] = self._compiled(body)
        return _compiled[key]

    def _compiled(self, body: str) -> Callable[..., Any]:
        # MindSpore knows a function by name and address, and an address may be used again
        name = f"graph{len(_compiled)}"
        source = f"def make({', '.join(self.names)}):\n    def {name}{body}\n    return {name}\n"
        # it asks Python for the source of what it compiles
        file = f"<lockstep {name}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        space: dict[str, Any] = {"__name__": __name__}
        exec(compile(source, file, "exec"), space)
        return ms.jit(space["make"](**self.names))


def _identity(value: Any) -> Any:
    if not isinstance(value, ms.Tensor):
        return value
    array = value.asnumpy()
    return array.dtype.str, array.shape, array.tobytes()


def leaves(tree: Any) -> list[Array]:
    """The arrays of dicts, lists and tuples, in their order."""
    found: list[Array] = []
    mapped(found.append, tree)
    return found


def listed(tree: Any) -> str:
    return "".join(f"{array.name}, " for array in leaves(tree))
