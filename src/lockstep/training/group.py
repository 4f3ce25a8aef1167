"""The processes that carry out a run together. Rank 0 alone reads and writes its directory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.errors import InputError, StartedError
from lockstep.frameworks import registry, threads
from lockstep.frameworks.protocol import JoinsProcesses
from lockstep.ops import Snapshot
from lockstep.parallel import ranks
from lockstep.parallel.collective import Collective, NullCollective
from lockstep.spec import RunSpec
from lockstep.training import checkpoints
from lockstep.training.checkpoints import Found


def processes_needed(spec: RunSpec, launch: str = "auto") -> int:
    """How many other processes must carry out a run; 0 if this one can, or is one of them."""
    several = spec.devices > 1
    other_threads = spec.threads > 0 and not threads.are(spec.threads)
    apart = launch == "processes" or registry.devices_are_processes(spec.framework)
    if not registry.is_installed(spec.framework):
        return spec.devices if apart else 1
    if ranks.current() is not None:
        return 0
    if not several:
        return int(other_threads)
    if apart:
        return spec.devices
    if other_threads:
        return 1
    try:
        registry.get(spec.framework).show_devices(spec.devices)
    except StartedError:
        return 1
    return 0


def follows(spec: RunSpec) -> bool:
    """Whether this process is one of several of a run, and not the first."""
    return spec.devices > 1 and not ranks.is_first()


def join(spec: RunSpec) -> Collective:
    """What joins this process to those that it trains with; alone, it gets the run's devices."""
    place = ranks.current()
    if spec.devices == 1:
        return NullCollective()
    if place is None:
        registry.get(spec.framework).show_devices(spec.devices)
        return NullCollective()
    if spec.threads and threads.count() != spec.threads:
        problem = f"this process was started with {threads.COUNT}={threads.count()}"
        remedy = f"Start the processes with {threads.COUNT}={spec.threads}, or leave it out."
        raise InputError("threads", spec.threads, problem, remedy)
    if place.world_size != spec.devices:
        problem = f"there are {place.world_size} processes (WORLD_SIZE)"
        raise InputError("devices", spec.devices, problem, f"Give --devices {place.world_size}.")
    framework = registry.get(spec.framework)
    if not isinstance(framework, JoinsProcesses):
        problem, remedy = "cannot be one of several processes", "Use torch or jax."
        raise InputError("framework", spec.framework, problem, remedy)
    return framework.join(place)


def shared_checkpoint(
    collective: Collective, found: Found
) -> tuple[Snapshot | None, dict[str, Any]]:
    """Rank 0's checkpoint (and facts) in every process, wherever its file lies; None if none."""
    own = found.snapshot, found.facts
    content = np.frombuffer(found.path.read_bytes() if found.path else b"", np.uint8).copy()
    size = int(collective.broadcast([np.array([len(content)])])[0][0])
    if not size or collective.world_size == 1:
        return own
    received = content if collective.rank == 0 else np.empty(size, np.uint8)
    shared = collective.broadcast([received])[0]
    if collective.rank == 0:
        return own
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        copy = Path(folder) / "checkpoint.safetensors"
        copy.write_bytes(shared.tobytes())
        return checkpoints.load(copy)
