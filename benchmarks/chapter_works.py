"""The trainings of the book's chapters that Lockstep is measured against, and Lockstep's own run of
the same work: equal batches and as many of them, in the same framework.

`python -m benchmarks.chapter_works WORK FRAMEWORK STYLE` is the contender of Lockstep's own run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from benchmarks import contenders
from lockstep.frameworks import registry
from lockstep.spec import RunSpec
from lockstep.task import assemble

BOTH = ("scratch", "concise")


@dataclass(frozen=True)
class Work:
    """A training that a chapter has in several tabs.

    `subject` is that of the chapter, as `lockstep.book.own_runs` names it; `call` counts the
    trainings that its cells ask for, from 0. `styles` are those of ours that are measured against
    it. `batch_size` and `steps` are those of a pass over the data, here and there.
    """

    name: str
    subject: str
    call: int
    styles: tuple[str, ...]
    frameworks: tuple[str, ...]
    batch_size: int
    steps: int
    spec: Callable[[str], RunSpec]


def _minibatch(batch_size: int, call: int, styles: tuple[str, ...], suffix: str = "") -> Work:
    return Work(
        f"minibatch b={batch_size}{suffix}", "minibatch", call, styles,
        ("torch", "mxnet", "tensorflow"), batch_size, 1500 // batch_size,
        lambda framework: contenders.airfoil(framework, batch_size),
    )  # fmt: skip


def _gru(style: str, call: int) -> Work:
    reset = {"scratch": "before", "concise": "after"}[style]
    return Work(
        f"GRU, {style}", "gru", call, (style,),
        ("torch", "mxnet", "tensorflow", "paddle", "mindspore"), 32, 8,
        lambda framework: contenders.gru(framework, reset),
    )  # fmt: skip


IMAGE_STEPS = -(-contenders.IMAGES // 256)  # of one pass
WORKS = (
    _minibatch(1500, 0, BOTH),
    _minibatch(1, 1, BOTH),
    _minibatch(100, 2, BOTH),
    _minibatch(10, 3, ("scratch",)),
    _minibatch(10, 4, ("concise",), ", concise"),
    Work(
        "LeNet (max)", "schedules", 0, BOTH,
        ("torch", "mxnet", "tensorflow"), 256, IMAGE_STEPS, contenders.lenet,
    ),
    Work(
        "LeNet (avg)", "devices", 0, BOTH,
        ("torch", "mxnet", "paddle"), 256, IMAGE_STEPS,
        lambda framework: contenders.lenet(framework, "avg"),
    ),
    _gru("scratch", 0),
    _gru("concise", 1),
)  # fmt: skip


def find(name: str) -> Work:
    return next(work for work in WORKS if work.name == name)


def serve(passes: Callable[[int], float], lines: Iterable[str] = sys.stdin) -> None:
    """Answer each line, the number of passes, with the seconds that one took."""
    for line in lines:
        count = int(line)
        print(passes(count) / count, flush=True)


def own_passes(work: Work, spec: RunSpec) -> Callable[[int], float]:
    """Lockstep's training loop: the seconds of so many passes."""
    registry.prepare(spec.framework)
    task = assemble(spec)
    blocks = task.plan.epoch(0)
    found = sum(len(block) for block in blocks), max(block.shape[1] for block in blocks)
    if found != (work.steps, work.batch_size):
        wanted = f"{work.steps} of {work.batch_size} examples"
        raise ValueError(f"{work.name}: {found[0]} batches of {found[1]}, not {wanted}")
    return contenders.passes(spec, task)


if __name__ == "__main__":
    _name, _framework, _style = sys.argv[1:]
    _work = find(_name)
    serve(own_passes(_work, replace(_work.spec(_framework), style=_style)))
