"""Fashion-MNIST: 60,000 and 10,000 images of 28x28 grey values in ten classes.

Images stay uint8 (0 to 255); scaling to [0, 1] belongs to the model.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from lockstep.data.editions import Progress
from lockstep.data.examples import Examples, origin_of
from lockstep.data.fetch import read
from lockstep.errors import InputError

CLASSES = (
    "t-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def load(progress: Progress | None = None, *, remote: bool = True) -> tuple[Examples, Examples]:
    """Training and test examples: x (N, 28, 28) uint8, y (N,) int32 from 0 to 9.

    `remote=False` stays on this machine and raises MissingError where nothing is found.

    >>> from lockstep.data import find
    >>> find("fashion-mnist") is None or [len(part) for part in load()] == [60_000, 10_000]
    True
    """
    contents = read("fashion-mnist", progress, remote=remote)
    arrays = [parse_idx(content) for content in contents.files]
    origin = origin_of(contents.found)
    train, test = (
        # copied: a view on bytes is read-only, which frameworks warn about
        Examples(images.copy(), labels.astype(np.int32), origin)
        for images, labels in (arrays[:2], arrays[2:])
    )
    return train, test


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
