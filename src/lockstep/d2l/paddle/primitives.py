"""What the shared files of this room need of Paddle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import paddle

from lockstep.d2l.primitives import Primitives


@contextmanager
def _evaluating(net: Any) -> Iterator[None]:
    if isinstance(net, paddle.nn.Layer):
        net.eval()
    with paddle.no_grad():
        yield


def _update(net: Any, X: Any, y: Any, loss: Callable[..., Any], updater: Any) -> tuple[Any, Any]:
    if isinstance(net, paddle.nn.Layer):
        net.train()
    y_hat = net(X)
    each = loss(y_hat, y)
    if isinstance(updater, paddle.optimizer.Optimizer):
        updater.clear_grad()
        each.mean().backward()
        updater.step()
    else:
        each.sum().backward()
        updater(X.shape[0])
    return each, y_hat


PRIMITIVES = Primitives(
    array=paddle.to_tensor,
    order=lambda count: paddle.randperm(count).numpy(),
    normal=lambda shape: paddle.randn(shape),
    cpu=paddle.CPUPlace,
    gpu=lambda i: paddle.CUDAPlace(i),  # virtual devices replace the function
    num_gpus=lambda: int(paddle.device.cuda.device_count()),
    update=_update,
    evaluating=_evaluating,
    to_device=lambda tensor, device: tensor if device is None else tensor.to(device),
)
