"""One device of a benchmark, as a process. Reports what timing.py describes, of its own part."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.experiments.allreduce import process_plans as processes
from lockstep.experiments.allreduce.cost import PROBES
from lockstep.experiments.allreduce.shared_plans import SharedBuffers, SharedPlanCollective
from lockstep.experiments.allreduce.timing import check_sum, initial_values, plan_of, turns
from lockstep.frameworks.torch.devices import EngineCollective
from lockstep.processes.child import Send, serve

Planned = processes.PlanCollective | SharedPlanCollective
Timed = Planned | EngineCollective


def work(job: dict[str, Any], send: Send) -> None:
    """Time every algorithm on every length, in turns."""
    rank, world_size = job["rank"], job["world_size"]
    send({"joining": rank})  # importing PyTorch took its time
    processes.join(rank, world_size, Path(job["store"]), job["silence"])
    group = EngineCollective()
    shared = SharedBuffers(group, job["silence"]) if job["transport"] == "shared" else None
    for length, names in job["jobs"]:
        buffer = shared.make(length) if shared else np.empty(length, np.float32)
        start = initial_values(rank, length)
        collectives = {name: _collective(name, job["bandwidth"], shared) for name in names}
        for repeat, name in turns(names, job["repeats"]):
            buffer[:] = start
            facts = _time(collectives[name], buffer)
            if repeat < 0 and name not in PROBES:
                check_sum(buffer, world_size, name)
            send({"length": length, "algorithm": name, "repeat": repeat, **facts})
    group.barrier()  # a process that leaves early breaks the connections of the others


def _collective(name: str, bandwidth: float | None, shared: SharedBuffers | None) -> Timed:
    if name == "gloo":
        return EngineCollective()
    if shared is not None:
        return SharedPlanCollective(plan_of(name), shared)
    held = math.inf if name in PROBES else bandwidth or math.inf
    return processes.PlanCollective(plan_of(name), held)


def _time(collective: Timed, buffer: np.ndarray) -> dict[str, Any]:
    before = _counts(collective)
    collective.barrier()
    begin = time.perf_counter()
    collective.all_reduce([buffer])
    seconds = time.perf_counter() - begin
    moved = {name: count - before[name] for name, count in _counts(collective).items()}
    return {"seconds": seconds, "sent": None, "rounds": None, **moved}


def _counts(collective: Timed) -> dict[str, int]:
    if isinstance(collective, Planned):
        return {"sent": collective.sent, "rounds": collective.num_rounds}
    return {}


if __name__ == "__main__":
    serve(work)
