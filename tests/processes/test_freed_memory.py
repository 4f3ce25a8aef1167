"""Freed memory is kept for the next step, unless the person has said how it is kept."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

# pages that 20 arrays of 10 MB, each freed before the next, took from the system
FAULTS = """
import resource, sys
import numpy as np
from lockstep.frameworks import registry
if "train" in sys.argv:
    registry.get("numpy")
def step():
    a = np.ones(1_250_000)
    b = np.ones(1_250_000)
step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*words: str, **variables: str) -> int:
    command = [sys.executable, "-c", FAULTS, *words]
    environment = {n: v for n, v in os.environ.items() if not n.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run(
        command, env=environment | variables, capture_output=True, text=True, timeout=120
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc gives memory back so")
def test_a_process_that_trains_keeps_what_a_step_frees() -> None:
    plain, kept = faults(), faults("train")
    assert plain > 20 * 5 * 2, "fewer than one a block of 2 MB: is there anything to keep?"
    assert kept < plain / 100
    assert faults("train", MALLOC_TRIM_THRESHOLD_="131072") > plain / 2, "the person's own choice"
