"""What to keep when the loss is no longer a finite number."""

from __future__ import annotations

import numpy as np

from lockstep.training.events import RunDiverged
from lockstep.training.run import Training


def keep_last_good(run: Training, rows: np.ndarray, lrs: np.ndarray, losses: np.ndarray) -> None:
    """Stop the run at the state before the update that broke the loss.

    The loss of step s is that of the weights after step s - 1, so the update of step s - 1 is to
    blame and the state before it is kept. Steps repeat exactly, so it is reached by going again.
    """
    bad = int(np.argmin(np.isfinite(losses)))
    loss, state, first = float(losses[bad]), run.state, run.step
    if bad == 0 and run.previous_call is not None:  # the last update of the call before did it
        state, rows, lrs, first = run.previous_call
        bad = len(rows)
    good = max(bad - 1, 0)
    if good:
        state, _ = run.program.steps(state, rows[:good], lrs[:good], first)
    run.state, run.step = state, first + good
    run.diverged = True
    run.stop()
    run.emit(RunDiverged(first + bad, loss, float(lrs[good]), first + good))
