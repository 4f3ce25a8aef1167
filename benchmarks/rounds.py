"""Times contenders in turn, each in its own process; returns medians with their spread."""

from __future__ import annotations

import statistics
import subprocess
import sys
from dataclasses import dataclass

TIMEOUT = 600.0  # for one round, set-up and compilation included


@dataclass(frozen=True)
class Timing:
    """Seconds per epoch: the median of the rounds, and the quartiles as its spread."""

    median: float
    low: float
    high: float


def time_in_turn(names: list[str], rounds: int) -> dict[str, Timing]:
    """Rounds in turn: a, b, c, a, b, c ... The first round of each is a warm-up and not counted."""
    workers = {name: _Worker(name) for name in names}
    try:
        for worker in workers.values():
            worker.round()
        seconds = {name: [] for name in names}
        for _ in range(rounds):
            for name, worker in workers.items():
                seconds[name].append(worker.round())
    finally:
        for worker in workers.values():
            worker.close()
    return {name: _timing(values) for name, values in seconds.items()}


def _timing(values: list[float]) -> Timing:
    quarters = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return Timing(statistics.median(values), quarters[0], quarters[2])


class _Worker:
    """A contender's process. It computes one round for each line on its standard input."""

    def __init__(self, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.rounds", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._name = name

    def round(self) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("round\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._name} failed: see its error above")
        return float(line)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _serve(name: str) -> None:
    from benchmarks.contenders import CONTENDERS

    round_ = CONTENDERS[name]()
    for _ in sys.stdin:
        seconds, units = round_()
        print(seconds / units, flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
