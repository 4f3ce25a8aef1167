"""XLA's own allreduce over several CPU devices of one process. Reports what timing.py describes.
The one file of this room that imports JAX."""

from __future__ import annotations

import time
from typing import Any

import jax
import numpy as np

from lockstep.experiments.allreduce.timing import check_sum, initial_values
from lockstep.processes.child import Send, serve


def work(job: dict[str, Any], send: Send) -> None:
    """Time XLA's sum over all devices on every length."""
    num_devices = job["world_size"]
    jax.config.update("jax_num_cpu_devices", num_devices)  # before JAX looks for devices
    devices = jax.devices("cpu")[:num_devices]
    mesh = jax.sharding.Mesh(np.array(devices), ("device",))
    spec = jax.sharding.PartitionSpec("device")
    sum_all = jax.jit(
        jax.shard_map(lambda x: jax.lax.psum(x, "device"), mesh=mesh, in_specs=spec, out_specs=spec)
    )
    for length in job["lengths"]:
        host = np.stack([initial_values(rank, length) for rank in range(num_devices)])
        buffers = jax.device_put(host, jax.sharding.NamedSharding(mesh, spec))  # (k, n): a row each
        for repeat in range(-1, job["repeats"]):
            begin = time.perf_counter()
            summed = sum_all(buffers).block_until_ready()
            seconds = time.perf_counter() - begin
            if repeat < 0:
                for row in np.asarray(summed):
                    check_sum(row, num_devices, "xla")
            facts = {"seconds": seconds, "sent": None, "rounds": None}
            send({"length": length, "algorithm": "xla", "repeat": repeat, **facts})


if __name__ == "__main__":
    serve(work)
