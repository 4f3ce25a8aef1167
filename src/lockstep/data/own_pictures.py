"""Files of one picture each, as bytes. Which class one belongs to is not known here."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lockstep.data.given_file import optional, refuse
from lockstep.errors import InputError

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".ppm")
MOST_PIXELS = 2**24  # of one picture


def is_picture(file: Path) -> bool:
    """Whether a name ends as that of a picture."""
    return file.suffix.lower() in ENDINGS


def pictures(contents: dict[Path, bytes]) -> NDArray[np.uint8]:
    """Picture files as bytes (N, H, W), of colour (N, H, W, 3); all are of one size and kind."""
    found: list[NDArray[np.uint8]] = []
    for file, content in contents.items():
        found.append(_picture(file, content))
        if found[-1].shape != found[0].shape:
            sizes = f"{_size(found[-1])}, {next(iter(contents)).name} is {_size(found[0])}"
            raise refuse(file, f"is {sizes}", "Give pictures of one size and kind.")
    return np.stack(found)


def _picture(file: Path, content: bytes) -> NDArray[np.uint8]:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise optional("Pillow", "images", file) from error
    try:
        with Image.open(io.BytesIO(content)) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                size = f"{picture.width:,} x {picture.height:,}"
                raise refuse(file, f"is {size}, over the limit of {MOST_PIXELS:,}", "Shrink it.")
            if picture.mode.startswith(("I", "F")):
                problem = f"has more than 8 bits a pixel (mode {picture.mode})"
                raise refuse(file, problem, "Convert it to 8 bits.")
            return np.array(picture.convert("L" if picture.mode in ("1", "L") else "RGB"))
    except UnidentifiedImageError as error:
        raise refuse(file, "is no picture", "Leave it out.") from error
    except InputError:
        raise
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise refuse(file, f"is damaged ({error})", "Leave it out.") from error


def _size(picture: np.ndarray) -> str:
    return f"{picture.shape[1]} x {picture.shape[0]} {'grey' if picture.ndim == 2 else 'colour'}"
