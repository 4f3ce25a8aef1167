"""Who gets a run's events: callbacks, which may steer it, listeners, and loggers, which take its
curves to another tool.

An own function that fails ends the run, so that its mistake is seen. A logger that fails does not:
a full disk or a server that has gone away must not cost a run. Its failure is a remark in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from lockstep.processes import ranks
from lockstep.spec import RunSpec
from lockstep.training.events import Event, RemarkMade
from lockstep.training.run_state import Training

Callback = Callable[[Event, Training], None]
Listener = Callable[[Event], None]


@runtime_checkable
class Logger(Protocol):
    """A listener that is told which run it is about to hear of, and that the run has ended.

    `begin` is called before anything is done: what it raises refuses the run. What is raised later
    ends the logging, not the run. `folder` is the run's, None if it has none; it holds a run
    already if that is resumed. `str(logger)` says where it logs to.
    """

    def begin(self, spec: RunSpec, folder: Path | None) -> None: ...

    def __call__(self, event: Event) -> None: ...

    def end(self) -> None: ...


@dataclass(frozen=True)
class Audience:
    """Who gets a run's events. Callbacks get the run beside each event, and may steer it; there is
    an event at every multiple of `event_steps` at least."""

    callbacks: Iterable[Callback] = ()
    listeners: Iterable[Listener] = ()
    event_steps: int = 0


@contextmanager
def attended(
    audience: Audience, spec: RunSpec, folder: Path | None
) -> Iterator[tuple[Audience, list[RemarkMade]]]:
    """While inside, the loggers of an audience are open and cannot end the run; a remark for each
    of them that failed. Of the processes of a run, the first one logs."""
    listeners = list(audience.listeners)
    others = [listener for listener in listeners if not isinstance(listener, Logger)]
    failures: list[RemarkMade] = []

    def tell(remark: RemarkMade) -> None:
        failures.append(remark)
        for listener in others:
            listener(remark)

    guarded = []
    try:
        for logger in listeners if ranks.is_first() else ():
            if isinstance(logger, Logger):
                logger.begin(spec, folder)
                guarded.append(_Guarded(logger, folder, tell))
        yield replace(audience, listeners=[*others, *guarded]), failures
    finally:
        for open_logger in guarded:
            open_logger.end()


class _Guarded:
    """A logger whose first failure is told, and the last thing that is heard of it."""

    def __init__(
        self, logger: Logger, folder: Path | None, tell: Callable[[RemarkMade], None]
    ) -> None:
        self._logger, self._folder, self._tell = logger, folder, tell
        self._failed = False
        self._step = 0

    def __call__(self, event: Event) -> None:
        if self._failed:
            return
        self._step = getattr(event, "step", self._step)
        try:
            self._logger(event)
        except Exception as error:  # whatever another tool's writer raises
            self._fail(error)

    def end(self) -> None:
        try:
            self._logger.end()
        except Exception as error:
            if not self._failed:
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._failed = True
        rest = f" See `lockstep export {self._folder}`." if self._folder else ""
        text = f"{self._logger} stopped at step {self._step:,} ({error}); the run goes on.{rest}"
        self._tell(RemarkMade(self._step, text))
