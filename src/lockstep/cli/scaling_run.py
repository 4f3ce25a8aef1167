"""What `lockstep scale` measures: real short runs of the recipe, on one device and on several."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.experiments.scaling.forecast import Check
    from lockstep.experiments.scaling.model import Network, Profile
    from lockstep.experiments.scaling.overlap import Piece
    from lockstep.spec import RunSpec
    from lockstep.training import Result

Tell = Callable[[str], None]
REPEATS = 10  # of each probe of the link
MOST_EXAMPLES = 256  # of the batch that is differentiated in NumPy


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Frameworks that are imported or started inside compute with so many threads."""
    if count < 1:
        raise InputError("threads", count, "must be at least 1", "Give 1 or more.")
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def measure_profile(
    spec: RunSpec, sizes: Sequence[int], seconds: float, backward: float, tell: Tell
) -> Profile:
    """A step at every batch size, and the gradient with its order of completion."""
    from lockstep.experiments.scaling.measuring import Job, measure_steps
    from lockstep.experiments.scaling.model import Profile

    results: list[Result] = []
    jobs = [Job(spec, size) for size in sizes]
    found = measure_steps(jobs, _timer(results), seconds, tell)
    times = dict(zip(sizes, found, strict=True))
    pieces = _backward(results[0])
    tell("the backward pass")
    itemsize = int(spec.precision.removeprefix("float")) // 8
    return Profile(spec.name, spec.batch_size, times, pieces, backward, itemsize)


def check_devices(
    spec: RunSpec, profile: Profile, counts: Sequence[int], bucket: int, seconds: float, tell: Tell
) -> tuple[list[Check], dict[int, Network]]:
    """Steps on several devices of this machine, and the networks they were predicted with."""
    from lockstep.experiments.allreduce.benchmark import run_bench
    from lockstep.experiments.allreduce.measurements import Bench
    from lockstep.experiments.scaling.measuring import Job, check_here, measure_steps
    from lockstep.experiments.scaling.model import Network
    from lockstep.frameworks import registry

    transport = "processes" if registry.devices_are_processes(spec.framework) else "local"
    bench = Bench((max(4, profile.size),), tuple(counts), ("ring",), transport, REPEATS)
    networks = {
        count: Network(link, bucket=bucket) for count, link in run_bench(bench).links.items()
    }
    tell("the link of this machine")

    def measure(jobs: Sequence[Job]) -> list[float]:
        return measure_steps(jobs, _timer([]), seconds, tell)

    checks = [
        check
        for count in counts
        for check in check_here(spec, profile, count, networks[count], measure)
    ]
    return checks, networks


def train_once(spec: RunSpec, event_steps: int) -> Result:
    """A run that leaves nothing behind."""
    from lockstep.training import train

    return train(spec, event_steps=event_steps)


def _timer(results: list[Result]) -> Callable[[RunSpec, int], list[float]]:
    def timer(spec: RunSpec, event_steps: int) -> list[float]:
        result = train_once(spec, event_steps)
        results.append(result)
        return [1 / rate for rate in result.history.step_rates()]

    return timer


def _backward(result: Result) -> tuple[Piece, ...]:
    """The recipe's loss on its first batch, differentiated by NumPy."""
    import numpy as np

    from lockstep.experiments.scaling.backward import measure_backward
    from lockstep.frameworks import registry

    task, spec = result.task, result.spec
    ops = registry.get("numpy").kernels(spec.precision)
    rows = task.plan.epoch(0)[0][0][:MOST_EXAMPLES]
    data = {name: ops.asarray(array) for name, array in task.splits["train"].items()}
    x, y = task.batch(ops, data, rows)
    shapes = task.model.carry_shapes(len(rows))
    carry = {name: ops.zeros(shape) for name, shape in shapes.items()}

    def loss_of(w: Any) -> Any:
        return ops.mean(task.loss(ops, task.model.apply(ops, w, x, carry)[0], y))

    weights = {name: np.asarray(ops.asarray(w)) for name, w in result.weights.items()}
    return measure_backward(loss_of, weights)
