"""Between canonical arrays and the parameters of the modules in concise.py. Imports no JAX.

Flax keeps kernels as (height, width, in, out); names are the paths in its tree of parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lockstep.frameworks.layout import Entry, Layout, kernel_first, kernel_last, model_layout
from lockstep.models import Model
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Arrays

LENET = {
    "conv1": "conv1",
    "conv2": "conv2",
    "fc1": "dense/fc1",
    "fc2": "dense/fc2",
    "fc3": "dense/fc3",
}


def layout(model: Model) -> Layout:
    """The layout of the Flax form of a model."""
    return model_layout(
        model,
        "Flax",
        dense=_dense,
        nth=lambda i: f"fc{i}",
        convolution=_convolution,
        lenet=LENET,
        recurrent=_recurrent,
    )


def _dense(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}/kernel"), Entry(b, f"{native}/bias")]


def _convolution(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}/kernel", kernel_last, kernel_first), Entry(b, f"{native}/bias")]


def _recurrent(model: RecurrentNet) -> Layout:
    entries = _dense("w_out", "b_out", "output")
    if model.gates == 1:
        entries += [*_dense("w_x", "b", "cell/i"), Entry("w_h", "cell/h/kernel")]
    elif model.reset == "after":
        entries += [*_dense("w_x", "b", "input"), *_dense("w_h", "b_h", "cell/hidden")]
    else:
        n = model.num_hiddens
        entries += _dense("w_x", "b", "input")
        return SplitLayout(
            tuple(entries), split=("w_h", "cell/gates/kernel", "cell/candidate/kernel", 2 * n)
        )
    return Layout(tuple(entries))


@dataclass(frozen=True)
class SplitLayout(Layout):
    """A layout with one canonical matrix in two native ones, side by side."""

    split: tuple[str, str, str, int] = ("", "", "", 0)

    def to_native(self, arrays: Arrays) -> Arrays:
        name, left, right, at = self.split
        whole = arrays[name]
        return super().to_native(arrays) | {left: whole[:, :at], right: whole[:, at:]}

    def from_native(self, arrays: Arrays) -> Arrays:
        name, left, right, _ = self.split
        whole = np.concatenate([arrays[left], arrays[right]], axis=1)
        return super().from_native(arrays) | {name: whole}
