"""The outputs of a trained model for new inputs, in any framework: here, or in the framework's own
environment.

A model over Ops is its canonical weights, in whichever style it was trained; a framework's own
module is computed by the program that trained it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.array_files import from_file, to_bytes
from lockstep.data.encoding import Encoding
from lockstep.errors import InputError
from lockstep.frameworks import environments, registry
from lockstep.frameworks.protocol import GivesOutputs
from lockstep.models import Model
from lockstep.ops import Arrays, Snapshot
from lockstep.processes.children import Command, collect
from lockstep.spec import OwnModel, RunSpec
from lockstep.task import OwnNet, Task, model_of
from lockstep.task.own_files import function_at

WORKER = "lockstep.training.outputs_worker"
BLOCK = 1000  # examples, or symbols of a text, at a time
DAY = 24 * 3600.0


@dataclass(frozen=True)
class TrainedModel:
    """A model and its weights. `encoding` is that of its data, None for a person's own arrays;
    `task` is given where the model is a framework's own module. The inputs of a text are symbols
    (T,), whose state is carried from one to the next."""

    spec: RunSpec
    weights: Arrays
    encoding: Encoding | None = None
    task: Task | None = None

    @property
    def model(self) -> Model:
        """The model over Ops, found by its reference if it is a person's own."""
        part = self.spec.model
        if not isinstance(part, OwnModel):
            return model_of(self.spec, self.encoding)
        if self.task is not None:
            return self.task.model
        if not part.reference:
            problem = "has no file to be found in"
            remedy = "Predict from Python: result.predict(x)."
            raise InputError("model.kind", "own", problem, remedy)
        return OwnNet(function_at(part.reference), self.weights)

    @property
    def is_sequence(self) -> bool:
        """Whether the inputs are symbols of one text."""
        return self.encoding is not None and not self.encoding.input_shape


def outputs(trained: TrainedModel, x: NDArray[Any], framework: str) -> NDArray[np.float64]:
    """(N, ...) for inputs (N, ...), or scores (T, C) for symbols (T,), in the run's precision."""
    registry.check_known(framework)
    if trained.task is not None and trained.task.native is not None:
        return _of_module(trained, x, framework)
    if registry.is_installed(framework):
        return outputs_here(trained, x, framework)
    return _in_environment(trained, x, framework)


def outputs_here(trained: TrainedModel, x: NDArray[Any], framework: str) -> NDArray[np.float64]:
    """As `outputs`, in this process, of a model over Ops."""
    spec, model = trained.spec, trained.model
    ops: Any = registry.get(framework).kernels(spec.precision, spec.fused)
    w = {name: ops.asarray(value) for name, value in trained.weights.items()}

    def zeros(count: int) -> dict[str, Any]:
        return {name: ops.zeros(shape) for name, shape in model.carry_shapes(count).items()}

    if not trained.is_sequence:
        return _by_blocks(
            x,
            lambda part: ops.to_numpy(model.apply(ops, w, ops.asarray(part), zeros(len(part)))[0]),
        )
    carry = zeros(1)

    def continued(part: NDArray[Any]) -> NDArray[Any]:
        nonlocal carry
        scores, carry = model.apply(ops, w, ops.asarray(part[:, None]), carry)  # (T, 1, C)
        return np.asarray(ops.to_numpy(scores))[:, 0]

    return _by_blocks(x, continued)


def _by_blocks(x: NDArray[Any], call: Callable[[NDArray[Any]], Any]) -> NDArray[np.float64]:
    first = np.asarray(call(x[:BLOCK]))
    found = np.empty((len(x), *first.shape[1:]))  # not joined at the end: that takes both
    found[:BLOCK] = first
    for start in range(BLOCK, len(x), BLOCK):
        found[start : start + BLOCK] = call(x[start : start + BLOCK])
    return found


def _of_module(trained: TrainedModel, x: NDArray[Any], framework: str) -> NDArray[np.float64]:
    own = trained.spec.framework
    if framework != own:
        problem = f"its model is a module of {own}"
        raise InputError("framework", framework, problem, f"Give {own}, or leave it out.")
    assert trained.task is not None
    spec = replace(trained.spec, devices=1)
    program = registry.get(own).compile(trained.task, spec)
    if not isinstance(program, GivesOutputs):
        problem = "its program gives no outputs"
        raise InputError("framework", own, problem, "Add `outputs` to it (protocol.GivesOutputs).")
    state = program.load(Snapshot(trained.weights))
    return _by_blocks(x, lambda part: program.outputs(state, part))


def _in_environment(trained: TrainedModel, x: NDArray[Any], framework: str) -> NDArray[np.float64]:
    """By a process of the framework's own Python."""
    python = environments.interpreter(framework)
    _ = trained.model  # refused here, if it cannot be found by the other process
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        arrays = {f"weights/{name}": value for name, value in trained.weights.items()}
        Path(folder, "given.safetensors").write_bytes(to_bytes({**arrays, "x": x}, {}))
        encoding = trained.encoding
        job = {
            "folder": folder,
            "framework": framework,
            "spec": trained.spec.to_dict(),
            "encoding": None if encoding is None else encoding.to_dict(),
        }
        collect(Command(framework, python, WORKER, job), DAY)
        return from_file(Path(folder, "outputs.safetensors"))[0]["outputs"]
