"""Times a matrix product in one framework: `python -m ...product_worker '{"framework": ...}'`.

Sends the framework's version, and for each way its rates. Every way is checked against NumPy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from lockstep.errors import LockstepError
from lockstep.frameworks import registry
from lockstep.ops import Array, Ops
from lockstep.processes.child import Send, serve
from lockstep.report.quantities import middle_half

LEAST_REPEATS = 5

# (ops, B, C, how many columns or elements are to be done) -> that part of B C
Way = Callable[[Ops, Array, Array, int], Array]


def by_element(ops: Ops, b: Array, c: Array, count: int) -> Array:
    """The first `count` elements, row after row: B[i, :] C[:, j]."""
    n = b.shape[0]
    return ops.stack([b[k // n] @ c[:, k % n] for k in range(count)])


def by_column(ops: Ops, b: Array, c: Array, count: int) -> Array:
    """The first `count` columns: B C[:, j]."""
    return ops.stack([b @ c[:, j] for j in range(count)], axis=1)


def by_block(ops: Ops, b: Array, c: Array, count: int, block: int = 64) -> Array:
    """The first `count` columns, `block` at a time."""
    return ops.concat([b @ c[:, j : j + block] for j in range(0, count, block)], axis=1)


def whole(ops: Ops, b: Array, c: Array, count: int) -> Array:
    """All of it."""
    return b @ c


def work(job: dict[str, Any], send: Send) -> None:
    framework = registry.get(job["framework"])
    send({"version": framework.version})
    ops, n, block = framework.kernels("float32"), job["size"], job["block"]
    # seeded, so that the check is the same every time
    rng = np.random.default_rng(0)
    b, c = (rng.standard_normal((n, n)) for _ in range(2))

    def blocks(ops: Ops, b: Array, c: Array, count: int) -> Array:
        return by_block(ops, b, c, count, block)

    ways: dict[str, tuple[Way, int, int]] = {  # the way, its unit of work, units of all
        "element": (by_element, 2 * n, n * n),
        "column": (by_column, 2 * n * n, n),
        "block": (blocks, 2 * n * n, n),
        "whole": (whole, 2 * n * n, n),
    }
    calls = {"element": n * n, "column": n, "block": n // block, "whole": 1}
    for name, (way, flops, units) in ways.items():
        # elements: some rows at a time, or slow frameworks would need minutes
        count = min(units, 4 * n) if name == "element" else units
        rates = _rates(ops, way, b, c, count, flops * count, job["seconds"])
        low, high = middle_half(rates)
        send({"way": name, "calls": calls[name], "median": median(rates), "low": low, "high": high})
    m = job["peak"]
    b, c = (rng.standard_normal((m, m)) for _ in range(2))
    send({"way": "peak", "median": max(_rates(ops, whole, b, c, m, 2 * m**3, job["seconds"]))})


def _rates(
    ops: Ops, way: Way, b: np.ndarray, c: np.ndarray, count: int, flops: int, seconds: float
) -> list[float]:
    """GFLOP/s of each repeat; the first one, which warms up, is checked and not counted."""
    own_b, own_c = ops.asarray(b), ops.asarray(c)
    _check(ops.to_numpy(way(ops, own_b, own_c, count)), b @ c, way.__name__)
    rates: list[float] = []
    end = time.perf_counter() + seconds
    while len(rates) < LEAST_REPEATS or time.perf_counter() < end:
        begin = time.perf_counter()
        ops.to_numpy(way(ops, own_b, own_c, count))  # host sync: all of it is done
        rates.append(flops / (time.perf_counter() - begin) / 1e9)
    return rates


def _check(found: np.ndarray, product: np.ndarray, name: str) -> None:
    """Raise if a way does not compute the product: float32 sums of n terms of size about 1 are
    within n * 1e-6 of float64's."""
    n = len(product)
    expected = product.ravel()[: found.size] if found.ndim == 1 else product[:, : found.shape[-1]]
    worst = float(np.abs(found - expected).max())
    if worst > n * 1e-6:
        raise LockstepError(f"{name} differs from NumPy's product by {worst:g}")


if __name__ == "__main__":
    serve(work)
