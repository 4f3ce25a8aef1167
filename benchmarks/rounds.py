"""Times contenders in turn, each in its own process; returns medians with their spread."""

from __future__ import annotations

import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lockstep.processes.children import last_lines

TIMEOUT = 600.0  # for one round, set-up and compilation included
FEWEST = 3  # rounds of a slow contender
LONGEST = 1000  # passes in a round


@dataclass(frozen=True)
class Timing:
    """Seconds per epoch: the median of the rounds, and the quartiles as its spread."""

    median: float
    low: float
    high: float

    def over(self, count: float) -> Timing:
        """The seconds of one of `count` parts."""
        return Timing(self.median / count, self.low / count, self.high / count)


@dataclass(frozen=True)
class Contender:
    """A process that answers each line on its standard input, which says how many passes to make,
    with the seconds of one pass. Without a command it is a name of contenders.py."""

    name: str
    command: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None  # None: this process's own


class ContenderFailed(RuntimeError):
    """A contender's process ended, or did not answer in time."""


def time_in_turn(names: Sequence[str], rounds: int) -> dict[str, Timing]:
    """Rounds in turn: a, b, c, a, b, c ... The first round of each is a warm-up and not counted."""
    return time_contenders([Contender(name) for name in names], rounds)


def time_contenders(
    contenders: Sequence[Contender],
    rounds: int,
    *,
    least: float = 0.0,
    enough: float = TIMEOUT,
    timeout: float = TIMEOUT,
) -> dict[str, Timing]:
    """The same, for contenders that make as many passes in a round as they are told: so many that
    a round takes `least` seconds. After `enough` seconds there are no more rounds than FEWEST."""
    workers = {contender.name: _Worker(contender, timeout) for contender in contenders}
    try:
        for worker in workers.values():
            worker.round(1)
        passes = {name: _passes(worker, least) for name, worker in workers.items()}
        seconds: dict[str, list[float]] = {name: [] for name in workers}
        begin = time.monotonic()
        for number in range(rounds):
            if number >= FEWEST and time.monotonic() - begin > enough:
                break
            for name, worker in workers.items():
                seconds[name].append(worker.round(passes[name]))
    finally:
        for worker in workers.values():
            worker.close()
    return {name: _timing(values) for name, values in seconds.items()}


def _passes(worker: _Worker, least: float) -> int:
    """How many passes take so long: a pass is tried, and then as many as that one promises."""
    if not least:
        return 1
    count = 1
    for _ in range(2):  # the first ones may be slower
        count = min(LONGEST, max(1, round(least / worker.round(count))))
    return count


def _timing(values: list[float]) -> Timing:
    quarters = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return Timing(statistics.median(values), quarters[0], quarters[2])


class _Worker:
    """A contender's process. It computes one round for each line on its standard input."""

    def __init__(self, contender: Contender, timeout: float) -> None:
        self._name, self._timeout = contender.name, timeout
        self._log = tempfile.NamedTemporaryFile(prefix="lockstep-contender-")  # noqa: SIM115
        own = (sys.executable, "-m", "benchmarks.rounds", contender.name)
        self._process = subprocess.Popen(
            contender.command or own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=contender.variables,
            text=True,
        )

    def round(self, passes: int) -> float:
        """The seconds of one pass, in a round of so many."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{passes}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failed("has ended") from None
        # a line is written at once, so nothing is left in the buffer behind it
        if not select.select([self._process.stdout], [], [], self._timeout)[0]:
            raise self._failed(f"did not answer within {self._timeout:g} s")
        line = self._process.stdout.readline()
        if not line:
            raise self._failed("has ended")
        return float(line)

    def _failed(self, how: str) -> ContenderFailed:
        said = "".join(f"\n  {line}" for line in last_lines(Path(self._log.name)))
        return ContenderFailed(f"{self._name} {how}{said}")

    def close(self) -> None:
        """End the process: it ends by itself when its input does, or is killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # it has ended already
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()


def _serve(name: str) -> None:
    from benchmarks.contenders import CONTENDERS

    round_ = CONTENDERS[name]()
    for _ in sys.stdin:
        seconds, units = round_()
        print(seconds / units, flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
