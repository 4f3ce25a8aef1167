"""Your own arrays and your own model, written once: trained in every framework and compared.

Run it with `python examples/own_model.py`. It writes own_model.png, and a report below reports/.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import lockstep as ls
from lockstep.frameworks import registry


def net(ops: Any, w: Any, x: Any) -> Any:
    """x (B, 1) -> (B, 1): one hidden layer, computed by the framework of `ops`."""
    return ops.tanh(x @ w["w1"] + w["b1"]) @ w["w2"] + w["b2"]


def make_task() -> Any:
    """A noisy sine wave; the last quarter of the points is for testing."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, size=(400, 1))
    y = np.sin(2 * x[:, 0]) + 0.05 * rng.normal(size=400)
    weights = {
        "w1": rng.normal(size=(1, 32)),
        "b1": rng.normal(size=32),
        "w2": 0.1 * rng.normal(size=(32, 1)),
        "b2": np.zeros(1),
    }
    return ls.own(net, x[:300], y[:300], x_test=x[300:], y_test=y[300:], weights=weights)


def main(out: Path = Path()) -> None:
    mine = make_task()
    schedule = ls.cosine(0.02, final=0.001, steps=600).warmup(30)
    run = mine.run(
        name="wave", optimizer=ls.spec.Adam(), schedule=schedule, batch_size=50, epochs=100
    )

    result = ls.train(run, mine)
    first, last = result.history[0, "loss"], result.history[-1, "loss"]
    print(f"loss {first:.3f} -> {last:.4f}, on new points {result.metrics['test_loss']:.4f}")
    result.plot(out / "own_model.png")

    frameworks = registry.installed()
    comparison = ls.compare(run, mine, frameworks=frameworks, steps=100, out=out / "reports")
    comparison.show()


if __name__ == "__main__":  # each framework's process reads this file to find `net`
    main()
