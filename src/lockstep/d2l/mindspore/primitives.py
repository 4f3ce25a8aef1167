"""What the shared files of this room need of MindSpore."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn

from lockstep.d2l.primitives import Primitives


@contextmanager
def _evaluating(net: Any) -> Iterator[None]:
    if isinstance(net, nn.Cell):
        net.set_train(False)
    yield


def _update(net: Any, X: Any, y: Any, loss: Callable[..., Any], updater: Any) -> tuple[Any, Any]:
    """`updater` is an optimizer, or takes the batch size and the gradients of `updater.params`."""
    is_optimizer = isinstance(updater, nn.Optimizer)
    if isinstance(net, nn.Cell):
        net.set_train(True)

    def forward(X: Any, y: Any) -> tuple[Any, Any, Any]:
        y_hat = net(X)
        each = loss(y_hat, y)
        return each.mean() if is_optimizer else each.sum(), each, y_hat

    params = updater.parameters if is_optimizer else updater.params
    (_, each, y_hat), grads = ms.value_and_grad(forward, None, params, has_aux=True)(X, y)
    if is_optimizer:
        updater(grads)
    else:
        updater(X.shape[0], grads)
    return each, y_hat


PRIMITIVES = Primitives(
    array=ms.Tensor,
    order=np.random.permutation,
    normal=lambda shape: ms.Tensor(np.random.standard_normal(shape).astype(np.float32)),
    # it computes on one device in the whole process; the packages of this version have no GPUs
    cpu=lambda: "CPU",
    gpu=lambda i: "GPU",
    num_gpus=lambda: 0,
    update=_update,
    integer=np.int32,
    evaluating=_evaluating,
)
