"""The closed form: the density exp(-L / T) of linear regression, and what discrete steps make of
it."""

from __future__ import annotations

from functools import cached_property

import numpy as np


class Posterior:
    """The closed form for the data of a run: where the minimum is, and the spread around it."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self.x = np.column_stack([x, np.ones(len(x))]).astype(np.float64)  # (N, 6)
        self.y = np.ravel(y).astype(np.float64)
        self.hessian = self.x.T @ self.x / len(x)

    @cached_property
    def minimum(self) -> np.ndarray:
        return np.linalg.solve(self.hessian, self.x.T @ self.y / len(self.y))

    def covariance(self, temperature: float) -> np.ndarray:
        """T H^-1: that of the density exp(-L / T)."""
        return temperature * np.linalg.inv(self.hessian)

    def covariance_of_steps(self, temperature: float, lr: float, batch: int = 0) -> np.ndarray:
        """The covariance S that a step keeps: S = A S A + 2 lr T I + lr^2 C / batch, A = I - lr H.

        C is the covariance of one example's gradient at the minimum; without `batch` there is none,
        and S = T H^-1 (I - lr H / 2)^-1, which is the posterior's as lr becomes small.
        """
        rates, axes = np.linalg.eigh(self.hessian)
        noise = 2 * lr * temperature * np.eye(len(rates))
        if batch:
            gradients = self.x * (self.x @ self.minimum - self.y)[:, None]
            noise = noise + lr**2 / batch * np.cov(gradients.T, bias=True)
        shrink = 1 - lr * rates
        kept = axes.T @ noise @ axes / (1 - np.outer(shrink, shrink))
        return np.asarray(axes @ kept @ axes.T)
