"""Histories and comparisons made by hand, so that what a report must show is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.comparison import Comparison, Curve, Rate, Row
from lockstep.comparison.verdict import (
    judge_batches,
    judge_parameters,
    judge_steps,
    relative_deviation,
    tolerances,
)
from lockstep.training.events import EpochCompleted, ProgramCompiled, RunStarted, StepsCompleted
from lockstep.training.history import History

STEPS = 40


@pytest.fixture
def history() -> History:
    """Four epochs of ten steps: loss 2, 1.95 ...; accuracy 60, 70, 80, 90 %; lr halved each."""
    found = History([RunStarted(0, STEPS, 10, {}), ProgramCompiled(0.25, ["eager steps"])])
    for epoch in range(4):
        loss = [2 - 0.05 * step for step in range(10 * epoch, 10 * epoch + 10)]
        found(StepsCompleted(10 * epoch, epoch, loss, [1.0] * 10, [0.1 / 2**epoch] * 10, 0.5))
        metrics = {"train_loss": float(np.mean(loss)), "test_accuracy": 0.6 + 0.1 * epoch}
        found(EpochCompleted(epoch, 10 * epoch + 10, metrics, 0.5 * (epoch + 1)))
    return found


def make_row(framework: str, loss: np.ndarray, path: np.ndarray, **fields: Any) -> Row:
    limits = tolerances("float64")
    zeros = np.zeros(len(path))
    verdicts = (
        judge_parameters({}, {}, np.inf, 0, "initial parameters"),
        judge_batches(zeros, zeros),
        judge_steps("lr", zeros, zeros, limits["lr"]),
        judge_steps("loss", loss, path, limits["loss"]),
        judge_steps("gradient norm", loss, path, limits["gradient norm"]),
        judge_parameters({"w": loss}, {"w": path}, limits["parameters"], len(path)),
    )
    is_oracle = fields.get("oracle", False)
    values: dict[str, Any] = {
        "framework": framework,
        "version": "1.2.3",
        "precision": "float64",
        "style": "scratch",
        "status": "completed",
        "verdicts": () if is_oracle else verdicts,
        "final_loss": float(loss[-1]) if len(loss) else None,
        "metrics": {"train_loss": 0.25},
        "rate": Rate(1000.0, 900.0, 1200.0),
        "compile_seconds": 0.5,
        "notes": ("eager steps",),
        "directory": f"reports/x/{framework}",
        "curve": Curve(loss, 0.001 * np.arange(1, len(loss) + 1), relative_deviation(loss, path)),
    }
    return Row(**(values | fields))


@pytest.fixture
def oracle_loss() -> np.ndarray:
    return np.linspace(2.0, 0.5, STEPS)


@pytest.fixture
def comparison(oracle_loss: np.ndarray) -> Comparison:
    """torch agrees; jax's loss is a thousandth off from step 25 on; mxnet crashed."""
    parted = oracle_loss.copy()
    parted[25:] *= 1.001
    empty = np.array([])
    return Comparison(
        spec=ls.recipes.airfoil_linear(precision="float64", max_steps=STEPS),
        rows=(
            make_row("numpy", oracle_loss, oracle_loss, oracle=True),
            make_row("torch", oracle_loss * (1 + 1e-14), oracle_loss),
            make_row("jax", parted, oracle_loss),
            make_row(
                "mxnet", empty, oracle_loss, status="crashed", verdicts=(), rate=None,
                problem="was ended by SIGSEGV", log=("segmentation <fault>",), compile_seconds=None,
            ),
        ),
        tolerances=tolerances("float64"),
        moved=True,
        before=2.0,
        after=0.5,
        machine={"python": "3.11", "cores": 2},
        directory=Path("reports/x"),
    )  # fmt: skip
