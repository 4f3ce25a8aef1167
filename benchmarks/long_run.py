"""A run of millions of short steps as a whole command: the cost of its folder beside its steps."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

RUN = ["airfoil-linear", "--framework", "jax", "--batch-size", "1", "--lr", "0.001"]
EPOCHS = 2000  # of 1,500 steps


@dataclass(frozen=True)
class Figures:
    """Seconds: the whole command; its steps; a command of one epoch, which is start-up and
    compilation; the same whole command without evaluation; and `lockstep show` of its folder."""

    whole: float
    steps: float
    start: float
    unevaluated: float
    show: float

    @property
    def ratio(self) -> float:
        """The whole command over start-up, compilation and steps."""
        return self.whole / (self.start + self.steps)


def time_long_run(rounds: int) -> Figures:
    """Medians over the rounds; a round runs each command once."""
    found = [_round() for _ in range(rounds)]
    names = Figures.__dataclass_fields__
    return Figures(*(statistics.median(getattr(f, name) for f in found) for name in names))


def _round() -> Figures:
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        train, long = ["train", *RUN, "--json"], ["--epochs", str(EPOCHS)]
        start, _ = _lockstep(folder, *train, "--epochs", "1", "--out", "start")
        whole, printed = _lockstep(folder, *train, *long, "--out", "run")
        plain, _ = _lockstep(folder, *train, *long, "--evaluate", "", "--out", "plain")
        show, _ = _lockstep(folder, "show", "run", "--json")
        return Figures(whole, json.loads(printed)["seconds"], start, plain, show)


def _lockstep(folder: str, *words: str) -> tuple[float, str]:
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "lockstep", *words],
        check=True,
        cwd=Path(folder),
        stdout=subprocess.PIPE,
        text=True,
        timeout=600,
    )
    return time.perf_counter() - begin, done.stdout
