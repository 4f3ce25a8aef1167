"""The JAX adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax

from lockstep.errors import MissingError
from lockstep.frameworks.fused import fused_notes
from lockstep.frameworks.jax.devices import join_processes, show_devices
from lockstep.frameworks.jax.many import ManyJax
from lockstep.frameworks.jax.ops import JaxOps
from lockstep.frameworks.jax.program import jax_program
from lockstep.frameworks.protocol import Framework, Program
from lockstep.frameworks.step import initial_snapshot

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def devices() -> list[str]:
    return [str(device) for device in jax.devices()]


def kernels(precision: str, fused: bool = True) -> JaxOps:
    if precision == "float64":
        # JAX computes in float64 only when the whole process allows it
        jax.config.update("jax_enable_x64", True)
    return JaxOps(precision, fused)


def program(ops: JaxOps, task: Task, spec: RunSpec) -> Program:
    initial, notes = initial_snapshot(task, spec), fused_notes(ops, task.model)
    return jax_program(ops, task, spec, initial=initial, notes=notes)


def layers_program(ops: JaxOps, task: Task, spec: RunSpec) -> Program:
    """Flax and Optax are imported only by the runs that use them."""
    try:
        from lockstep.frameworks.jax.module import module_program
    except ModuleNotFoundError as error:
        what = f"style = {spec.style!r}: needs {error.name}, which is not installed"
        raise MissingError(what, "Install it with: pip install 'lockstep-train[jax]'") from error
    return module_program(ops, task, spec)


framework = Framework(
    name="jax",
    version=str(jax.__version__),
    several="in one process: jax_num_cpu_devices",
    devices=devices,
    kernels=kernels,
    program=program,
    module_program=layers_program,
    show_devices=show_devices,
    join=join_processes,
    many_program=ManyJax,
)
