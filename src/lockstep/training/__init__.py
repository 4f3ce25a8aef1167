"""Training: the one way to carry out a run, its loop, events, checkpoints, folder and result."""

from __future__ import annotations

from lockstep.training.audience import Callback
from lockstep.training.history import History
from lockstep.training.result import Result
from lockstep.training.run_state import Training
from lockstep.training.train import resume, train

__all__ = ["Callback", "History", "Result", "Training", "resume", "train"]
