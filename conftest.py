"""Settings that every test and doctest shares."""

from __future__ import annotations

import os

# Test processes run side by side. Threads that wait by spinning, one set per process, would slow
# each other down a hundredfold, so every process computes with one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

settings.register_profile("lockstep", deadline=None)  # a busy machine is not a failure
settings.load_profile("lockstep")
