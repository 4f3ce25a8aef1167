"""A person's own pictures as examples: an npz, IDX files, or a folder of pictures by class.

Grey pictures are (N, H, W), colour ones (N, 3, H, W). Bytes stay bytes until a batch is made.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.data.data_set import DataSet, Loaded
from lockstep.data.encoding import Encoding
from lockstep.data.examples import NewExamples, example_batch
from lockstep.data.fashion_mnist import image_batch, parse_idx
from lockstep.data.given_file import (
    ZIP,
    decompressed,
    digest_of,
    digest_of_all,
    given_path,
    npz_arrays,
    optional,
    origin_of,
    read_bytes,
    refuse,
)
from lockstep.data.held_back import kept_rows
from lockstep.data.own_table import first
from lockstep.data.source import Progress
from lockstep.errors import InputError
from lockstep.spec import ImageFiles

PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".ppm")
MOST_PIXELS = 2**24  # of one picture
BYTES = (255.0,)  # what bytes are divided by
Pairs = dict[str, tuple[NDArray[np.generic], NDArray[np.generic]]]


def _load(part: ImageFiles, seed: int, progress: Progress | None) -> Loaded:
    path = given_path(part.file, "an npz, IDX files, or a folder of pictures by class")
    pairs, digest, named = read_images(path)
    images = {split: as_images(path, x) for split, (x, _) in pairs.items()}
    classes = named or _classes(path, [y for _, y in pairs.values()])
    number = {name: i for i, name in enumerate(classes)}
    found = {
        split: np.array([number[str(label)] for label in y.tolist()], np.int32)
        for split, (_, y) in pairs.items()
    }
    x, y = images["train"], found["train"]
    train = np.ones(len(x), bool)
    test = (images["test"], found["test"]) if "test" in images else None
    if part.held_out and test is not None:
        problem = "the files have a test part of their own"
        raise InputError("data.held_out", part.held_out, problem, "Give 0.")
    if part.held_out:
        train = kept_rows("data.held_out", part.held_out, len(x))
        test = x[~train], y[~train]
    used = first("data.max_examples", part.max_examples, int(train.sum()))
    x, y = (x, y) if train.all() else (x[train], y[train])
    splits = {"train": {"x": x[:used], "y": y[:used]}}
    if test is not None:
        splits["test"] = {"x": test[0], "y": test[1]}
        if test[0].shape[1:] != x.shape[1:]:
            problem = f"its test pictures are {test[0].shape[1:]}, the others {x.shape[1:]}"
            raise refuse(path, problem, "Give pictures of one size.")
    stds = BYTES if x.dtype == np.uint8 else ()
    encoding = Encoding(x.shape[1:], len(classes), "cross_entropy", stds=stds, classes=classes)
    batch = image_batch if stds else example_batch
    return Loaded(splits, origin_of(path, digest), encoding=encoding, batch=batch)


def read_images(path: Path) -> tuple[Pairs, str, tuple[str, ...]]:
    """Pictures and labels by split, the digest, and names of classes where the files have them."""
    if path.is_dir():
        idx = sorted(p for p in path.iterdir() if "-images-idx3-ubyte" in p.name)
        return _from_idx(path, idx) if idx else _from_folder(path)
    if "-images-idx3-ubyte" in path.name:
        return _from_idx(path, [path])
    content = read_bytes(path)
    if not content.startswith(ZIP):
        remedy = "Give an npz with x and y, IDX files, or a folder of pictures by class."
        raise refuse(path, "is no npz", remedy)
    arrays = _npz(path, content, ("x", "y"))
    pairs: Pairs = {"train": _pair(path, arrays, "x", "y")}
    if "x_test" in arrays and "y_test" in arrays:
        pairs["test"] = _pair(path, arrays, "x_test", "y_test")
    return pairs, digest_of(content), ()


def _npz(path: Path, content: bytes, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    arrays = npz_arrays(path, content)
    for name in names:
        if name not in arrays:
            there = ", ".join(arrays) or "nothing"
            raise refuse(path, f"has no array {name!r}, but {there}", "np.savez(file, x=x, y=y).")
    return arrays


def _idx(path: Path, content: bytes) -> NDArray[np.uint8]:
    try:
        return parse_idx(decompressed(path, content)).copy()
    except InputError as error:
        if error.field != "idx file":
            raise
        raise refuse(path, f"is no whole IDX file: {error.problem}", error.remedy) from error


def _pair(
    path: Path, arrays: dict[str, np.ndarray], x: str, y: str
) -> tuple[np.ndarray, np.ndarray]:
    if arrays[y].shape != (len(arrays[x]) if arrays[x].ndim else 0,):
        problem = f"{y} {arrays[y].shape} has not one label for each picture of {x}"
        raise refuse(path, f"{problem} {arrays[x].shape}", "Give as many of each.")
    return arrays[x], arrays[y]


def _from_idx(path: Path, files: list[Path]) -> tuple[Pairs, str, tuple[str, ...]]:
    """Names that begin with t10k or test are the test part, as MNIST has them."""
    pairs: Pairs = {}
    contents: dict[str, bytes] = {}
    for file in files:
        other = file.with_name(file.name.replace("-images-idx3", "-labels-idx1"))
        if not other.exists():
            raise refuse(other, "is not there", f"It has the labels of {file.name}.")
        contents |= {f.name: read_bytes(f) for f in (file, other)}
        arrays = {name: _idx(f, contents[f.name]) for name, f in (("x", file), ("y", other))}
        split = "test" if len(files) > 1 and file.name.startswith(("t10k", "test")) else "train"
        if split in pairs:
            raise refuse(file, f"is a second {split} part", "Give a folder with one of each.")
        pairs[split] = _pair(file, arrays, "x", "y")
    if "train" not in pairs:
        raise refuse(path, "has no training pictures", "Its files begin with train- and t10k-.")
    return pairs, digest_of_all(contents), ()


def _from_folder(path: Path) -> tuple[Pairs, str, tuple[str, ...]]:
    """path/CLASS/picture.png, or path/train/CLASS/... and path/test/CLASS/..."""
    parts = [s for s in ("train", "test") if (path / s).is_dir()]
    roots = {s: path / s for s in parts} if "train" in parts else {"train": path}
    contents: dict[str, bytes] = {}
    pairs: Pairs = {}
    for split, root in roots.items():
        files = sorted(f for f in root.glob("*/*") if f.suffix.lower() in PICTURES)
        if not files:
            raise refuse(root, "has no pictures in folders by class", "Give CLASS/picture.png.")
        found = {file: read_bytes(file) for file in files}
        pairs[split] = pictures(found), np.array([file.parent.name for file in files])
        contents |= {str(file.relative_to(path)): content for file, content in found.items()}
    classes = tuple(sorted({str(n) for _, y in pairs.values() for n in y}))
    if len(classes) < 2:
        raise refuse(path, f"has one class only ({classes[0]})", "Give a folder for each class.")
    return pairs, digest_of_all(contents), classes


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


def new_pictures(part: Any, encoding: Encoding, given: Any) -> NewExamples:
    """New pictures as a model takes them, (N, H, W) or (N, 3, H, W): of a file or folder where a
    Path is given, else an array. They need no labels; those of a folder are in order of their
    paths. Bytes are given to a model that learned from bytes, as [0, 1]."""
    if isinstance(given, Path):
        path = given_path(str(given), "an npz with x, an IDX file, a picture or a folder of them")
        x, names = _unlabelled(path)
        x = as_images(path, x)
    else:
        path, names = Path("x"), ()
        x = as_images(path, np.asarray(given))
    if x.shape[1:] != encoding.input_shape:
        problem = f"has pictures of shape {x.shape[1:]}, the model takes {encoding.input_shape}"
        raise refuse(path, problem, "Give pictures as those it learned from.")
    learned_bytes = encoding.stds == BYTES
    if x.dtype == np.uint8 and not learned_bytes:
        problem = "has bytes, the model learned from other numbers"
        raise refuse(path, problem, "Give numbers in their range, in an npz.")
    if x.dtype != np.uint8 and learned_bytes and (x.min() < 0 or x.max() > 1):
        problem = f"has numbers from {x.min():g} to {x.max():g}, the model learned from bytes"
        raise refuse(path, problem, "Give bytes (uint8), or numbers from 0 to 1.")
    divisor = 255 if x.dtype == np.uint8 else 1
    return NewExamples(x.astype(np.float64) / divisor, names)


def new_pictures_in_bytes(part: Any, encoding: Encoding, given: Any) -> NewExamples:
    """As `new_pictures`, for a data set that is known to be bytes."""
    return new_pictures(part, replace(encoding, stds=BYTES), given)


def _unlabelled(path: Path) -> tuple[NDArray[np.generic], tuple[str, ...]]:
    """Pictures and, of a folder, their names."""
    if path.is_dir():
        found = sorted(f for f in path.rglob("*") if f.suffix.lower() in PICTURES)
        if not found:
            raise refuse(path, "has no pictures", "Give a folder with some.")
        names = tuple(str(f.relative_to(path)) for f in found)
        return pictures({f: read_bytes(f) for f in found}), names
    if path.suffix.lower() in PICTURES:
        return pictures({path: read_bytes(path)}), (path.name,)
    content = decompressed(path, read_bytes(path))
    if content.startswith(ZIP):
        return _npz(path, content, ("x",))["x"], ()
    return _idx(path, content), ()


def _size(picture: np.ndarray) -> str:
    return f"{picture.shape[1]} x {picture.shape[0]} {'grey' if picture.ndim == 2 else 'colour'}"


def as_images(path: Path, x: NDArray[np.generic]) -> NDArray[np.generic]:
    """(N, H, W), or (N, 3, H, W) of colour; bytes as they are, other numbers in float64.

    >>> as_images(Path("a.npz"), np.zeros((2, 5, 4, 3), np.uint8)).shape
    (2, 3, 5, 4)
    """
    if x.ndim == 4 and x.shape[-1] == 1:
        x = x[..., 0]
    elif x.ndim == 4 and x.shape[1] == 1:
        x = x[:, 0]
    elif x.ndim == 4 and x.shape[1] != 3 and x.shape[-1] == 3:
        x = x.transpose(0, 3, 1, 2)
    fits = x.ndim == 3 or (x.ndim == 4 and x.shape[1] == 3)
    if not fits or x.dtype.kind not in "fiub" or not x.size:
        problem = f"x is {x.dtype} of shape {x.shape}"
        remedy = "Give numbers (N, H, W), (N, H, W, 3) or (N, 3, H, W)."
        raise refuse(path, f"{problem}, which are no pictures", remedy)
    if x.dtype.kind == "f" and not (fine := np.isfinite(x)).all():
        row = int(np.argwhere(~fine)[0][0])
        raise refuse(path, f"picture {row + 1} of x has a NaN or inf", "Correct it.")
    return np.ascontiguousarray(x) if x.dtype == np.uint8 else x.astype(np.float64)


def _classes(path: Path, labels: list[NDArray[np.generic]]) -> tuple[str, ...]:
    """Words in alphabetical order, whole numbers by size, as text."""
    y = np.concatenate([each.ravel() for each in labels])
    if y.dtype.kind not in "iuU":
        problem = f"y is {y.dtype}, but labels are whole numbers or words"
        raise refuse(path, problem, "Give y.astype(int).")
    classes = tuple(str(value) for value in np.unique(y).tolist())
    if len(classes) < 2:
        raise refuse(path, f"has one class only ({', '.join(classes)})", "Give two at least.")
    return classes


DATA_SET = DataSet(
    _load, input_shape=None, num_outputs=0, loss="cross_entropy", features=new_pictures
)
