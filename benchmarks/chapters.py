"""`python -m benchmarks.chapters [FRAMEWORK ...]`: Lockstep against the book's own cells, in the
same framework and on the same work, in turns.

The chapters are read from a folder; nothing of them is part of this package. A framework without a
tab of the chapters, but with Keras, is measured against that.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.chapter_works import IMAGE_STEPS, WORKS, Work
from benchmarks.rounds import Contender, ContenderFailed, Timing, time_contenders
from benchmarks.rows import Row, not_measured, ratio_row, show
from lockstep.book import matrix, own_runs
from lockstep.book.chapter import TABS
from lockstep.errors import InputError, LockstepError, unknown
from lockstep.frameworks import environments
from lockstep.processes.interpreters import variables

VARIABLE = "LOCKSTEP_CHAPTERS"
FOLDER = "../shared/seeds"
LEAST = 0.3  # seconds of a round
ENOUGH = 12.0  # seconds of the rounds of one row, if they are at least three
TIMEOUT = 300.0  # for one round, set-up and compilation included
WITHOUT_TAB = "jax"  # the framework of which these chapters have no tab
# why a row may not be faster: by the beginning of its claim
EAGER = (
    "both call the layer, autograd and the optimizer step by step; ours also gathers the batch by "
    "number and records each step's loss and gradient norm"
)
WHOLE = "a step is an epoch, with its order of rows and its events"
WHY = {
    "torch, minibatch b=1500: scratch": WHOLE,
    "mxnet, minibatch b=1500: scratch": WHOLE,
    "torch, GRU, concise": "both call nn.GRU, which is nearly all of a step",
    "mxnet, LeNet (max): scratch": "both convolve and pool by the same compiled kernels of oneDNN",
    "tensorflow, LeNet (max)": "the chapter's tab pools by the mean and not the largest: less work",
    "tensorflow, GRU, scratch": (
        "both are compiled, the chapter's step by lockstep.d2l, and bound by the same products"
    ),
    **{
        f"{framework}, minibatch b={batch_size}": EAGER
        for framework in ("torch", "mxnet")
        for batch_size in ("1500: concise", "1: concise", "100: concise", "10, concise")
    },
}
FRAMEWORKS = (*dict.fromkeys(name for work in WORKS for name in work.frameworks), WITHOUT_TAB)


def rows(folder: Path, rounds: int, frameworks: Sequence[str] = FRAMEWORKS) -> Iterator[Row]:
    """A row for each work, framework and style of ours, as soon as it is measured."""
    places = find_chapters(folder)
    for framework in frameworks:
        for work in WORKS:
            if framework in work.frameworks:
                yield from _rows(work, framework, places, rounds)
    if WITHOUT_TAB in frameworks:
        yield from _keras_rows(rounds)


def find_chapters(folder: Path) -> dict[str, dict[str, Path]]:
    """The file of each work's chapter, by the framework of its tab."""
    found: dict[str, dict[str, Path]] = {work.name: {} for work in WORKS}
    for chapter in matrix.find([str(folder)])[0] if folder.is_dir() else ():
        for tab in set(chapter.tabs) & set(TABS):
            subject = own_runs.subject_of(chapter, tab)
            for work in WORKS:
                if subject is not None and work.subject == subject.experiment:
                    found[work.name].setdefault(TABS[tab], chapter.path)
    if not any(found.values()):
        remedy = f"Name the folder of the book's chapters: --chapters DIR, or {VARIABLE}."
        raise InputError("chapters", str(folder), "has none of the chapters measured", remedy)
    return found


def _rows(
    work: Work, framework: str, places: dict[str, dict[str, Path]], rounds: int
) -> Iterator[Row]:
    path = places[work.name].get(framework)
    claims = {
        style: f"{framework}, {work.name}: {style} against the chapter" for style in work.styles
    }
    try:
        if path is None:
            raise ContenderFailed("no chapter in the folder has it")
        python = environments.interpreter(framework)
        words = ("-m", "benchmarks.chapter_cells", work.name, framework, str(path.absolute()))
        contenders = [Contender("the chapter", (python, *words), variables(python))]
        for style in work.styles:
            words = ("-m", "benchmarks.chapter_works", work.name, framework, style)
            contenders.append(Contender(style, (python, *words), variables(python)))
        times = _steps(contenders, rounds, work.steps)
    except (ContenderFailed, LockstepError) as error:
        yield from (not_measured(claim, error) for claim in claims.values())
        return
    for style, claim in claims.items():
        yield _explained(ratio_row(claim, times["the chapter"], times[style], 1.0))


def _explained(row: Row) -> Row:
    """The row; one that is not faster says why, where that is known."""
    reasons = [why for begin, why in WHY.items() if row.claim.startswith(begin)]
    return replace(row, detail="; ".join([row.detail, *reasons])) if not row.kept else row


def _keras_rows(rounds: int) -> Iterator[Row]:
    keras = "lenet keras on jax"
    ours = {"scratch": "lenet lockstep jax", "concise": "lenet lockstep jax, concise"}
    contenders = [Contender(name) for name in (keras, *ours.values())]
    claims = {s: f"{WITHOUT_TAB}, LeNet (max): {s} against Keras on JAX" for s in ours}
    try:
        times = _steps(contenders, rounds, IMAGE_STEPS)
    except ContenderFailed as error:
        yield from (not_measured(claim, error) for claim in claims.values())
        return
    for style, name in ours.items():
        yield ratio_row(claims[style], times[keras], times[name], 1.0)


def _steps(contenders: list[Contender], rounds: int, steps: int) -> dict[str, Timing]:
    """The seconds of a step."""
    times = time_contenders(contenders, rounds, least=LEAST, enough=ENOUGH, timeout=TIMEOUT)
    return {name: timing.over(steps) for name, timing in times.items()}


def folder() -> Path:
    """Where the chapters are if nobody says otherwise."""
    return Path(os.environ.get(VARIABLE, FOLDER))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chapters", description=__doc__)
    add = parser.add_argument
    add("frameworks", nargs="*", metavar="FRAMEWORK", help=f"some of: {', '.join(FRAMEWORKS)}")
    add("--chapters", type=Path, default=folder(), metavar="DIR", help="the folder with them")
    add("--rounds", type=int, default=7, metavar="N", help="of each contender (default: 7)")
    add("--json", action="store_true", help="print the rows and the machine as JSON")
    args = parser.parse_args()
    for name in args.frameworks:
        if name not in FRAMEWORKS:
            raise unknown("framework", name, FRAMEWORKS)
    names = args.frameworks or FRAMEWORKS
    return show(rows(args.chapters, args.rounds, names), args.json)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LockstepError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
