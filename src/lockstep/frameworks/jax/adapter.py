"""The JAX adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax

from lockstep.errors import MissingError
from lockstep.frameworks.jax.ops import JaxOps
from lockstep.frameworks.jax.program import jax_program
from lockstep.frameworks.protocol import Program
from lockstep.frameworks.step import initial_snapshot, make_step, make_sums
from lockstep.spec import LeNet

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


class JaxFramework:
    name = "jax"
    requirement = "lockstep-train[jax]"

    def version(self) -> str:
        return str(jax.__version__)

    def devices(self) -> list[str]:
        return [str(device) for device in jax.devices()]

    def ops(self, precision: str, fused: bool = True) -> JaxOps:
        if precision == "float64":
            # JAX computes in float64 only when the whole process allows it
            jax.config.update("jax_enable_x64", True)
        return JaxOps(precision, fused)

    def compile(self, task: Task, spec: RunSpec) -> Program:
        ops = self.ops(spec.precision, spec.fused)
        if task.native is not None or spec.style == "concise":
            return _module_program(ops, task, spec)
        return jax_program(
            ops,
            task,
            spec,
            step=make_step(ops, task, spec),
            sums=make_sums(ops, task),
            initial=initial_snapshot(task, spec),
            notes=_notes(spec),
        )


def _notes(spec: RunSpec) -> tuple[str, ...]:
    pools = spec.fused and isinstance(spec.model, LeNet) and spec.model.pooling == "max"
    return ("fused convolution and pooling",) if pools else ()


def _module_program(ops: JaxOps, task: Task, spec: RunSpec) -> Program:
    """Flax and Optax are imported only by the runs that use them."""
    try:
        from lockstep.frameworks.jax.module import module_program
    except ModuleNotFoundError as error:
        what = f"style = {spec.style!r}: needs {error.name}, which is not installed"
        raise MissingError(what, "Install it with: pip install 'lockstep-train[jax]'") from error
    return module_program(ops, task, spec)


framework = JaxFramework()
