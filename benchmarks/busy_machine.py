"""The seconds that a run spends in steps while one or two other processes keep the cores busy."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

STEPS = 60
CODE = """
import lockstep as ls
spec = ls.recipes.fashion_lenet(framework={framework!r}, max_steps={steps}, evaluate=())
print("seconds", ls.train(spec).history.seconds)
"""
# libgomp's default, which Lockstep replaces by a shorter spin
LONG_SPIN = {"GOMP_SPINCOUNT": "300000"}


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """`count` processes that compute without a pause, ended with the context."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait(10)


def seconds_in_steps(framework: str, others: int, variables: dict[str, str]) -> float:
    """LeNet's first steps in a new process, while `others` processes are busy."""
    code = CODE.format(framework=framework, steps=STEPS)
    names = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    own = {name: value for name, value in os.environ.items() if name not in names}
    with busy_processes(others):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=own | variables,
            check=True,
            capture_output=True,
            text=True,
            timeout=600,
        )
    return float(done.stdout.split("seconds")[-1])


def time_on_busy_machine(framework: str, rounds: int) -> dict[str, float]:
    """Medians: alone, beside one and two busy processes, and alone with libgomp's default spin."""
    cases: dict[str, tuple[int, dict[str, str]]] = {
        "alone": (0, {}),
        "one": (1, {}),
        "two": (2, {}),
        "alone, long spin": (0, LONG_SPIN),
    }
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (others, variables) in cases.items():
            found[name].append(seconds_in_steps(framework, others, variables))
    return {name: statistics.median(values) for name, values in found.items()}


if __name__ == "__main__":  # a row for each framework, for docs/results.md
    for name in sys.argv[1:]:
        times = time_on_busy_machine(name, rounds=3)
        print(name, *(f"{case}: {seconds:.2f} s" for case, seconds in times.items()), sep="  ")
