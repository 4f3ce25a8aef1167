"""Linear regression by plain SGD as two matrix-vector products per step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lockstep.frameworks.eager import EagerProgram
from lockstep.frameworks.linear_sgd import block_steps
from lockstep.frameworks.paddle.quiet import Tensor, paddle
from lockstep.frameworks.state import DeviceState

if TYPE_CHECKING:
    from lockstep.frameworks.paddle.ops import PaddleOps
    from lockstep.spec import RunSpec
    from lockstep.task import Task

Log = list[tuple[np.ndarray, np.ndarray]]


class LinearSGDProgram(EagerProgram):
    """The eager program with `steps` and `fetch` in closed form."""

    def __init__(self, ops: PaddleOps, task: Task, spec: RunSpec) -> None:
        super().__init__(ops, task, spec, notes=("fused linear sgd",))
        x, y = self._data["train"]["x"], self._data["train"]["y"]
        flat = ops.floating(x.flatten(1))
        self._x = paddle.concat([flat, paddle.ones_like(flat[:, :1])], 1)  # (N, I + 1)
        self._minus_y = -y

    def steps(
        self, state: DeviceState, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[DeviceState, Log]:
        theta = paddle.concat([state.weights["w"], state.weights["b"].unsqueeze(1)])  # (I + 1, 1)
        size = block_steps(rows.shape[1], self._x.shape[1])
        log: Log = []
        for i in range(0, len(rows), size):
            theta = self._block(theta, rows[i : i + size], lrs[i : i + size], log)
        return DeviceState({"w": theta[:-1].clone(), "b": theta[-1].clone()}, {}, {}), log

    def _block(self, theta: Tensor, rows: np.ndarray, lrs: np.ndarray, log: Log) -> Tensor:
        index = self._ops.asarray(rows)
        x, minus_y = self._ops.take(self._x, index), self._ops.take(self._minus_y, index)
        # addmm has its factors in float32: the rate goes into the matrix
        rates = self._ops.asarray((-lrs / rows.shape[1]).reshape(-1, 1, 1))
        scaled = x.transpose([0, 2, 1]) * rates  # (n, I + 1, B)
        residuals = []
        for own, turned, r in zip(x.unbind(), scaled.unbind(), minus_y.unbind(), strict=True):
            residuals.append(paddle.addmm(r, own, theta))  # (B, 1)
            theta = paddle.addmm(theta, turned, residuals[-1])
        log.append(_quantities(x.numpy(), paddle.concat(residuals, 1).numpy().T))
        return theta

    def fetch(self, log: Log) -> dict[str, np.ndarray]:
        losses, norms = (np.concatenate(parts) for parts in zip(*log, strict=True))
        return {"loss": losses.astype(np.float64), "grad_norm": norms.astype(np.float64)}


def _quantities(x: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses and gradient norms, (n,) each, from x (n, B, I + 1) and r (n, B).

    By NumPy: what Paddle's sums and roots round to depends on how many steps there are.
    """
    r = np.ascontiguousarray(r)
    grads = (r[:, None] @ x)[:, 0] / r.shape[1]  # (n, I + 1)
    return (r * r).mean(1) / 2, np.sqrt((grads * grads).sum(1))
