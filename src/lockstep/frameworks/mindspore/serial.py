"""Programs that take turns: MindSpore fails, or crashes, when two threads compute at once."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from lockstep.frameworks.protocol import Program

TURN = threading.RLock()


class SerialProgram:
    """A program whose calls wait until no other thread computes in MindSpore."""

    def __init__(self, program: Program) -> None:
        self.notes = program.notes
        self.initial = in_turn(program.initial)
        self.prepare = in_turn(program.prepare)
        self.load = in_turn(program.load)
        self.dump = in_turn(program.dump)
        self.restart_carry = in_turn(program.restart_carry)
        self.steps = in_turn(program.steps)
        self.fetch = in_turn(program.fetch)
        self.evaluate = in_turn(program.evaluate)


def in_turn(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with TURN:
            return function(*arguments)

    return call
