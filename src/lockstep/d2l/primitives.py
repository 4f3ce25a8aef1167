"""The little of a framework that the shared files of this room need. Over it they are written once.

Each framework's package has such a record, PRIMITIVES, in its file of this name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.d2l.batches import Batches, Finish


@dataclass(frozen=True)
class Primitives:
    """`array` makes the framework's array of NumPy's, which keeps its type; `order(n)` gives the
    places 0 to n - 1 in a random order, `normal(shape)` standard normal numbers; `gpu(i)` is a
    device, as `cpu()` is.

    `update(net, X, y, loss, updater)` trains on a batch, and gives the losses and the outputs.
    """

    array: Callable[[NDArray[Any]], Any]
    order: Callable[[int], NDArray[Any]]
    normal: Callable[[tuple[int, ...]], Any]
    cpu: Callable[[], Any]
    gpu: Callable[[int], Any]
    num_gpus: Callable[[], int]
    update: Callable[..., tuple[Any, Any]] | None = None
    integer: Any = np.int64  # of labels and tokens
    channels_last: bool = False  # images are (B, 28, 28, 1)
    reshape: Callable[[Any, Any], Any] = lambda array, shape: array.reshape(shape)
    evaluating: Callable[[Any], AbstractContextManager[Any]] = lambda net: nullcontext()
    device_of: Callable[[Any], Any] = lambda net: None
    to_device: Callable[[Any, Any], Any] = lambda array, device: array
    # another way to make batches than Batches
    batches: (
        Callable[[Sequence[NDArray[Any]], int, bool, Finish | None, int | None], Any] | None
    ) = None

    def make_batches(
        self, arrays: Sequence[NDArray[Any]], batch_size: int, is_train: bool,
        finish: Finish | None = None, most: int | None = None,
    ) -> Any:  # fmt: skip
        """Batches of the rows of arrays, in training in a new order each pass. `finish` changes
        the NumPy arrays of a batch; a pass has at most `most` batches in a quick run."""
        if self.batches is not None:
            return self.batches(arrays, batch_size, is_train, finish, most)

        def made(*parts: NDArray[Any]) -> tuple[Any, ...]:
            return tuple(self.array(part) for part in (finish(*parts) if finish else parts))

        order = self.order if is_train else None
        return Batches(arrays, batch_size, order, finish=made, most=most)
