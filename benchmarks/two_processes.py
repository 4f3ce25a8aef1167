"""LeNet on two processes of one thread each: Lockstep's data parallelism, the chapter's scheme for
two devices, and two independent runs.

A contender is rank 0 and starts rank 1 (`python -m benchmarks.two_processes NAME STORE`);
both wait at a barrier before and after every round.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
import torch.distributed as dist

from benchmarks.contenders import IMAGES, Round, lenet, repeated, trained
from benchmarks.plain_loops import LENETS, plain_images, update
from lockstep.frameworks import registry
from lockstep.processes.ranks import Rank
from lockstep.processes.splitting import shard_slices
from lockstep.task import assemble

BATCH_SIZE = 256
LR = 0.1


def lockstep(pooling: str) -> Round:
    """Lockstep's own data parallelism."""
    return trained(replace(lenet("torch", pooling), devices=2), 1)


def apart(pooling: str) -> Round:
    """Each process trains alone, on half of the images in batches of half the size: the speed that
    the machine would have if the exchange were free and no process waited."""
    spec = lenet("torch", pooling)
    half = replace(spec.data, max_examples=IMAGES // 2)  # type: ignore[type-var]
    return trained(replace(spec, data=half, batch_size=BATCH_SIZE // 2), 1)


def chapter(pooling: str) -> Round:
    """The chapter's scheme: one parameter after another, the gradient goes to the first device, is
    added there and goes back; every device updates its own copy."""
    rank = dist.get_rank()
    data = assemble(lenet("torch")).splits["train"]
    pixels, labels = plain_images(data["x"], data["y"])
    torch.manual_seed(0)
    net = LENETS[pooling]()
    parameters = list(net.parameters())
    order = torch.Generator().manual_seed(1)
    received = [torch.zeros_like(p) for p in parameters]

    def allreduce(number: int, grad: torch.Tensor) -> None:
        if rank == 0:
            dist.recv(received[number], 1)
            grad += received[number]
            dist.send(grad, 1)
        else:
            dist.send(grad, 0)
            dist.recv(grad, 0)

    def epoch() -> None:
        for batch in torch.randperm(len(labels), generator=order).split(BATCH_SIZE):
            own = batch[shard_slices(len(batch), 2)[rank]]
            loss = torch.nn.functional.cross_entropy(net(pixels[own]), labels[own], reduction="sum")
            loss.backward()
            for number, parameter in enumerate(parameters):
                assert parameter.grad is not None
                allreduce(number, parameter.grad)
            update(parameters, LR / len(batch))

    return repeated(epoch, 1)


PAIRS: dict[str, Callable[[], Round]] = {
    f"{who} {pooling}": (lambda make=make, pooling=pooling: make(pooling))
    for who, make in (("lockstep", lockstep), ("chapter", chapter), ("apart", apart))
    for pooling in ("max", "avg")
}


def start_pair(name: str) -> Round:
    """Starts rank 1 and returns the rounds of rank 0, this process."""
    folder = tempfile.mkdtemp(prefix="lockstep-pair-")
    store = str(Path(folder) / "store")
    other = subprocess.Popen([sys.executable, "-m", "benchmarks.two_processes", name, store])
    own = _join(0, store, name)

    def round_() -> tuple[float, int]:
        if other.poll() is not None:
            raise RuntimeError(f"rank 1 of {name} has ended")
        dist.barrier()
        begin = time.perf_counter()
        _, units = own()
        dist.barrier()
        return time.perf_counter() - begin, units

    return round_


def _join(rank: int, store: str, name: str) -> Round:
    place = Rank(rank, 2, rank, 2, store=store)
    os.environ |= place.variables()
    registry.get("torch").join(place)  # type: ignore[misc]
    torch.set_num_threads(1)
    return PAIRS[name]()


def _serve(name: str, store: str) -> None:
    """Rank 1: one round for each of rank 0, until rank 0 ends."""
    own = _join(1, store, name)
    while True:
        try:
            dist.barrier()
        except RuntimeError:  # rank 0 has ended, and with it the benchmark
            os._exit(0)
        own()
        dist.barrier()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
