"""torch.nn.parallel on virtual devices: scatter, gather, replicate, DataParallel, torch.cuda.comm.

PyTorch's own need CUDA. These do the same by copying tensors; gradients pass through the copies.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """The parts of tensors, one on each device; lists and dictionaries of parts for those."""
    if isinstance(inputs, Tensor):
        parts = inputs.chunk(len(target_gpus), dim)
        return tuple(part.to(gpu) for part, gpu in zip(parts, target_gpus, strict=False))
    if isinstance(inputs, Mapping):
        columns = [scatter(value, target_gpus, dim) for value in inputs.values()]
        return [dict(zip(inputs, row, strict=True)) for row in zip(*columns, strict=False)]
    if isinstance(inputs, list | tuple) and inputs:
        rows = zip(*(scatter(value, target_gpus, dim) for value in inputs), strict=False)
        return [type(inputs)(row) for row in rows]
    return [inputs for _ in target_gpus]


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Parts from several devices as one tensor on a device."""
    first = outputs[0]
    if isinstance(first, Tensor):
        parts = [part.to(target_device) for part in outputs]
        return torch.stack(parts) if first.ndim == 0 else torch.cat(parts, dim)
    return type(first)(gather(row, target_device, dim) for row in zip(*outputs, strict=True))


class Replica(nn.Module):
    """A module with copies of its arrays on a device; gradients reach the module's own."""

    def __init__(self, module: nn.Module, device: Any) -> None:
        super().__init__()
        self.__dict__["_original"] = module  # not registered: its parameters are not the replica's
        tensors = [*module.named_parameters(), *module.named_buffers()]
        self.__dict__["_copies"] = {name: tensor.to(device) for name, tensor in tensors}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return functional_call(self._original, self._copies, args, kwargs)  # type: ignore[arg-type]


def replicate(network: nn.Module, devices: Sequence[Any], detach: bool = False) -> list[nn.Module]:
    """The module on each device; on its own device it is itself."""
    own = next((param.device for param in network.parameters()), None)
    return [network if torch.device(_name(d)) == own else Replica(network, d) for d in devices]


def _name(device: Any) -> Any:
    return f"cuda:{device}" if isinstance(device, int) else device


class DataParallel(nn.Module):
    """Divides each batch among devices, and gathers the outputs on the first."""

    def __init__(
        self, module: nn.Module, device_ids: Sequence[Any] | None = None, output_device: Any = None,
        dim: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        count = torch.cuda.device_count()
        self.device_ids = list(device_ids) if device_ids is not None else list(range(count))
        self.output_device = self.device_ids[0] if output_device is None else output_device
        self.dim, self.module = dim, module.to(_name(self.device_ids[0]))

    def forward(self, *inputs: Any) -> Any:
        rows = scatter(inputs, self.device_ids, self.dim)
        replicas = replicate(self.module, self.device_ids[: len(rows)])
        outputs = [replica(*row) for replica, row in zip(replicas, rows, strict=True)]
        return gather(outputs, self.output_device, self.dim)


def broadcast(tensor: Tensor, devices: Sequence[Any]) -> tuple[Tensor, ...]:
    """A copy on each device."""
    return tuple(tensor.to(device) for device in devices)


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of several devices, on one of them."""
    target = inputs[0].device if destination is None else destination
    total = inputs[0].to(target, copy=True)
    for tensor in inputs[1:]:
        total = total + tensor.to(target)
    return total


def replace() -> None:
    """Put these in the place of PyTorch's own."""
    found: Any = nn.parallel
    found.scatter, found.gather, found.replicate = scatter, gather, replicate
    found.DataParallel = nn.DataParallel = DataParallel  # type: ignore[misc, assignment]
    comm: Any = importlib.import_module("torch.cuda.comm")
    comm.broadcast, comm.reduce_add = broadcast, reduce_add
    comm.scatter = lambda tensor, devices, *rest: scatter(tensor, devices)
    comm.gather = lambda tensors, dim=0, destination=None: gather(
        tensors, tensors[0].device if destination is None else destination, dim
    )
