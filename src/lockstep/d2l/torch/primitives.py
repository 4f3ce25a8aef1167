"""What the shared files of this room need of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lockstep.d2l.primitives import Primitives


def _array(values: NDArray[Any]) -> Tensor:
    return torch.from_numpy(values if values.flags.writeable else values.copy())


@contextmanager
def _evaluating(net: Any) -> Iterator[None]:
    if isinstance(net, nn.Module):
        net.eval()
    with torch.no_grad():
        yield


def _device_of(net: Any) -> torch.device | None:
    params = net.parameters() if isinstance(net, nn.Module) else iter(())
    return next((param.device for param in params), None)


def _update(
    net: Any, X: Tensor, y: Tensor, loss: Callable[..., Tensor], updater: Any
) -> tuple[Tensor, Tensor]:
    if isinstance(net, nn.Module):
        net.train()
    y_hat = net(X)
    each = loss(y_hat, y)
    if isinstance(updater, torch.optim.Optimizer):
        updater.zero_grad()
        each.mean().backward()
        updater.step()
    else:
        each.sum().backward()
        updater(X.shape[0])
    return each, y_hat


PRIMITIVES = Primitives(
    array=_array,
    order=lambda count: torch.randperm(count).numpy(),
    normal=torch.randn,
    cpu=lambda: torch.device("cpu"),
    gpu=lambda i: torch.device(f"cuda:{i}"),
    num_gpus=lambda: torch.cuda.device_count(),  # virtual devices replace the function
    update=_update,
    evaluating=_evaluating,
    device_of=_device_of,
    to_device=lambda tensor, device: tensor.to(device),
)
