"""A logger by a text: --log tensorboard=logs."""

from __future__ import annotations

from lockstep.errors import InputError, unknown
from lockstep.loggers.mlflow import MLflow
from lockstep.loggers.tensorboard import TensorBoard
from lockstep.training.audience import Logger

KINDS = {"tensorboard": TensorBoard, "mlflow": MLflow}


def logger_named(text: str) -> Logger:
    """The logger that KIND=PLACE asks for.

    >>> str(logger_named("tensorboard=logs"))
    'the log for TensorBoard in logs'
    """
    kind, _, place = text.partition("=")
    if kind not in KINDS:
        raise unknown("log", kind, KINDS)
    if not place:
        what = "DIR" if kind == "tensorboard" else "URI"
        raise InputError("log", text, "names no place", f"Write it as --log {kind}={what}.")
    return KINDS[kind](place)
