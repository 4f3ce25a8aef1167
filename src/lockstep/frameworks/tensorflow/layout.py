"""Between canonical arrays and the weights of the models in concise.py. Imports no TensorFlow.

Keras keeps kernels as (height, width, in, out) and flattens images with the channels last; its
gates are z, r, h as ours. Names are the paths of its variables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lockstep.frameworks.layout import Entry, Layout, kernel_first, kernel_last, model_layout
from lockstep.models import Model
from lockstep.models.lenet import LeNetModel
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Arrays


def layout(model: Model) -> Layout:
    """The layout of the Keras form of a model."""
    found = model_layout(
        model,
        "Keras",
        dense=_dense,
        convolution=_convolution,
        nth=lambda i: f"fc{i}",
        lenet={name: name for name in ("conv1", "conv2", "fc1", "fc2", "fc3")},
        recurrent=_recurrent,
    )
    if not isinstance(model, LeNetModel):
        return found
    return Layout(tuple(_with_channels_last(entry, model.pooling) for entry in found.entries))


def _dense(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}/kernel"), Entry(b, f"{native}/bias")]


def _convolution(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}/kernel", kernel_last, kernel_first), Entry(b, f"{native}/bias")]


def _with_channels_last(entry: Entry, pooling: str) -> Entry:
    """The first dense layer of LeNet sees the channels last."""
    if entry.canonical != "fc1_w":
        return entry
    image = (16, 5, 5) if pooling == "max" else (50, 4, 4)  # (C, H, W)
    there, back = partial(_channels_last, image=image), partial(_channels_first, image=image)
    return replace(entry, there=there, back=back)


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
