"""Pictures as MNIST keeps them: the IDX format, and batches of bytes as numbers from 0 to 1."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from lockstep.data.examples import example_batch
from lockstep.errors import InputError
from lockstep.ops import Array, Ops, Weights


def parse_idx(content: bytes) -> NDArray[np.uint8]:
    r"""An idx file of bytes as an array of the shape its header states; a view, not a copy.

    The header is two zero bytes, the type (8: unsigned byte), the number of axes, and the length
    of each axis as four big-endian bytes.

    >>> parse_idx(b"\0\0\x08\x01" + b"\0\0\0\x03" + b"\x05\x00\xff").tolist()
    [5, 0, 255]
    """
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise _not_idx(content, "does not begin as an idx file of unsigned bytes")
    num_axes = content[3]
    start = 4 + 4 * num_axes
    if len(content) < start:
        raise _not_idx(content, "ends within its header")
    shape = struct.unpack(f">{num_axes}I", content[4:start])
    values = np.frombuffer(content, dtype=np.uint8, offset=start)
    if values.size != int(np.prod(shape, dtype=np.int64)):
        raise _not_idx(content, f"holds {values.size:,} values, its header says {shape}")
    return values.reshape(shape)


def _not_idx(content: bytes, problem: str) -> InputError:
    return InputError("idx file", content[:8], problem, "Fetch the file anew.")


def image_batch(ops: Ops, data: Weights, rows: Array) -> tuple[Array, Array]:
    """Bytes to [0, 1]: x (B, 28, 28), y (B,)."""
    x, y = example_batch(ops, data, rows)
    return ops.floating(x) / 255, y
