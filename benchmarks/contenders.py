"""What is timed. A contender is a function that sets up and returns a round: a function that trains
some epochs and returns the seconds that they took and their number. Rounds can be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from lockstep import recipes
from lockstep.data import find, list_sources
from lockstep.frameworks import registry
from lockstep.frameworks.programs import LoopProgram
from lockstep.frameworks.step import make_step
from lockstep.spec import GRU, FashionMNIST, LeNet, RunSpec, TimeMachine
from lockstep.task import Task, assemble
from lockstep.training.history import History
from lockstep.training.loop import train_loop
from lockstep.training.rates import Rates
from lockstep.training.run_state import Training

Round = Callable[[], tuple[float, int]]
IMAGES = 10_000  # of the training set: a round of a few seconds


def source(name: str) -> str:
    """real if the data is on this machine, else generated: benchmarks download nothing."""
    known = {item.name: item for item in list_sources()}
    return "real" if find(known[name]) else "generated"


def airfoil(framework: str, batch_size: int) -> RunSpec:
    lr = 0.005 if batch_size == 1 else 0.05
    return recipes.airfoil_linear(framework=framework, batch_size=batch_size, lr=lr, evaluate=())


def lenet(framework: str, pooling: str = "max") -> RunSpec:
    data = FashionMNIST(source=source("fashion-mnist"), max_examples=IMAGES)
    model = LeNet(pooling=pooling)
    return recipes.fashion_lenet(framework=framework, data=data, model=model, lr=0.1, evaluate=())


def gru(framework: str, reset: str = "before") -> RunSpec:
    data = TimeMachine(source=source("timemachine"))
    return recipes.timemachine_gru(framework=framework, data=data, model=GRU(reset=reset))


# --- Lockstep -----------------------------------------------------------------------------------


def trained(spec: RunSpec, epochs: int) -> Round:
    """Lockstep's training loop, with batch plans, learning rates, events and history."""
    train = passes(spec, assemble(spec))
    return lambda: (train(epochs), epochs)


def passes(spec: RunSpec, task: Task) -> Callable[[int], float]:
    """The same for any number of epochs: the seconds that they take."""
    program = registry.get(spec.framework).compile(task, spec)
    initial = program.load(program.initial())
    program.prepare(initial, task.plan.epoch(0))

    def train(epochs: int) -> float:
        run = Training(
            task=task,
            spec=replace(spec, epochs=epochs),
            program=program,
            state=initial,
            rates=Rates(spec.schedule, spec.schedule_per),
            listeners=[History()],
            save_snapshot=lambda run, snapshot: None,
        )
        begin = time.perf_counter()
        train_loop(run)
        return time.perf_counter() - begin

    return train


def by_hand(spec: RunSpec, epochs: int) -> Round:
    """The same step in a loop written by hand: the difference is the cost of the training loop."""
    task = assemble(spec)
    framework = registry.get(spec.framework)
    program: Any = framework.compile(task, spec)
    state = program.load(program.initial())
    blocks = task.plan.epoch(0)
    program.prepare(state, blocks)
    ops = framework.kernels(spec.precision)
    step = make_step(ops, task, spec)
    data = {name: ops.asarray(value) for name, value in task.splits["train"].items()}
    lr = float(np.asarray(spec.schedule.base))

    def eager() -> None:
        w, slots, carry = state.weights, state.slots, state.carry
        losses = []
        for block in blocks:
            for rows in ops.asarray(block):
                w, slots, carry, loss, _ = step(w, slots, carry, data, rows, [lr], 0)
                losses.append(loss)
        sum(float(loss) for loss in losses)

    def compiled() -> None:
        own = state
        for block in blocks:
            own, log = program.steps(own, block, np.full(len(block), lr), 0)
        program.fetch(log)

    once = compiled if isinstance(program, LoopProgram) else eager

    def round_() -> tuple[float, int]:
        begin = time.perf_counter()
        for _ in range(epochs):
            once()
        return time.perf_counter() - begin, epochs

    return round_


# --- plain PyTorch ------------------------------------------------------------------------------


def plain_airfoil(batch_size: int, epochs: int) -> Round:
    from benchmarks import plain_loops

    spec = airfoil("torch", batch_size)
    data = assemble(spec).splits["train"]
    return repeated(plain_loops.airfoil(data["x"], data["y"], batch_size, spec.schedule(0)), epochs)


def plain_lenet(epochs: int, pooling: str = "max") -> Round:
    from benchmarks import plain_loops

    data = assemble(lenet("torch")).splits["train"]
    return repeated(plain_loops.lenet(data["x"], data["y"], 256, 0.1, pooling), epochs)


def keras_lenet(epochs: int) -> Round:
    from benchmarks import keras_loop

    data = assemble(lenet("jax")).splits["train"]
    return repeated(keras_loop.lenet(data["x"], data["y"], 256, 0.1), epochs)


def plain_gru(kind: str, epochs: int) -> Round:
    from benchmarks import plain_loops

    spec = gru("torch")
    task = assemble(spec)
    steps = spec.data.window
    tokens = task.splits["train"]["tokens"]
    rows = task.plan.epoch(0)[0]
    windows = [np.stack([tokens[r : r + steps + 1] for r in batch]) for batch in rows]
    make = {"scratch": plain_loops.gru_scratch, "layer": plain_loops.gru_layer}[kind]
    return repeated(make(windows, 28, spec.model.num_hiddens, 1.0), epochs)


def two_processes(name: str) -> Round:
    from benchmarks.two_processes import start_pair

    return start_pair(name)


def repeated(epoch: Callable[[], None], epochs: int) -> Round:
    def round_() -> tuple[float, int]:
        begin = time.perf_counter()
        for _ in range(epochs):
            epoch()
        return time.perf_counter() - begin, epochs

    return round_


CONTENDERS: dict[str, Callable[[], Round]] = {
    "airfoil b=1 plain torch": lambda: plain_airfoil(1, 1),
    "airfoil b=1 lockstep torch": lambda: trained(airfoil("torch", 1), 10),
    "airfoil b=1 lockstep jax": lambda: trained(airfoil("jax", 1), 200),
    "airfoil b=10 plain torch": lambda: plain_airfoil(10, 5),
    "airfoil b=10 lockstep torch": lambda: trained(airfoil("torch", 10), 50),
    "airfoil b=10 lockstep jax": lambda: trained(airfoil("jax", 10), 400),
    "lenet plain torch": lambda: plain_lenet(1),
    "lenet lockstep torch": lambda: trained(lenet("torch"), 1),
    "lenet by hand torch": lambda: by_hand(lenet("torch"), 1),
    "lenet lockstep jax": lambda: trained(lenet("jax"), 1),
    "lenet lockstep jax, concise": lambda: trained(replace(lenet("jax"), style="concise"), 1),
    "lenet keras on jax": lambda: keras_lenet(1),
    "lenet by hand jax": lambda: by_hand(lenet("jax"), 1),
    "lenet avg plain torch": lambda: plain_lenet(1, "avg"),
    "lenet avg lockstep torch": lambda: trained(lenet("torch", "avg"), 1),
    **{
        f"lenet {pooling} {who}, 2 processes": partial(two_processes, f"{who} {pooling}")
        for pooling in ("max", "avg")
        for who in ("lockstep", "chapter", "apart")
    },
    "gru plain torch": lambda: plain_gru("scratch", 6),
    "gru nn.GRU torch": lambda: plain_gru("layer", 6),
    "gru lockstep torch": lambda: trained(gru("torch"), 6),
    "gru lockstep torch, reset after": lambda: trained(gru("torch", "after"), 6),
    "gru by hand torch": lambda: by_hand(gru("torch"), 6),
    "gru lockstep jax": lambda: trained(gru("jax"), 6),
    "gru by hand jax": lambda: by_hand(gru("jax"), 6),
}
