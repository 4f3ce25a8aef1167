"""Virtual devices: `cuda:0`, `cuda:1` ... on a machine without GPUs, in the processor's memory.

Each tensor belongs to a device; one that is moved to another device is copied there, and tensors
of two devices cannot be computed with, as on GPUs. With a GPU nothing is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from lockstep.d2l.torch import parallel

_PLACE = "_lockstep_device"  # the attribute of a tensor that is not on the processor
_CPU = torch.device("cpu")

# they take tensors of several devices, as on GPUs; the first one says where the result is
_MIXING = {Tensor.copy_, Tensor.__setitem__, Tensor.__getitem__, Tensor.__deepcopy__}


def switch_on(count: int) -> bool:
    """From now on there are `count` virtual devices in this thread; False if there is a GPU."""
    if torch.cuda.is_available() or count < 1:
        return False
    devices = Devices(count)
    _replace_cuda(devices)
    _keep_parameters()
    parallel.replace()
    devices.__enter__()
    return True


class Devices(TorchFunctionMode):
    """Sees every function of torch that is called, and keeps account of the devices."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.current = 0  # the device of "cuda" without a number
        getters: Any = Tensor  # mypy sees values where the class has descriptors
        self._special: dict[Any, Callable[..., Any]] = {
            getters.device.__get__: place,
            getters.is_cuda.__get__: lambda tensor: place(tensor).type == "cuda",
            getters.data.__set__: _set_data,
            Tensor.get_device: _number,
            Tensor.to: self._to,
            Tensor.cuda: self._cuda,
            Tensor.cpu: lambda tensor: moved(tensor, _CPU),
            Tensor.numpy: _numpy,
            Tensor.__repr__: self._text,
            Tensor.__format__: lambda tensor, spec: (
                self._text(tensor) if tensor.ndim else format(tensor.item(), spec)
            ),
            Tensor.__iter__: lambda tensor: iter(mark(tensor.unbind(0), place(tensor))),
        }

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = dict(kwargs or {})
        special = self._special.get(func)
        if special is not None:
            return special(*args, **given)
        if given.get("device") is not None:
            return self._made(func, args, given)
        result = func(*args, **given)
        if tensors(result):  # a mere question may be asked of tensors of several devices
            device = _common(func, [*tensors(args), *tensors(given)])
            return result if device is None else mark(result, device)
        return result

    def _made(self, func: Any, args: Any, given: dict[str, Any]) -> Any:
        """What a function makes on a device that it is told."""
        device = self.checked(given.pop("device"))
        made = func(*args, **given)
        if any(made is tensor for tensor in tensors(args)):
            return moved(made, device)
        return mark(made, device)

    def _text(self, tensor: Tensor, **kwargs: Any) -> str:
        with self:  # the text says which device, and asks for it
            return str(torch._tensor_str._str(tensor, **kwargs))

    def checked(self, device: Any) -> torch.device:
        """A device that is there; a CUDA device without a number is the current one."""
        found = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
        if found.type != "cuda":
            return found
        index = self.current if found.index is None else found.index
        if index >= self.count:
            raise RuntimeError(f"{found}: there are {self.count} virtual devices")
        return torch.device("cuda", index)

    def choose(self, device: Any) -> None:
        """Make a device the current one."""
        found = self.checked(device)
        if found.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {found}")
        self.current = found.index

    def exchange(self, number: int) -> int:
        """Make a device the current one, unless the number is negative; the one before."""
        before = self.current
        if number >= 0:
            self.choose(number)
        return before

    def _to(self, tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        given = [*args, kwargs.get("device"), kwargs.get("dtype"), kwargs.get("other")]
        device, dtype = None, None
        for item in given:
            if isinstance(item, Tensor):
                device, dtype = place(item), item.dtype
            elif isinstance(item, torch.dtype):
                dtype = item
            elif isinstance(item, str | torch.device) or type(item) is int:
                device = self.checked(item)
        changed = tensor if dtype is None else mark(tensor.to(dtype), place(tensor))
        if kwargs.get("copy") and changed is tensor:
            changed = mark(tensor.clone(), place(tensor))
        return changed if device is None else moved(changed, device)

    def _cuda(self, tensor: Tensor, device: Any = None, *args: Any, **kwargs: Any) -> Tensor:
        return moved(tensor, self.checked("cuda" if device is None else device))


def place(tensor: Tensor) -> torch.device:
    """Where a tensor is."""
    found: torch.device = getattr(tensor, _PLACE, _CPU)
    return found


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor if it is on the device already, else a copy there, which gradients pass."""
    return tensor if place(tensor) == device else mark(tensor.clone(), device)


def mark(value: Any, device: torch.device | None) -> Any:
    """Say of the tensors in a result where they are."""
    for tensor in tensors(value):
        if device is None or device.type == "cpu":
            tensor.__dict__.pop(_PLACE, None)
        else:
            setattr(tensor, _PLACE, device)
    return value


def tensors(value: Any) -> list[Tensor]:
    """The tensors in arguments or a result, also in tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [t for item in value for t in tensors(item)] if isinstance(value, tuple | list) else []


def _common(func: Any, given: Sequence[Tensor]) -> torch.device | None:
    """The device that all tensors are on, None for the processor; numbers may be anywhere."""
    found = [getattr(tensor, _PLACE, None) for tensor in given]
    if not any(found):
        return None
    if func in _MIXING:
        return found[0]
    places = {device for device, tensor in zip(found, given, strict=True) if tensor.ndim > 0}
    if len(places) > 1:
        names = " and ".join(sorted(str(device or _CPU) for device in places))
        name = getattr(func, "__name__", func)
        raise RuntimeError(f"Expected all tensors to be on the same device; {name} got {names}")
    return places.pop() if places else next(filter(None, found))


def _number(tensor: Tensor) -> int:
    device = place(tensor)
    return device.index if device.type == "cuda" else -1


def _set_data(tensor: Tensor, value: Tensor) -> None:
    tensor.data = value
    mark(tensor, place(value))


def _numpy(tensor: Tensor, **kwargs: Any) -> Any:
    if place(tensor).type == "cuda":
        raise TypeError(f"can't convert a tensor on {place(tensor)} to numpy. Use .cpu() first")
    return tensor.numpy(**kwargs)


def _keep_parameters() -> None:
    """A Parameter is where its data is; making one is no function that the mode sees."""
    make: Any = nn.Parameter.__new__

    def made(cls: Any, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        parameter = make(cls, data, *args, **kwargs)
        return parameter if data is None else mark(parameter, place(data))

    nn.Parameter.__new__ = made  # type: ignore[method-assign]


def _replace_cuda(devices: Devices) -> None:
    """What torch.cuda says of devices; waiting for them is not needed."""
    cuda: Any = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: devices.count
    cuda.current_device, cuda.set_device = lambda: devices.current, devices.choose
    # what `with torch.cuda.device(1)` calls
    cuda._exchange_device = cuda._maybe_exchange_device = devices.exchange
    torch.backends.cudnn.is_acceptable = lambda tensor: False
    cuda.get_device_name = lambda device=None: "virtual device of Lockstep"
    for name in ("synchronize", "empty_cache", "manual_seed_all", "manual_seed"):
        setattr(cuda, name, lambda *args, **kwargs: None)
