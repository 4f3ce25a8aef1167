"""How many threads a framework computes with, and how its idle threads wait.

Both are read from the environment when a framework is loaded or starts, so a run that asks for a
number of threads is carried out by a process that was started with these variables. Nothing here
imports a framework.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping

COUNT = "OMP_NUM_THREADS"  # OpenMP: torch, paddle, mxnet; mindspore's adapter reads it too
# What makes an idle OpenMP thread sleep after a short spin. By default it spins for milliseconds,
# and beside other work the thread that it waits for has no core to run on: see
# `python -m benchmarks --only beside`.
SHORT_SPIN = {"GOMP_SPINCOUNT": "1000"}  # GNU's OpenMP: torch, mxnet


def available() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def variables(count: int) -> dict[str, str]:
    """The environment of a process that computes with `count` threads.

    >>> variables(2)["OMP_NUM_THREADS"]
    '2'
    """
    number = str(count)
    return {
        COUNT: number,
        "OPENBLAS_NUM_THREADS": number,  # numpy, mxnet
        "MKL_NUM_THREADS": number,  # torch, paddle
        "NPROC": number,  # jax: XLA's pool
        "TF_NUM_INTRAOP_THREADS": number,  # tensorflow
    }


def share(
    asked: int, num_processes: int, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The variables of each of a run's processes on this machine: `asked` threads, or (with 0) its
    share of the cores if there are several and the person has not said otherwise.

    >>> share(0, 1, {}), share(0, 2, {"OMP_NUM_THREADS": "1"}), share(3, 2)["NPROC"]
    ({}, {}, '3')
    """
    if asked:
        return variables(asked)
    if num_processes == 1 or COUNT in environment:
        return {}
    return variables(max(1, available() // num_processes))


def count(environment: Mapping[str, str] = os.environ) -> int:
    """The threads that a framework loaded in this process computes with.

    >>> count({"OMP_NUM_THREADS": "3"})
    3
    """
    asked = environment.get(COUNT, "")
    return int(asked) if asked.isdecimal() and int(asked) else available()


def are(wanted: int, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a process was started to compute with so many threads.

    >>> are(2, variables(2)), are(2, {"OMP_NUM_THREADS": "2"})
    (True, False)
    """
    return variables(wanted).items() <= environment.items()


def spin_briefly(package: str, environment: MutableMapping[str, str] = os.environ) -> None:
    """Let idle threads sleep after a short spin, unless the person has said how they wait, or the
    framework's package is loaded already and has read its variables."""
    if package in sys.modules or "OMP_WAIT_POLICY" in environment:
        return
    for name, value in SHORT_SPIN.items():
        environment.setdefault(name, value)


def facts(environment: Mapping[str, str] = os.environ) -> dict[str, object]:
    """What a run records: the number of threads, and the variables that say how they wait."""
    names = ("OMP_WAIT_POLICY", *SHORT_SPIN)
    waiting = {name: environment[name] for name in names if name in environment}
    return {"threads": count(environment), "waiting": waiting}
