"""Virtual devices: every place is the processor's, and what `to_tensor` sends to one is copied.

So a device's tensors are its own. Their place still says "cpu": Paddle's places cannot be named.
"""

from __future__ import annotations

from typing import Any

import paddle


def switch_on(count: int) -> bool:
    """From now on `gpu:0` to `gpu:{count - 1}` are virtual; False if there is a GPU."""
    if paddle.device.cuda.device_count() or count < 1:
        return False
    make, set_device = paddle.to_tensor, paddle.set_device

    def to_tensor(data: Any, *args: Any, **kwargs: Any) -> Any:
        return make(data.detach().clone() if paddle.is_tensor(data) else data, *args, **kwargs)

    def cuda_place(number: int = 0) -> Any:
        if number >= count:
            raise ValueError(f"gpu:{number}: there are {count} virtual devices")
        return paddle.CPUPlace()

    def choose(device: str) -> Any:
        name, _, number = str(device).partition(":")
        if name == "gpu":
            cuda_place(int(number or 0))
        return set_device("cpu" if name == "gpu" else device)

    paddle.to_tensor, paddle.set_device = to_tensor, choose
    paddle.device.set_device = choose
    paddle.CUDAPlace = cuda_place
    paddle.device.cuda.device_count = lambda: count
    paddle.device.cuda.synchronize = lambda device=None: None
    return True
