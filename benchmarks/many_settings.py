"""A sweep's settings trained together, against the same runs one after another.

Both are in one process and in turns; each program is compiled once, before anything is timed. A
round of either begins with the initial weights on the host and ends with all losses there.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.contenders import airfoil, gru
from lockstep.frameworks import registry
from lockstep.spec import GRU, RunSpec
from lockstep.sweeps.group import Group
from lockstep.task import assemble

CASES: dict[str, tuple[RunSpec, np.ndarray]] = {
    "airfoil": (replace(airfoil("jax", 10), epochs=2), np.geomspace(0.001, 0.1, 64)),
    "gru": (
        replace(gru("jax"), model=GRU(num_hiddens=64), epochs=3),
        np.geomspace(0.1, 2.0, 16),
    ),
}


def time_together(name: str, rounds: int) -> tuple[float, float]:
    """Median seconds of all settings: one after another, and together."""
    spec, rates = CASES[name]
    specs = [spec.with_lr(float(rate)) for rate in rates]
    ways = (_in_turn(specs), _together(specs))
    first, second = (way() for way in ways)  # compiles
    np.testing.assert_allclose(first, second, rtol=1e-5)
    seconds: list[list[float]] = [[], []]
    for _ in range(rounds):
        for way, times in zip(ways, seconds, strict=True):
            begin = time.perf_counter()
            way()
            times.append(time.perf_counter() - begin)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def _in_turn(specs: list[RunSpec]) -> Callable[[], np.ndarray]:
    task = assemble(specs[0])
    program = registry.get("jax").compile(task, specs[0])
    epochs = [task.plan.epoch(epoch) for epoch in range(specs[0].epochs)]
    program.prepare(program.load(program.initial()), epochs[0])

    def alone(rate: float) -> np.ndarray:
        state, step, losses = program.load(program.initial()), 0, []
        for blocks in epochs:
            state = program.restart_carry(state)
            for block in blocks:
                state, log = program.steps(state, block, np.full(len(block), rate), step)
                step += len(block)
                losses.append(program.fetch(log)["loss"])
        return np.concatenate(losses)

    return lambda: np.stack([alone(spec.schedule(0)) for spec in specs], axis=1)  # type: ignore[operator]


def _together(specs: list[RunSpec]) -> Callable[[], np.ndarray]:
    task = assemble(specs[0])
    program = registry.get("jax").compile_many(task, specs[0], len(specs))
    assert program is not None

    def round_() -> np.ndarray:
        group = Group(program, [task] * len(specs), specs)
        group.start()
        group.run(lambda group: None, lambda step: None)
        return group.losses

    return round_
