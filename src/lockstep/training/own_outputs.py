"""A person's own model over Ops, tried by the oracle before a run begins."""

from __future__ import annotations

import numpy as np

from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.frameworks.protocol import Array
from lockstep.models.fitting import check_outputs
from lockstep.models.own import OwnNet
from lockstep.task import Task


def check_net(task: Task) -> None:
    """Refuse a net that fails, or whose outputs do not fit y, on two examples of each split.

    A framework's own module is tried by its framework, when its program is built.
    """
    net = task.model
    if not isinstance(net, OwnNet) or task.native is not None:
        return
    ops = NumpyOps("float64")
    weights = net.initial_weights(0)

    def call(x: np.ndarray) -> Array:
        with np.errstate(all="ignore"):
            return net.function(ops, weights, ops.asarray(x))

    name = getattr(net.function, "__name__", type(net.function).__name__)
    check_outputs(task.splits, task.classifies, name, call)
