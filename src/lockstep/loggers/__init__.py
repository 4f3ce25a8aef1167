"""Loggers take a run's curves to the tools that people already look at, by those tools' own
writers: while it goes on (`listeners=[ls.loggers.TensorBoard("logs")]`), or afterwards, with tables
beside them (`lockstep export`).

Nothing here computes anything or changes a run. The tools are imported when a run begins.
"""

from __future__ import annotations

from lockstep.loggers.asked import logger_named
from lockstep.loggers.mlflow import MLflow
from lockstep.loggers.tensorboard import TensorBoard

__all__ = ["MLflow", "TensorBoard", "logger_named"]
