"""What to keep when the loss is no longer a finite number."""

from __future__ import annotations

from lockstep.training.events import RunDiverged
from lockstep.training.run import Call, Training


def keep_last_good(run: Training, call: Call, bad: int, loss: float) -> None:
    """Stop the run at the state before the update that broke the loss of the `bad`-th step.

    The loss of step s is that of the weights after step s - 1, so the update of step s - 1 is to
    blame and the state before it is kept. Steps repeat exactly, so it is reached by going again.
    """
    if bad == 0 and run.previous_call is not None:  # the last update of the call before did it
        call, bad = run.previous_call, len(run.previous_call.rows)
    good = max(bad - 1, 0)
    run.go_back(call)
    if good:
        state, _ = run.program.steps(call.state, call.rows[:good], call.lrs[:good], call.step)
        run.advance(state, call.losses[:good], call.rows.shape[1], 0.0)
    run.divergence = RunDiverged(call.step + bad, loss, float(call.lrs[good]), run.step)
    run.stop()
