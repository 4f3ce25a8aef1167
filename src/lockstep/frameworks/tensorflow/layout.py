"""Between canonical arrays and the weights of the models in concise.py. Imports no TensorFlow.

Keras keeps kernels as (height, width, in, out) and flattens images with the channels last; its
gates are z, r, h as ours. Names are the paths of its variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from lockstep.frameworks.layout import Entry, Layout, model_layout
from lockstep.frameworks.protocol import Arrays
from lockstep.models import Model
from lockstep.models.recurrent import RecurrentNet


def layout(model: Model) -> Layout:
    """The layout of the Keras form of a model."""
    return model_layout(
        model,
        "Keras",
        dense=_dense,
        nth=lambda i: f"fc{i}",
        lenet=_lenet,
        recurrent=_recurrent,
    )


def _dense(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}/kernel"), Entry(b, f"{native}/bias")]


def _lenet(pooling: str) -> Layout:
    # what the first dense layer sees: (C, H, W)
    image, num_dense = ((16, 5, 5), 3) if pooling == "max" else ((50, 4, 4), 2)
    entries = []
    for i in (1, 2):
        entries.append(Entry(f"conv{i}_w", f"conv{i}/kernel", _kernel, _kernel_back))
        entries.append(Entry(f"conv{i}_b", f"conv{i}/bias"))
    first = partial(_channels_last, image=image), partial(_channels_first, image=image)
    entries += [Entry("fc1_w", "fc1/kernel", *first), Entry("fc1_b", "fc1/bias")]
    for i in range(2, num_dense + 1):
        entries += _dense(f"fc{i}_w", f"fc{i}_b", f"fc{i}")
    return Layout(tuple(entries))


def _kernel(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.transpose(2, 3, 1, 0))  # OIHW -> HWIO


def _kernel_back(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.transpose(3, 2, 0, 1))  # HWIO -> OIHW


def _channels_last(array: np.ndarray, image: tuple[int, int, int]) -> np.ndarray:
    return array.reshape(*image, -1).transpose(1, 2, 0, 3).reshape(array.shape)  # rows CHW -> HWC


def _channels_first(array: np.ndarray, image: tuple[int, int, int]) -> np.ndarray:
    channels, height, width = image
    rows = array.reshape(height, width, channels, -1)
    return rows.transpose(2, 0, 1, 3).reshape(array.shape)  # rows HWC -> CHW


def _recurrent(model: RecurrentNet) -> Layout:
    cell = f"layer/{'simple_rnn' if model.gates == 1 else 'gru'}_cell"
    entries = [
        Entry("w_x", f"{cell}/kernel"),
        Entry("w_h", f"{cell}/recurrent_kernel"),
        *_dense("w_out", "b_out", "output"),
    ]
    if model.gates == 3 and model.reset == "after":
        return StackedLayout(tuple(entries), stacked=("b", "b_h", f"{cell}/bias"))
    return Layout((*entries, Entry("b", f"{cell}/bias")))


@dataclass(frozen=True)
class StackedLayout(Layout):
    """A layout with two canonical arrays as the rows of a native one."""

    stacked: tuple[str, str, str] = ("", "", "")

    def to_native(self, arrays: Arrays) -> Arrays:
        first, second, native = self.stacked
        return super().to_native(arrays) | {native: np.stack([arrays[first], arrays[second]])}

    def from_native(self, arrays: Arrays) -> Arrays:
        first, second, native = self.stacked
        rows = arrays[native]
        return super().from_native(arrays) | {first: rows[0], second: rows[1]}
