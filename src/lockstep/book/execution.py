"""One cell, run in a kernel to its end: finished, failed, out of time, interrupted, or the kernel
died in it. Whatever happens, what the cell had shown until then is kept."""

from __future__ import annotations

import queue
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from lockstep.book.kernel import Kernel
from lockstep.book.outputs import CUT, Output, Outputs
from lockstep.report.quantities import duration

POLL_SECONDS = 0.25
GRACE_SECONDS = 10.0  # for a cell that was interrupted to end by itself

Tick = Callable[[float, float], None]  # the share of the cell that is done, and its seconds


@dataclass(frozen=True)
class Executed:
    """How a cell ended. `problem` is "" if it ran; `is_last` if no cell can be run after it."""

    outputs: list[Output] = field(default_factory=list)
    seconds: float = 0.0
    problem: str = ""
    is_last: bool = False
    interrupted: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether it printed more than was kept."""
        return any(
            isinstance(text, str) and text.endswith(f"{CUT}]\n")
            for output in self.outputs
            for text in (output.get("text"), *output.get("data", {}).values())
        )


def execute(kernel: Kernel, source: str, limit: float, tick: Tick) -> Executed:
    """Run `source`, for at most `limit` seconds; `tick` is called a few times a second."""
    outputs = Outputs()
    begin = time.monotonic()
    asked = kernel.client.execute(source, allow_stdin=False, stop_on_error=False)

    def ended(problem: str = "", *, is_last: bool = False, interrupted: bool = False) -> Executed:
        seconds = time.monotonic() - begin
        return Executed(outputs.whole, seconds, problem, is_last, interrupted)

    try:
        finished = _follow(kernel, asked, outputs, begin + limit, tick)
        if finished:
            return ended(_said(outputs.error))
        if not kernel.is_alive:
            return ended(_death(kernel), is_last=True)
        problem = f"not done after {duration(limit)} (--timeout)"
        return ended(problem, is_last=not _stop(kernel, asked, outputs))
    except KeyboardInterrupt:
        with suppress(KeyboardInterrupt):  # asked once more: the cell is not waited for
            if kernel.is_alive:
                _stop(kernel, asked, outputs)
        return ended("interrupted", is_last=True, interrupted=True)


def _follow(kernel: Kernel, asked: str, outputs: Outputs, deadline: float, tick: Tick) -> bool:
    """Take in messages until the cell is done; False if time is over or the kernel is gone."""
    begin = time.monotonic()
    while True:
        now = time.monotonic()
        tick(outputs.share, now - begin)
        kernel.trim_log()
        if now > deadline:
            return False
        try:
            message = kernel.client.get_iopub_msg(timeout=POLL_SECONDS)
        except queue.Empty:
            if not kernel.is_alive:
                return False
            continue
        if message["parent_header"].get("msg_id") != asked:
            continue
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return True
        outputs.add(message)


def _stop(kernel: Kernel, asked: str, outputs: Outputs) -> bool:
    """Interrupt the cell; whether it ended and the kernel can go on."""
    kernel.interrupt()
    deadline = time.monotonic() + GRACE_SECONDS
    return _follow(kernel, asked, outputs, deadline, lambda share, seconds: None)


def _said(error: str) -> str:
    if error.startswith("StdinNotImplementedError"):
        return "asks for input, and nobody is there to answer"
    return error


def _death(kernel: Kernel) -> str:
    """How the kernel's process ended, and the last thing that it said."""
    code = kernel.exit_code
    how = "" if code is None else f" (exit code {code})"
    if code is not None and code < 0:
        how = f" (ended by {signal.Signals(-code).name})"
    said = kernel.last_words()
    return f"the kernel died{how}{f': {said}' if said else ''}"
