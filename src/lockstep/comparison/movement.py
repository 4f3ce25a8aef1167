"""Did the oracle learn anything? Equal losses of runs that stood still prove nothing.

The losses of two moments differ by their batches alone, so the same batches are looked at twice:
with the weights at the start and with those at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lockstep.assemble import assemble
from lockstep.frameworks import registry
from lockstep.frameworks.protocol import Program
from lockstep.ops import Arrays, Snapshot
from lockstep.spec import RunSpec

if TYPE_CHECKING:
    from lockstep.own_task import Own

EXAMPLES = 64  # about so many are looked at


def loss_before_and_after(spec: RunSpec, own: Own | None, weights: Arrays) -> tuple[float, float]:
    """Mean loss of the first batches under the initial weights, and under `weights`."""
    task = assemble(spec, own)
    program = registry.get(spec.framework).compile(task, spec)
    count = max(1, EXAMPLES // spec.batch_size)
    batches = [row[None] for block in task.plan.epoch(0) for row in block[:count]][:count]
    return _mean(program, program.initial(), batches), _mean(program, Snapshot(weights), batches)


def _mean(program: Program, snapshot: Snapshot, batches: list[np.ndarray]) -> float:
    state = program.load(snapshot)
    losses = []
    for rows in batches:  # a step's loss is that of the weights before it; the state stays as it is
        _, log = program.steps(state, rows, np.zeros(1), 0)
        losses.append(program.fetch(log)["loss"][0])
    return float(np.mean(losses))
