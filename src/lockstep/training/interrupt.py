"""Ctrl-C: the first lets the call at hand finish and the run be saved, the second ends at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from lockstep.training.run import Training


@contextmanager
def interruptible(run: Training) -> Iterator[None]:
    """While inside, SIGINT stops `run` between two calls of its program."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if run.interrupted:
            raise KeyboardInterrupt
        run.interrupted = True
        run.stop()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
