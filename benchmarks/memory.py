"""Peak memory of a run that calls the program once an epoch, and of one that does so every step."""

from __future__ import annotations

import resource
import subprocess
import sys


def peak_memory(framework: str, event_steps: int) -> float:
    """Peak resident MiB of a new process that trains LeNet; `event_steps` per call, 0: an epoch."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", framework, str(event_steps)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=600,
    )
    return float(done.stdout)


def _measure(framework: str, event_steps: int) -> float:
    from benchmarks.contenders import lenet
    from lockstep import train

    train(lenet(framework).with_fields({"epochs": 2}), event_steps=event_steps)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(_measure(sys.argv[1], int(sys.argv[2])))
