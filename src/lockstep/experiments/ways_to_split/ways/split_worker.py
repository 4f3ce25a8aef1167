"""One device of the experiment, as a process of its own.

Reports {"way", "repeat", "seconds", "waited", "sent", "messages", "loss"} for every step; repeat -1
is one to warm up, the first of which also has "activations", bytes kept for the backward pass.
Writes its part of the first gradient and of the last weights to files of the job's folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lockstep.experiments.allreduce import process_plans as processes
from lockstep.experiments.ways_to_split.question import (
    DATA,
    LAYERS,
    LR,
    ONE,
    WITHIN,
    file_name,
    turns,
)
from lockstep.experiments.ways_to_split.ways.by_layers import ByLayers
from lockstep.experiments.ways_to_split.ways.way import ByData, OneDevice, Tensor, Tensors, Way
from lockstep.experiments.ways_to_split.ways.wire import Wire
from lockstep.experiments.ways_to_split.ways.within_layers import WithinLayers
from lockstep.frameworks.torch.ops import TorchOps
from lockstep.models.lenet import lenet
from lockstep.ops import Arrays
from lockstep.processes.child import Send, serve


def work(job: dict[str, Any], send: Send) -> None:
    """Take part in every step of every way, in turns."""
    send({"joining": job["rank"]})  # importing PyTorch took its time
    folder = Path(job["folder"])
    processes.join(job["rank"], job["world_size"], folder / "store", job["silence"])
    wire = Wire()
    with np.load(folder / "start.npz") as start:
        images, labels, rows = (torch.from_numpy(start[n]) for n in ("images", "labels", "rows"))
        arrays = {name: start[name] for name in lenet(job["pooling"]).shapes}
    ways = {name: _way(name, job, wire, arrays) for name in job["ways"]}
    for turn in turns(job["ways"], job["steps"]):
        way, chosen = ways[turn.way], rows[turn.step]
        batch = images[chosen], labels[chosen]
        wire.begin_together()
        if turn.step == 0:
            gradient, facts = _first_step(way, wire, batch)
            save(folder, "gradient", turn.way, wire.rank, gradient)
        else:
            facts = _step(way, wire, batch)[1]
        send({"way": turn.way, "repeat": turn.repeat, **facts})
    for name, way in ways.items():
        save(folder, "weights", name, wire.rank, way.weights)
    processes.ProcessGroup().barrier()  # leaving early breaks the others' connections


def _way(name: str, job: dict[str, Any], wire: Wire, arrays: Arrays) -> Way:
    given = TorchOps(job["precision"]), wire, lenet(job["pooling"]), arrays
    if name == LAYERS:
        return ByLayers(*given, job["micro_batches"])
    ways: dict[str, Callable[..., Way]] = {ONE: OneDevice, DATA: ByData, WITHIN: WithinLayers}
    return ways[name](*given)


def _step(way: Way, wire: Wire, batch: tuple[Tensor, Tensor]) -> tuple[Tensors, dict[str, Any]]:
    """Gradient and update, w - LR g in place; the gradient, and what it took."""
    sent, messages, waited = wire.sent, wire.messages, wire.waited
    begin = time.perf_counter()
    gradient = way.gradient(*batch)
    with torch.no_grad():
        for name, value in gradient.by_weight.items():
            way.weights[name].sub_(value, alpha=LR)
    seconds = time.perf_counter() - begin
    return gradient.by_weight, {
        "begin": begin,
        "seconds": seconds,
        "waited": wire.waited - waited,
        "sent": wire.sent - sent,
        "messages": wire.messages - messages,
        "loss": float(gradient.loss),
        "work": list(getattr(way, "work", [])),
    }


def _first_step(
    way: Way, wire: Wire, batch: tuple[Tensor, Tensor]
) -> tuple[Tensors, dict[str, Any]]:
    """The same, with the bytes that are kept for the backward pass counted: every piece of memory
    once, weights not."""
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        gradient, facts = _step(way, wire, batch)
    own = {weight.untyped_storage().data_ptr() for weight in way.weights.values()}
    return gradient, {**facts, "activations": sum(n for at, n in kept.items() if at not in own)}


def save(folder: Path, what: str, way: str, rank: int, tensors: Tensors) -> None:
    """Where `measuring` looks for it."""
    arrays: dict[str, Any] = {name: value.detach().numpy() for name, value in tensors.items()}
    np.savez(folder / file_name(what, way, rank), **arrays)


if __name__ == "__main__":
    serve(work)
