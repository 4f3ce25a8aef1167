"""How the memory that a step frees is kept for the next one. Nothing here imports a framework."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from functools import cache

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of mallopt(3)
KEPT = 2**30  # bytes at the heap's end that are not given back
LARGEST = 2**25  # bytes of a block that comes from the heap: the most that glibc allows


@cache
def keep() -> bool:
    """Let glibc keep the memory of freed arrays in this process; whether it does now.

    By default it gives megabytes back to the system after each step and fetches them anew, page by
    page, in the next: a third of a step of LeNet. Other C libraries are left as they are.
    """
    if sys.platform != "linux" or person_chose():
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is None:
        return False
    return bool(mallopt(TRIM_THRESHOLD, KEPT)) and bool(mallopt(MMAP_THRESHOLD, LARGEST))


def person_chose(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment says how glibc keeps memory: then that is left as it is.

    >>> person_chose({}), person_chose({"MALLOC_TRIM_THRESHOLD_": "0"})
    (False, True)
    """
    return (
        "MALLOC_TRIM_THRESHOLD_" in environment
        or "MALLOC_MMAP_THRESHOLD_" in environment
        or "GLIBC_TUNABLES" in environment
    )
