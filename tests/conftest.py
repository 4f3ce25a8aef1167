"""One thread for each test process: two workers with two threads each on two cores wait for one
another, and small products become a hundred times slower. Set before any library is imported."""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
