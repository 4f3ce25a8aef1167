"""`python -m benchmarks [--only NAME ...] [--rounds N] [--json]`: every speed claimed, measured.

A row has a ratio of medians and its bound: the least or, for costs, the most that it may be. A row
without a bound explains the row before it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator

from benchmarks import chapters
from benchmarks.busy_machine import time_on_busy_machine
from benchmarks.large_text import READINGS, read_large_texts
from benchmarks.long_run import time_long_run
from benchmarks.many_settings import time_together
from benchmarks.memory import peak_memory
from benchmarks.rounds import time_in_turn
from benchmarks.rows import Row, milliseconds, not_measured, ratio_row, show
from benchmarks.startup import time_startup
from lockstep.errors import LockstepError

Claim = tuple[str, str, str, float | None]  # text, slow contender, fast contender, least ratio


def ratio_rows(names: list[str], claims: list[Claim], rounds: int) -> list[Row]:
    """Times the contenders in turn; a row for each claim."""
    times = time_in_turn(names, rounds)
    return [
        ratio_row(claim, times[slow], times[fast], bound) for claim, slow, fast, bound in claims
    ]


def airfoil(rounds: int) -> list[Row]:
    rows = []
    for b, jax_bound, torch_bound in ((1, 500.0, 5.0), (10, 100.0, 5.0)):
        names = [
            f"airfoil b={b} {who}" for who in ("plain torch", "lockstep torch", "lockstep jax")
        ]
        plain, torch, jax = names
        claims: list[Claim] = [
            (f"airfoil b={b}: jax against a plain loop", plain, jax, jax_bound),
            (f"airfoil b={b}: torch against a plain loop", plain, torch, torch_bound),
        ]
        rows += ratio_rows(names, claims, rounds)
    return rows


def lenet(rounds: int) -> list[Row]:
    names = ["lenet plain torch", "lenet lockstep torch"]
    rows = ratio_rows(names, [("LeNet b=256: torch against a plain loop", *names, 1.6)], rounds)
    layers = ["lenet keras on jax", "lenet lockstep jax, concise"]
    claim = "LeNet b=256, concise: jax (Flax) against Keras on JAX"
    return rows + ratio_rows(layers, [(claim, *layers, 1.0)], rounds)


def devices(rounds: int) -> list[Row]:
    rows = []
    for pooling, alone, plain in (
        ("max", "lenet lockstep torch", "lenet plain torch"),
        ("avg", "lenet avg lockstep torch", "lenet avg plain torch"),
    ):
        ours, chapter, apart = (
            f"lenet {pooling} {who}, 2 processes" for who in ("lockstep", "chapter", "apart")
        )
        name = f"LeNet ({pooling}) b=256, 2 processes"
        claims: list[Claim] = [
            (f"{name}: against a plain loop, 2 threads", plain, ours, 1.2),
            (f"{name}: against the chapter's scheme", chapter, ours, 1.3),
            (f"{name}: against one process of ours, 2 threads", alone, ours, 1.2),
            (f"{name}: the same if they exchanged nothing", alone, apart, None),
        ]
        rows += ratio_rows([alone, plain, chapter, ours, apart], claims, rounds)
    return rows


def gru(rounds: int) -> list[Row]:
    plain, layer, ours = "gru plain torch", "gru nn.GRU torch", "gru lockstep torch"
    after = "gru lockstep torch, reset after"
    claims: list[Claim] = [
        ("GRU: torch scratch against a plain loop", plain, ours, 1.7),
        ("GRU: torch scratch against nn.GRU", layer, ours, 1.2),
        ("GRU, reset after: torch scratch against nn.GRU", layer, after, 1.2),
    ]
    return ratio_rows([plain, layer, ours, after], claims, rounds)


def overhead(rounds: int) -> list[Row]:
    rows = []
    for model in ("lenet", "gru"):
        for framework in ("torch", "jax"):
            ours, hand = f"{model} lockstep {framework}", f"{model} by hand {framework}"
            times = time_in_turn([ours, hand], rounds)
            cost = times[ours].median / times[hand].median
            claim = f"{model}, {framework}: the trainer over a loop by hand"
            detail = f"{milliseconds(times[ours])} / {milliseconds(times[hand])}"
            rows.append(Row(claim, cost, "times", 1.05, False, detail))
    return rows


def startup(rounds: int) -> list[Row]:
    seconds = time_startup(2 * rounds)
    base = seconds["python -c pass"]
    detail = f"python -c pass takes {base:.3f} s"
    return [
        Row("import lockstep", seconds["import lockstep"], "s", 0.2, False, detail),
        Row("lockstep --help", seconds["lockstep --help"], "s", 0.5, False, detail),
    ]


def memory(rounds: int) -> list[Row]:
    rows = []
    for framework in ("torch", "jax"):
        whole, steps = peak_memory(framework, 0), peak_memory(framework, 1)
        detail = f"{whole:.0f} MiB / {steps:.0f} MiB"
        claim = f"{framework}: memory of whole epochs over steps"
        rows.append(Row(claim, whole / steps, "times", 1.2, False, detail))
    return rows


def beside(rounds: int) -> list[Row]:
    times = time_on_busy_machine("torch", rounds)
    alone, before = times["alone"], times["alone, long spin"]
    rows = [
        Row(
            "LeNet, torch, alone: idle threads that sleep soon over those that spin",
            alone / before, "times", 1.1, False, f"{alone:.3g} s / {before:.3g} s",
        )
    ]  # fmt: skip
    for others in ("one", "two"):
        claim = f"LeNet, torch, beside {others} busy process{'es' if others == 'two' else ''}"
        detail = f"{times[others]:.3g} s / {alone:.3g} s alone"
        rows.append(Row(claim, times[others] / alone, "times", 3.0, False, detail))
    return rows


def log(rounds: int) -> list[Row]:
    found = time_long_run(max(1, rounds // 2))
    name = "3,000,000 steps of airfoil b=1 in jax"
    whole = f"{found.whole:.2f} s / ({found.start:.2f} s start + {found.steps:.2f} s steps)"
    plain = found.unevaluated / (found.start + found.steps)
    return [
        Row(f"{name}: whole command over start and steps", found.ratio, "times", 2.0, False, whole),
        Row(
            f"{name}: the same without evaluation",
            plain, "times", None, False, f"{found.unevaluated:.2f} s",
        ),
        Row(f"{name}: lockstep show", found.show, "s", 2.0, False, "its folder holds 120 MB"),
    ]  # fmt: skip


def sweep(rounds: int) -> list[Row]:
    rows = []
    for name, what, bound in (
        ("airfoil", "64 rates on airfoil, b=10, 2 epochs", 10.0),
        ("gru", "16 rates on a GRU of 64 units, 3 epochs", 2.0),
    ):
        alone, together = time_together(name, rounds)
        detail = f"{alone * 1e3:.3g} ms / {together * 1e3:.3g} ms"
        claim = f"{what}: together against one after another, jax"
        rows.append(Row(claim, alone / together, "times", bound, True, detail))
    return rows


def text(rounds: int) -> list[Row]:
    rows = []
    for script, found in read_large_texts(rounds).items():
        plain = found["Path.read_text"]
        for reading in READINGS[1:]:
            seconds, memory = (a / b for a, b in zip(found[reading], plain, strict=True))
            name = f"100 MB of {script}, {reading}, over Path.read_text"
            detail = f"{found[reading][0]:.3g} s / {plain[0]:.3g} s"
            bound = 1.2 if reading == "as text" else None
            rows.append(Row(f"{name}: time", seconds, "times", bound, False, detail))
            detail = f"{found[reading][1]:.0f} MiB / {plain[1]:.0f} MiB"
            rows.append(Row(f"{name}: memory", memory, "times", 4.0, False, detail))
    return rows


BENCHMARKS: dict[str, Callable[[int], Iterable[Row]]] = {
    "airfoil": airfoil,
    "lenet": lenet,
    "devices": devices,
    "gru": gru,
    "chapters": lambda rounds: chapters.rows(chapters.folder(), rounds),
    "overhead": overhead,
    "startup": startup,
    "memory": memory,
    "beside": beside,
    "log": log,
    "sweep": sweep,
    "text": text,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    names = ", ".join(BENCHMARKS)
    add("--only", nargs="+", choices=BENCHMARKS, metavar="NAME", help=f"some of: {names}")
    add("--rounds", type=int, default=7, metavar="N", help="of each contender (default: 7)")
    add("--json", action="store_true", help="print the rows and the machine as JSON")
    args = parser.parse_args()
    return show(_rows(args.only or list(BENCHMARKS), args.rounds), args.json)


def _rows(names: list[str], rounds: int) -> Iterator[Row]:
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            yield from BENCHMARKS[name](rounds)
        except LockstepError as error:  # what it needs is not here
            yield not_measured(name, error)


if __name__ == "__main__":
    sys.exit(main())
