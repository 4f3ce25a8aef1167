"""Virtual devices: `npx.gpu(i)` is the processor's context number i, which has its own arrays.

MXNet knows several contexts of the processor by itself, so nothing else is replaced.
"""

from __future__ import annotations

from typing import Any

import mxnet as mx
from mxnet import npx


def switch_on(count: int) -> bool:
    """From now on there are `count` virtual devices; False if there is a GPU."""
    if mx.context.num_gpus() or count < 1:
        return False

    def gpu(device_id: int = 0) -> Any:
        if device_id >= count:
            raise mx.base.MXNetError(f"gpu({device_id}): there are {count} virtual devices")
        return mx.cpu(device_id)

    for module in (mx, npx, mx.context):
        module.gpu, module.num_gpus = gpu, lambda: count
    return True
