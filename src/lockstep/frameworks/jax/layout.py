"""Between canonical arrays and the parameters of the modules in concise.py. Imports no JAX.

Flax keeps kernels as (height, width, in, out); names are the paths in its tree of parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lockstep.frameworks.layout import Entry, Layout, model_layout
from lockstep.frameworks.protocol import Arrays
from lockstep.models import Model
from lockstep.models.recurrent import RecurrentNet


def layout(model: Model) -> Layout:
    """The layout of the Flax form of a model."""
    return model_layout(
        model,
        "Flax",
        dense=_dense,
        nth=lambda i: f"fc{i}",
        lenet=_lenet,
        recurrent=_recurrent,
    )


def _dense(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}/kernel"), Entry(b, f"{native}/bias")]


def _lenet(pooling: str) -> Layout:
    entries = []
    for i in (1, 2):
        entries.append(Entry(f"conv{i}_w", f"conv{i}/kernel", _kernel, _kernel_back))
        entries.append(Entry(f"conv{i}_b", f"conv{i}/bias"))
    for i in range(1, 4 if pooling == "max" else 3):
        entries += _dense(f"fc{i}_w", f"fc{i}_b", f"dense/fc{i}")
    return Layout(tuple(entries))


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


def _kernel(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.transpose(2, 3, 1, 0))  # OIHW -> HWIO


def _kernel_back(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.transpose(3, 2, 0, 1))  # HWIO -> OIHW
