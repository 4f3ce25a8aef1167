"""Linear regression by plain SGD as two matrix-vector products per step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lockstep.frameworks.eager import EagerProgram
from lockstep.frameworks.linear_sgd import block_steps
from lockstep.frameworks.state import DeviceState

if TYPE_CHECKING:
    from lockstep.frameworks.torch.ops import TorchOps
    from lockstep.spec import RunSpec
    from lockstep.task import Task

Tensor = torch.Tensor


class LinearSGDProgram(EagerProgram):
    """The eager program with `steps` and `fetch` in closed form."""

    def __init__(self, ops: TorchOps, task: Task, spec: RunSpec) -> None:
        super().__init__(ops, task, spec, notes=("fused linear sgd",))
        x, y = self._data["train"]["x"], self._data["train"]["y"]
        flat = x.reshape(len(x), -1)
        self._x = torch.cat([flat, torch.ones_like(flat[:, :1])], dim=1)  # (N, I + 1)
        self._minus_y = -y[:, 0]

    def steps(
        self, state: DeviceState, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[DeviceState, Any]:
        theta = torch.cat([state.weights["w"][:, 0], state.weights["b"]])
        size = block_steps(rows.shape[1], self._x.shape[1])
        log = [
            self._block(theta, rows[i : i + size], lrs[i : i + size])
            for i in range(0, len(rows), size)
        ]
        weights = {"w": theta[:-1].reshape(-1, 1).clone(), "b": theta[-1:].clone()}
        return DeviceState(weights, {}, {}), log

    def _block(self, theta: Tensor, rows: np.ndarray, lrs: np.ndarray) -> tuple[Tensor, Tensor]:
        index = torch.from_numpy(rows.astype(np.int64))
        x, residuals = self._x[index], self._minus_y[index]  # (n, B, I + 1), (n, B)
        rates = (-lrs / rows.shape[1]).tolist()
        per_step = (x.unbind(), x.transpose(1, 2).unbind(), residuals.unbind(), rates)
        for own, transposed, r, rate in zip(*per_step, strict=True):
            r.addmv_(own, theta)
            theta.addmv_(transposed, r, alpha=rate)
        grads = (x * residuals.unsqueeze(2)).mean(1)  # (n, I + 1)
        return (residuals * residuals).mean(1) / 2, (grads * grads).sum(1).sqrt()

    def fetch(self, log: list[tuple[Tensor, Tensor]]) -> dict[str, np.ndarray]:
        losses, norms = (torch.cat(parts).numpy() for parts in zip(*log, strict=True))
        return {"loss": losses.astype(np.float64), "grad_norm": norms.astype(np.float64)}
