"""The JAX adapter."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import jax

from lockstep.contract import ContractOps
from lockstep.errors import MissingError, StartedError
from lockstep.frameworks.jax.ops import JaxOps
from lockstep.frameworks.jax.program import jax_program
from lockstep.frameworks.protocol import Program
from lockstep.frameworks.step import initial_snapshot
from lockstep.spec import LeNet

if TYPE_CHECKING:
    from lockstep.processes.collective import Collective
    from lockstep.processes.ranks import Rank
    from lockstep.spec import RunSpec
    from lockstep.task import Task

# XLA runs a loop whose arrays have at most so many bytes as one kernel, operation by operation
# otherwise. Its own limit is 1024; at this one an epoch of linear regression takes a third.
SMALL_LOOP = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=65536"


def set_flags() -> None:
    """XLA reads its flags once, when it starts; a person's own extra options are left alone."""
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_extra_options" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {SMALL_LOOP}".strip()


set_flags()


class JaxFramework:
    name = "jax"
    several = "in one process: jax_num_cpu_devices"

    def version(self) -> str:
        return str(jax.__version__)

    def devices(self) -> list[str]:
        return [str(device) for device in jax.devices()]

    def show_devices(self, count: int) -> None:
        there = getattr(jax.config, "jax_num_cpu_devices", -1)  # -1 unless set
        if count <= max(there, 1) or jax.distributed.is_initialized():
            return
        try:
            jax.config.update("jax_num_cpu_devices", count)
        except RuntimeError as error:
            there = max(len(jax.devices()), len(jax.devices("cpu")))
            if count > there:
                raise StartedError(self.name, count, there) from error

    def join(self, place: Rank) -> Collective:
        from lockstep.frameworks.jax.ranks import ProcessCollective, join_processes

        join_processes(place)
        return ProcessCollective()

    def ops(self, precision: str) -> ContractOps:
        return ContractOps(self.kernels(precision))

    def kernels(self, precision: str, fused: bool = True) -> JaxOps:
        if precision == "float64":
            # JAX computes in float64 only when the whole process allows it
            jax.config.update("jax_enable_x64", True)
        return JaxOps(precision, fused)

    def compile(self, task: Task, spec: RunSpec) -> Program:
        self.show_devices(spec.devices)
        ops = self.kernels(spec.precision, spec.fused)
        if task.native is not None or spec.style == "concise":
            return _module_program(ops, task, spec)
        return jax_program(
            ops,
            task,
            spec,
            initial=initial_snapshot(task, spec),
            notes=_notes(spec),
        )


def _notes(spec: RunSpec) -> tuple[str, ...]:
    pools = spec.fused and isinstance(spec.model, LeNet)
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
