"""What the shared files of this room need of MXNet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from mxnet import autograd, gluon, np, npx

from lockstep.d2l.primitives import Primitives


def _order(count: int) -> Any:
    order = np.arange(count, dtype="int32")
    np.random.shuffle(order)
    return order.asnumpy()


def _device_of(net: Any) -> Any:
    if not isinstance(net, gluon.Block):
        return None
    return next(iter(net.collect_params().values())).list_ctx()[0]


def _update(net: Any, X: Any, y: Any, loss: Callable[..., Any], updater: Any) -> tuple[Any, Any]:
    with autograd.record():
        y_hat = net(X)
        each = loss(y_hat, y)
    each.backward()
    (updater.step if isinstance(updater, gluon.Trainer) else updater)(X.shape[0])
    return each, y_hat


PRIMITIVES = Primitives(
    array=lambda values: np.array(values, dtype=values.dtype),
    order=_order,
    normal=lambda shape: np.random.normal(0, 1, shape),
    cpu=npx.cpu,
    gpu=lambda i: npx.gpu(i),  # virtual devices replace the function
    num_gpus=lambda: int(npx.num_gpus()),
    update=_update,
    integer=numpy.int32,
    device_of=_device_of,
    to_device=lambda array, device: array if device is None else array.as_in_ctx(device),
)
