"""A training of a chapter as its own cells have it, timed pass by pass over its data.

`python -m benchmarks.chapter_cells WORK FRAMEWORK CHAPTER` is the contender. It executes the cells
that the training needs, as they stand, with `lockstep.d2l` for d2l; what trains is at first only
asked what it is called with. The function that is wanted is then called for more epochs than there
are rounds: before a pass over the data it waits for a line on standard input.

What is not training is left out, as in Lockstep's contender: measurements, and figures.
"""

from __future__ import annotations

import importlib
import inspect
import linecache
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.chapter_slice import needed, training_cell
from benchmarks.chapter_works import Work, find
from benchmarks.contenders import IMAGES
from lockstep import d2l
from lockstep.book import chapter as chapters
from lockstep.d2l import loops
from lockstep.data import Examples, fashion_mnist
from lockstep.frameworks import registry

TRAINING = ("train", "train_ch11", "train_concise_ch11")  # functions that cells define
LOADERS = ("load_array", "load_data_fashion_mnist", "load_data_time_machine")
MEASURING = ("evaluate_loss", "evaluate_accuracy_gpu")
ENDLESS = 10**9  # epochs

Call = tuple[Callable[..., Any], inspect.BoundArguments]


class Turns:
    """Waits for its turn before a pass over the data, and says how long the passes took."""

    def __init__(self, work: Work, finish: Callable[[], object]) -> None:
        self._work, self._finish = work, finish
        self._answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # what cells print is no answer
        self._left = self._count = 0
        self._begin = 0.0

    def check(self, num_batches: int) -> None:
        """Raise where a pass is other work than that of Lockstep's contender."""
        if num_batches != self._work.steps:
            wanted = f"{self._work.steps} of {self._work.batch_size} examples"
            raise ValueError(f"{self._work.name}: {num_batches} batches, not {wanted}")

    def begin(self) -> None:
        if self._left == 0:
            line = sys.stdin.readline()
            if not line:
                os._exit(0)  # within the chapter's loop, which would go on
            self._left = self._count = int(line)
            self._begin = time.perf_counter()

    def end(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._finish()
            seconds = time.perf_counter() - self._begin
            print(seconds / self._count, file=self._answers, flush=True)


class Passes:
    """Batches, each pass over which is a turn."""

    def __init__(self, batches: Any, turns: Turns) -> None:
        self._batches, self._turns = batches, turns

    def __iter__(self) -> Iterator[Any]:
        self._turns.begin()
        number = 0
        for batch in self._batches:
            yield batch
            number += 1
        self._turns.check(number)
        self._turns.end()

    def __len__(self) -> int:
        return len(self._batches)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batches, name)


class NoFigure:
    """In the place of Animator."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def add(self, x: Any, y: Any) -> None: ...


def serve(work: Work, framework: str, path: Path) -> None:
    """Train without end, by the chapter's cells."""
    names = _names(framework)
    turns = Turns(work, FINISH.get(framework, lambda: None))
    _count_passes(names, framework, turns)
    function, call = _asked(work, framework, path, names)
    if "num_epochs" in call.arguments:
        call.arguments["num_epochs"] = ENDLESS
    while True:
        function(*call.args, **call.kwargs)


def _names(framework: str) -> Any:
    """The framework's d2l names, of which those that measure or draw do nothing."""
    d2l.prepare(framework)
    registry.prepare(framework)
    d2l.install(replace=True)
    names = importlib.import_module(f"d2l.{framework}")
    if framework in WITHOUT_GPU:
        WITHOUT_GPU[framework]()
    for name in MEASURING:
        setattr(names, name, lambda *args: 0.0)
    names.Animator = loops.Animator = NoFigure  # type: ignore[assignment, misc]
    return names


def _count_passes(names: Any, framework: str, turns: Turns) -> None:
    """Make every pass over training data a turn."""
    whole = fashion_mnist.load
    fashion_mnist.load = (
        lambda: tuple(  # type: ignore[assignment]
            Examples(part.x[:IMAGES], part.y[:IMAGES], part.origin) for part in whole()
        )
    )

    def loader(load: Callable[..., Any]) -> Callable[..., Any]:
        def loaded(*args: Any, **kwargs: Any) -> Any:
            found = load(*args, **kwargs)
            if isinstance(found, tuple):  # and test data, or a vocabulary
                return Passes(found[0], turns), *found[1:]
            return Passes(found, turns)

        return loaded

    kept = {name: getattr(names, name) for name in LOADERS if hasattr(names, name)}
    for name, load in kept.items():
        setattr(names, name, loader(load))
    if framework == "tensorflow":  # Keras takes data sets only, and calls back instead
        names.load_data_fashion_mnist = kept["load_data_fashion_mnist"]
        names.TrainCallback = lambda net, train_iter, *rest: _keras_turns(train_iter, turns)


def _keras_turns(train_iter: Any, turns: Turns) -> Any:
    from tensorflow.keras.callbacks import LambdaCallback  # type: ignore[import-untyped]

    turns.check(len(train_iter))
    return LambdaCallback(
        on_epoch_begin=lambda epoch, logs: turns.begin(),
        on_epoch_end=lambda epoch, logs: turns.end(),
    )


def _asked(work: Work, framework: str, path: Path, names: Any) -> Call:
    """The function that trains, and what the chapter calls it with."""
    cells = chapters.read(path).cells(chapters.TAB_OF[framework])
    sources = [re.sub(r"^%.*$", "", cell.source, flags=re.MULTILINE) for cell in cells]
    calls: list[Call] = []

    def kept(function: Callable[..., Any]) -> Callable[..., Any]:
        def keep(*args: Any, **kwargs: Any) -> Any:
            call = inspect.signature(function).bind(*args, **kwargs)
            call.apply_defaults()
            calls.append((function, call))
            return [], []  # times and losses

        return keep

    if hasattr(names, "train_ch8"):
        names.train_ch8 = kept(names.train_ch8)
    chapter = sys.modules["chapter"] = ModuleType("chapter")  # MindSpore looks names up in it
    namespace = chapter.__dict__
    for place in needed(sources, training_cell(sources, work.call)):
        name, lines = f"{path.name}, cell {place + 1}", sources[place].splitlines(keepends=True)
        linecache.cache[name] = len(sources[place]), None, lines, name  # MindSpore compiles it
        exec(compile(sources[place], name, "exec"), namespace)
        for name in TRAINING:
            function = namespace.get(name)
            if function is not None and function.__code__.co_filename.startswith(path.name):
                namespace[name] = kept(function)
    return calls[-1]


# --- what differs between frameworks ------------------------------------------------------------


def _torch_without_gpu() -> None:
    """What the cells call on several devices, for one that is the processor. Virtual devices would
    cost some time in every function."""
    import torch

    from lockstep.d2l.torch import parallel

    parallel.replace()
    torch.cuda.synchronize = lambda device=None: None


def _wait_for_mxnet() -> None:
    from mxnet import nd  # type: ignore[import-untyped]

    nd.waitall()


WITHOUT_GPU: dict[str, Callable[[], object]] = {
    "torch": _torch_without_gpu,
    "paddle": lambda: d2l.virtual_devices("paddle", 1),
}
FINISH: dict[str, Callable[[], object]] = {"mxnet": _wait_for_mxnet}

if __name__ == "__main__":
    serve(find(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
