"""Between canonical arrays and the weights of the models in concise.py. Imports no TensorFlow.

Keras keeps kernels as (height, width, in, out) and flattens images with the channels last; its
gates are z, r, h as ours. Names are the paths of its variables.
"""

from __future__ import annotations

import numpy as np

from lockstep.frameworks.layout import KERNEL_LAST, Entry, NativeLayers, entry
from lockstep.models.layers import Sequential
from lockstep.models.recurrent import RecurrentNet


def _names(model: Sequential) -> dict[str, str]:
    return {block.name: block.name for block in model.blocks}


def _recurrent(model: RecurrentNet) -> list[Entry]:
    cell = f"layer/{'simple_rnn' if model.gates == 1 else 'gru'}_cell"
    entries = [entry("w_x", f"{cell}/kernel"), entry("w_h", f"{cell}/recurrent_kernel")]
    if model.gates == 3 and model.reset == "after":
        rows = Entry(
            ("b", "b_h"), (f"{cell}/bias",), lambda *both: (np.stack(both),), lambda bias: (*bias,)
        )
        return [*entries, rows]
    return [*entries, entry("b", f"{cell}/bias")]


layout = NativeLayers(
    "Keras",
    _recurrent,
    _names,
    weight="/kernel",
    bias="/bias",
    kernel=KERNEL_LAST,
    channels_last=True,
).layout
