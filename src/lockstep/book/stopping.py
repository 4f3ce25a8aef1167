"""SIGTERM, and a terminal that closes, in a command that runs chapters: taken as Ctrl-C, so that
what ran is written and no kernel is left."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGHUP)
OUTPUTS = (1, 2)  # file descriptors: stdout and stderr


@contextmanager
def as_interrupt() -> Iterator[None]:
    """While inside, these signals raise KeyboardInterrupt; one that is ignored (nohup) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    terminals = [output for output in OUTPUTS if os.isatty(output)]

    def interrupt(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            _leave(terminals)
        raise KeyboardInterrupt

    taken = [number for number in SIGNALS if signal.getsignal(number) == signal.SIG_DFL]
    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _leave(terminals: list[int]) -> None:
    """Write nowhere from now on: to write to a terminal that has closed is an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in terminals:
        os.dup2(nowhere, output)
