"""Time and memory of a text of 100 MB: read by Python alone, and as a run reads it.

A run also needs the digest of the file, and every symbol as a number.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZE = 100_000_000  # bytes
READINGS = ("Path.read_text", "as text", "as the chapter's letters", "as all its symbols")
SCRIPTS = {
    "English": "The cat sat on the mat, and the dog lay on the rug; they slept.\n",
    "mixed scripts": "The cat, the dog.\n小猫坐在垫子上。狗睡着了。\nKucing tidur. Él también.\n",
}


def read_large_texts(rounds: int) -> dict[str, dict[str, tuple[float, float]]]:
    """By script and reading: medians of seconds and of peak MiB, measured in turn, each time in a
    process of its own. A first round is not counted."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for script, lines in SCRIPTS.items():
            path = Path(folder, "large.txt")
            content = lines.encode()
            path.write_bytes(content * (SIZE // len(content)))
            taken = [{way: _measured(way, path) for way in READINGS} for _ in range(rounds + 1)]
            found[script] = {way: _medians([each[way] for each in taken[1:]]) for way in READINGS}
    return found


def _medians(pairs: list[list[float]]) -> tuple[float, float]:
    seconds, memory = zip(*pairs, strict=True)
    return statistics.median(seconds), statistics.median(memory)


def _measured(reading: str, path: Path) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.large_text", reading, str(path)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=600,
    )
    measured: list[float] = json.loads(done.stdout)
    return measured


def _read(reading: str, path: Path) -> list[float]:
    from lockstep.data import own_text
    from lockstep.spec import TextFile
    from lockstep.training.run_worker import peak_memory

    before = peak_memory() or 0
    begin = time.perf_counter()
    if reading == READINGS[0]:
        held: object = path.read_text(encoding="utf-8")
    elif reading == READINGS[1]:
        held = own_text.read_text(path)
    else:
        symbols = "letters" if reading == READINGS[2] else "all"
        part = TextFile(file=str(path), symbols=symbols, held_out=0.1)
        held = own_text.DATA_SET.load(part, 0, None)
    seconds = time.perf_counter() - begin
    del held
    return [seconds, ((peak_memory() or 0) - before) / 2**20]


if __name__ == "__main__":
    print(json.dumps(_read(sys.argv[1], Path(sys.argv[2]))))
