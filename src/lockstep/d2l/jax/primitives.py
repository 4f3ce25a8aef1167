"""What the shared files of this room need of JAX."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from lockstep.d2l.jax.tensors import normal
from lockstep.d2l.primitives import Primitives


def _to_device(array: Any, device: Any) -> Any:
    return array if device is None else jax.device_put(array, device)


PRIMITIVES = Primitives(
    array=jnp.asarray,
    order=np.random.permutation,
    normal=lambda shape: normal(size=shape),
    cpu=lambda: jax.devices("cpu")[0],
    gpu=lambda i: jax.devices("gpu")[i],
    num_gpus=lambda: jax.device_count() if jax.default_backend() == "gpu" else 0,
    integer=np.int32,
    channels_last=True,
    to_device=_to_device,
)
