"""Your own module with your own arrays: a torch.nn.Module in PyTorch, a Flax module in JAX.

Run it with `python examples/own_module.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from flax import linen
from torch import nn

import lockstep as ls


class FlaxNet(linen.Module):
    """Two dense layers: (B, 2) -> scores (B, 3)."""

    @linen.compact
    def __call__(self, x: Any) -> Any:
        x = linen.relu(linen.Dense(32)(x))
        return linen.Dense(3)(x)


def torch_net() -> nn.Module:
    """The same layers, with batch normalisation and dropout between them."""
    return nn.Sequential(
        nn.Linear(2, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3)
    )


def spirals(num: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Three spiral arms of `num` points: x (3 num, 2), labels (3 num,)."""
    rng = np.random.default_rng(0)
    radius = np.tile(np.linspace(0.1, 1, num), 3)
    labels = np.repeat(np.arange(3), num)
    angle = 3 * radius + 2 * np.pi / 3 * labels + 0.1 * rng.normal(size=3 * num)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), labels


def main() -> None:
    torch.manual_seed(0)  # PyTorch draws a module's first weights
    x, y = spirals()
    schedule = ls.one_cycle(0.02, steps=600)
    for framework, module in {"torch": torch_net(), "jax": FlaxNet()}.items():
        mine = ls.own(module, x, y, loss="cross_entropy")
        fields = {"batch_size": 50, "epochs": 50, "evaluate": ("train",)}
        run = mine.run(framework=framework, optimizer=ls.spec.Adam(), schedule=schedule, **fields)
        result = ls.train(run, mine)
        loss, lr = result.history[:, "loss"], result.history[:, "lr"]
        accuracy = result.metrics["final_train_accuracy"]
        print(f"{framework:6} loss {loss[0]:.2f} -> {loss[-1]:.3f}, accuracy {accuracy:.1%}")
        print(f"       lr {lr[0]:.4f} up to {lr.max():.4f}, then down to {lr[-1]:.0e}")


if __name__ == "__main__":
    main()
