"""The one training loop. It never asks which framework runs, nor on how many devices."""

from __future__ import annotations

import time

import numpy as np

from lockstep.data.plans import batch_numbers
from lockstep.training.evaluation import epoch_metrics, evaluate_if_due, stop_if_broken, watched
from lockstep.training.events import (
    EpochCompleted,
    RemarkMade,
    RunCompleted,
    RunInterrupted,
    StepsCompleted,
)
from lockstep.training.run_state import EpochSums, Training, keep_last_good


def train_loop(run: Training) -> None:
    """Train to the end, or until patience ends, or stopped, interrupted or diverged. The state is
    saved each way, and only then the end is announced."""
    if run.step == 0:
        evaluate_if_due(run, epoch=0)
    while not run.finished and run.goes_on():
        _epoch(run, run.epochs_ended)
    run.save()
    if run.finished:
        run.tell_early_end()
        run.emit(RunCompleted(run.step, run.seconds))
    elif run.divergence is not None:
        run.emit(run.divergence)
    elif run.interrupted:
        run.emit(RunInterrupted(run.step))


def _epoch(run: Training, epoch: int) -> None:
    """The rest of an epoch, from the batch it has come to."""
    batch = run.step - epoch * run.steps_per_epoch
    if batch == 0:
        run.state, run.sums = run.program.restart_carry(run.state), EpochSums()
        _mind_zero_rate(run, epoch)
    for block in run.task.plan.epoch(epoch):
        start = min(batch, len(block))
        batch -= start
        while start < len(block) and run.step < run.epoch_end and (size := run.call_size()):
            rows = block[start : start + size]
            _call(run, rows, epoch)
            start += len(rows)
    if run.step == run.epoch_end and run.goes_on():
        _end_epoch(run, epoch)


def _mind_zero_rate(run: Training, epoch: int) -> None:
    """Say so at the first of several epochs in which the rate is 0 from end to end."""
    if run.stays_at_zero(epoch) and not (epoch and run.stays_at_zero(epoch - 1)):
        text = f"the learning rate is 0 in every step of epoch {epoch + 1}: no weight changes there"
        run.emit(RemarkMade(run.step, text))


def _end_epoch(run: Training, epoch: int) -> None:
    metrics = epoch_metrics(run, epoch)
    if stop_if_broken(run, metrics):
        return
    run.rates.observe(metrics, watched(run.spec))
    run.epochs_ended += 1
    run.emit(EpochCompleted(epoch, run.step, metrics, run.seconds))
    run.observe(metrics)
    run.save_if_due(epoch_ended=True)


def _call(run: Training, rows: np.ndarray, epoch: int) -> None:
    """Some steps in one call of the program, logged as far as their loss is finite."""
    lrs = run.rates.lrs(run.step, len(rows), epoch)
    call = run.call(rows, lrs)
    begin = time.perf_counter()
    state, log = run.program.steps(run.state, rows, lrs, run.step)
    values = run.program.fetch(log)  # host sync: once a call, for it is logged
    seconds = time.perf_counter() - begin
    finite = np.isfinite(values["loss"])
    good = len(rows) if finite.all() else int(np.argmin(finite))
    losses, norms = values["loss"][:good], values["grad_norm"][:good]
    call.losses = losses
    batches = batch_numbers(rows[:good])
    event = StepsCompleted(run.step, epoch, losses, norms, lrs[:good], seconds, batches)
    if good < len(rows):
        if good:
            run.emit(event)
        keep_last_good(run, call, good, float(values["loss"][good]))
        return
    run.previous_call = call
    run.advance(state, losses, rows.shape[1], seconds)
    run.emit(event)
    evaluate_if_due(run, epoch)  # before the state is saved: a resumed run does not measure again
    run.save_if_due(epoch_ended=False)
