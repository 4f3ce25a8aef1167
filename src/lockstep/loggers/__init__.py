"""What goes out to other tools, by those tools' own writers: a run's curves while it goes on
(`listeners=[ls.loggers.TensorBoard("logs")]`), and runs as tables and events afterwards (`lockstep
export`).

Nothing here computes anything or changes a run. The tools are imported when they are written for.
"""

from __future__ import annotations

from lockstep.loggers.asked import logger_named
from lockstep.loggers.mlflow import MLflow
from lockstep.loggers.tensorboard import TensorBoard

__all__ = ["MLflow", "TensorBoard", "logger_named"]
