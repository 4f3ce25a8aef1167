"""Which file has each of the d2l names: one table for all frameworks.

A framework's package finds its names here, so that a name is imported when it is first used.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from lockstep.errors import unknown

# files of this room: the same for every framework
SHARED = {
    "timer": ("Accumulator", "Timer"),
    "plotting": (
        "Animator", "annotate", "plot", "plt", "set_axes", "set_figsize", "show_images",
        "use_svg_display",
    ),
    "text": (
        "Vocab", "count_corpus", "load_corpus_time_machine", "read_time_machine", "tokenize",
    ),
    "downloads": ("DATA_HUB", "DATA_URL", "download", "download_extract"),
    "batches": ("get_dataloader_workers", "get_fashion_mnist_labels"),
    "classifying": ("accuracy",),
    "loops": ("show_trace_2d", "train_2d"),
}  # fmt: skip
# files of this room too, written over the few primitives that each framework's package has
OVER = {
    "gpus": ("cpu", "gpu", "num_gpus", "try_all_gpus", "try_gpu"),
    "loading": (
        "SeqDataLoader", "get_data_ch11", "load_array", "load_data_fashion_mnist",
        "load_data_time_machine", "seq_data_iter_random", "seq_data_iter_sequential",
        "synthetic_data",
    ),
    "classifying": (
        "evaluate_accuracy", "evaluate_accuracy_gpu", "evaluate_loss", "predict_ch3", "train_ch3",
        "train_epoch_ch3",
    ),
}  # fmt: skip
# files of each framework's package; "tensors" has aliases too, which it lists itself
OWN = {
    "regression": ("linreg", "sgd", "squared_loss", "train_ch11", "train_concise_ch11"),
    "classification": ("TrainCallback", "train_ch6"),
    "recurrent": (
        "RNNModel", "RNNModelScratch", "grad_clipping", "predict_ch8", "train_ch8",
        "train_epoch_ch8",
    ),
    "several_devices": (
        "Residual", "evaluate_accuracy_gpus", "resnet18", "split_batch", "train_batch_ch13",
        "train_ch13",
    ),
}  # fmt: skip
ALIASES = "tensors"


def find(package: str, name: str) -> Any:
    """The d2l name of a framework's package; AttributeError if it has none such."""
    if name.startswith("_"):  # none is; Python and its tools ask for many
        raise AttributeError(name)
    for file, names in SHARED.items():
        if name in names:
            return getattr(importlib.import_module(f"lockstep.d2l.{file}"), name)
    for file, names in OVER.items():
        if name in names and hasattr(bound := _over(package, file), name):
            return getattr(bound, name)
    for file, names in OWN.items():
        if name in names and hasattr(module := _module(f"{package}.{file}"), name):
            return getattr(module, name)
    aliases = importlib.import_module(f"{package}.{ALIASES}")
    if name in aliases.__all__:
        return getattr(aliases, name)
    raise AttributeError(str(unknown("d2l name", name, known(package))))


def known(package: str) -> list[str]:
    """Every name of a framework's package."""
    return sorted(_known(package))


def _known(package: str) -> Iterator[str]:
    for names in SHARED.values():
        yield from names
    for file, names in OVER.items():
        yield from (name for name in names if hasattr(_over(package, file), name))
    for file, names in OWN.items():
        module = _module(f"{package}.{file}")
        yield from (name for name in names if hasattr(module, name))
    yield from importlib.import_module(f"{package}.{ALIASES}").__all__


@functools.cache
def _over(package: str, file: str) -> Any:
    """The names of a shared file for a framework, as attributes."""
    primitives = importlib.import_module(f"{package}.primitives").PRIMITIVES
    return importlib.import_module(f"lockstep.d2l.{file}").over(primitives)


def _module(path: str) -> ModuleType | None:
    return importlib.import_module(path) if importlib.util.find_spec(path) else None
