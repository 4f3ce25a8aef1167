"""How long `import lockstep` and `lockstep --help` take, compared with `python -c pass`."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import lockstep": [sys.executable, "-c", "import lockstep"],
    "lockstep --help": [sys.executable, "-m", "lockstep", "--help"],
}


def time_startup(rounds: int) -> dict[str, float]:
    """Median seconds of each command, run in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, command in COMMANDS.items():
            begin = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)
            seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in seconds.items()}
