"""Ops over MindSpore: kernels.py on the arrays of arrays.py; a recording notes each operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import mindspore as ms
import numpy as np
from mindspore import Tensor

from lockstep.frameworks.mindspore.arrays import Array, mapped
from lockstep.frameworks.mindspore.kernels import Kernels, kernels
from lockstep.frameworks.mindspore.recording import Recording, listed
from lockstep.ops import Weights


class MindSporeOps:
    """MindSpore on the CPU. Every operation runs at once, recorded or not. The functions of Kernels
    are added below as methods."""

    fused: Mapping[str, Callable[..., Any]] = {}

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Array]: ...

    def __init__(self, precision: str, recording: Recording | None = None) -> None:
        self.precision, self.dtype = precision, getattr(ms, precision)
        self._kernels = kernels(precision)
        self._recording = recording
        if recording is not None:
            recording.names |= {"ops": self._kernels, "ms": ms}

    def apply(self, form: str, function: Callable[..., Any], *args: Any) -> Array:
        """function(*args) on tensors; in source, the form with the arguments in it."""
        given = [self._lifted(value) for value in args]
        result = Array(self, function(*mapped(attrgetter("tensor"), given)))
        if self._recording is not None:
            result.name = self._recording.assign(form.format(*map(self._recording.source, given)))
        return result

    def _lifted(self, value: Any) -> Any:
        # MindSpore rounds a number beside a float64 tensor to float32
        lifts = isinstance(value, float) and self.precision == "float64"
        return self.asarray(value) if lifts else value

    # --- in and out
    def asarray(self, value: Any) -> Array:
        array = np.asarray(value)
        if array.dtype.kind == "f":
            return Array(self, Tensor(array.astype(self.precision)))
        keep = array.dtype in (np.uint8, np.bool_)
        return Array(self, Tensor(array if keep else array.astype(np.int32)))

    def to_numpy(self, x: Array) -> np.ndarray:
        return x.tensor.asnumpy()

    def zeros(self, shape: Sequence[int]) -> Array:
        return self.asarray(np.zeros(tuple(shape)))

    # --- control
    def scan(
        self, step: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Array
    ) -> tuple[Any, Array]:
        # taken apart by one operation: the gradient of xs[t] alone would be as large as xs
        parts = self.apply("ops.unstack({})", self._kernels.unstack, xs)
        ys = []
        for t in range(len(xs)):
            carry, y = step(carry, self.apply(f"{{}}[{t}]", itemgetter(t), parts))
            ys.append(y)
        return carry, self.stack(ys)

    def value_and_grad(
        self, function: Callable[..., tuple[Array, Any]]
    ) -> Callable[..., tuple[tuple[Array, Any], Weights]]:
        if self._recording is not None:
            return self._recorded_gradient(function, self._recording)

        def with_gradient(weights: Weights, *args: Any) -> tuple[tuple[Array, Any], Weights]:
            beside = []

            def scalar(*tensors: Tensor) -> Tensor:
                own = {n: Array(self, t) for n, t in zip(weights, tensors, strict=True)}
                value, aux = function(own, *args)
                beside.append(aux)  # MindSpore returns nothing but tensors beside the scalar
                return value.tensor

            gradient = value_and_grad(scalar, tuple(range(len(weights))))
            value, grads = gradient(*(w.tensor for w in weights.values()))
            grads = grads if isinstance(grads, tuple) else (grads,)  # one comes without a tuple
            named = {n: Array(self, g) for n, g in zip(weights, grads, strict=True)}
            return (Array(self, value), mapped(self.stop_gradient, beside[0])), named

        return with_gradient

    def _recorded_gradient(
        self, function: Callable[..., tuple[Array, Any]], recording: Recording
    ) -> Callable[..., tuple[tuple[Array, Any], Weights]]:
        def with_gradient(weights: Weights, *args: Any) -> tuple[tuple[Array, Any], Weights]:
            own, grads = renamed(weights), renamed(weights)
            with recording.function(own) as name:
                outputs = function(own, *args)
                recording.give_back(outputs)
            result = renamed(outputs)
            places = tuple(range(len(own)))
            found = listed(grads) if len(own) > 1 else listed(grads).strip(", ")  # no tuple for one
            recording.write(
                f"({listed(result)}), ({found}) = "
                f"ms.value_and_grad({name}, {places}, has_aux=True)({listed(weights)})"
            )
            return result, grads

        def renamed(tree: Any) -> Any:
            return mapped(lambda a: Array(self, a.tensor, recording.new_name()), tree)

        return with_gradient


def value_and_grad(
    scalar: Callable[..., ms.Tensor], positions: tuple[int, ...] | None, weights: Any = None
) -> Callable[..., tuple[ms.Tensor, Any]]:
    """ms.value_and_grad; what `scalar` raises is raised when MindSpore has ended.

    An exception inside ms.value_and_grad leaves MindSpore recording: every graph that the process
    runs later is differentiated too, and some of them fail because of it.
    """
    failed: list[Exception] = []

    def guarded(*tensors: ms.Tensor) -> ms.Tensor:
        try:
            return scalar(*tensors)
        except Exception as error:
            failed.append(error)
            return ms.Tensor(0.0)

    gradient = ms.value_and_grad(guarded, positions, weights)

    def call(*tensors: ms.Tensor) -> tuple[ms.Tensor, Any]:
        value, grads = gradient(*tensors)
        if failed:
            raise failed[0]
        return value, grads

    return call


def _over_arrays(name: str, kernel: Callable[..., Any]) -> Callable[..., Array]:
    def method(self: MindSporeOps, *args: Any, **options: Any) -> Array:
        form = ", ".join(["{}"] * len(args) + [f"{option}={{}}" for option in options])

        def function(*values: Any) -> Any:
            named = zip(options, values[len(args) :], strict=True)
            return kernel(self._kernels, *values[: len(args)], **dict(named))

        return self.apply(f"ops.{name}({form})", function, *args, *options.values())

    return method


for _name, _kernel in vars(Kernels).items():
    if not _name.startswith("_"):
        setattr(MindSporeOps, _name, _over_arrays(_name, _kernel))
