"""Linear regression by plain SGD as two matrix-vector products per step."""

from __future__ import annotations

import numpy as np
import torch

from lockstep.ops import Ops, Weights

Tensor = torch.Tensor


class TorchLinearSGD:
    """theta: (I + 1,), changed in place."""

    def __init__(self, ops: Ops, data: Weights) -> None:
        flat = data["x"].reshape(len(data["x"]), -1)
        self._x = torch.cat([flat, torch.ones_like(flat[:, :1])], dim=1)  # (N, I + 1)
        self._minus_y = -data["y"][:, 0]

    def pack(self, weights: Weights) -> Tensor:
        return torch.cat([weights["w"][:, 0], weights["b"]])

    def unpack(self, theta: Tensor) -> Weights:
        return {"w": theta[:-1].reshape(-1, 1).clone(), "b": theta[-1:].clone()}

    def block(
        self, theta: Tensor, rows: np.ndarray, rates: np.ndarray
    ) -> tuple[Tensor, tuple[np.ndarray, np.ndarray]]:
        index = torch.from_numpy(rows.astype(np.int64))
        x, residuals = self._x[index], self._minus_y[index]  # (n, B, I + 1), (n, B)
        per_step = (x.unbind(), x.transpose(1, 2).unbind(), residuals.unbind(), rates.tolist())
        for own, transposed, r, rate in zip(*per_step, strict=True):
            r.addmv_(own, theta)
            theta.addmv_(transposed, r, alpha=rate)
        grads = (x * residuals.unsqueeze(2)).mean(1)  # (n, I + 1)
        losses, norms = (residuals * residuals).mean(1) / 2, (grads * grads).sum(1).sqrt()
        return theta, (losses.numpy(), norms.numpy())
