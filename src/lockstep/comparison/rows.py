"""From a framework's outcome to its row: its figures, and the verdicts on its path."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lockstep.comparison.result import Curve, Rate, Row
from lockstep.comparison.running import Outcome
from lockstep.comparison.verdict import (
    Verdict,
    judge_batches,
    judge_parameters,
    judge_steps,
    relative_deviation,
)

COLUMNS = {"lr": "lr", "loss": "loss", "gradient norm": "grad_norm"}  # of the history


def make_row(outcome: Outcome, oracle: Outcome, tolerances: Mapping[str, float]) -> Row:
    """The row of a framework; the oracle's own, when both outcomes are the same one."""
    history, spec = outcome.history, outcome.spec
    loss = history[:, "loss"]
    is_oracle = outcome is oracle
    judged = outcome.ended and oracle.ended and not is_oracle
    deviation = relative_deviation(loss, oracle.history[:, "loss"])
    return Row(
        framework=spec.framework,
        version=str(outcome.facts.get("version", "")),
        precision=spec.precision,
        style=spec.style,
        status=outcome.status,
        oracle=is_oracle,
        verdicts=judge(outcome, oracle, tolerances) if judged else (),
        final_loss=float(loss[-1]) if len(loss) else None,
        metrics=history.metrics,
        rate=Rate.of(history.step_rates()) if len(loss) else None,
        compile_seconds=history.compile_seconds if len(loss) else None,
        peak_memory=outcome.facts.get("peak_memory"),
        notes=tuple(history.notes),
        problem=outcome.problem,
        log=outcome.log,
        directory=str(outcome.directory),
        curve=Curve(loss, np.cumsum(history[:, "seconds"]), deviation),
    )


def judge(
    outcome: Outcome, oracle: Outcome, tolerances: Mapping[str, float]
) -> tuple[Verdict, ...]:
    """A verdict on each quantity, in the order in which a run meets them."""
    ends = (outcome.num_steps, oracle.num_steps)
    per_step = [
        judge_steps(
            quantity,
            outcome.history[:, column],
            oracle.history[:, column],
            tolerances[quantity],
            ends,
        )
        for quantity, column in COLUMNS.items()
    ]
    begin, end = (
        judge_parameters(ours, theirs, tolerances[quantity], num_steps, quantity)
        for quantity, ours, theirs, num_steps in (
            ("initial parameters", outcome.initial, oracle.initial, 0),
            ("parameters", outcome.weights, oracle.weights, min(ends)),
        )
    )
    batches = judge_batches(outcome.history[:, "batch"], oracle.history[:, "batch"])
    return (begin, batches, *per_step, end)
