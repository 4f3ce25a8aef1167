"""A person's own pictures as examples: an npz, IDX files, or a folder of pictures by class.

Grey pictures are (N, H, W), colour ones (N, 3, H, W). Bytes stay bytes until a batch is made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.data.class_folders import pictures_by_part
from lockstep.data.data_set import DataSet, Loaded
from lockstep.data.encoding import Encoding
from lockstep.data.examples import NewExamples, example_batch
from lockstep.data.given_file import (
    ZIP,
    decompressed,
    digest_of,
    digest_of_all,
    given_path,
    npz_arrays,
    origin_of,
    read_bytes,
    refuse,
    refuse_binary,
    visible,
)
from lockstep.data.held_back import first, kept_rows
from lockstep.data.idx import image_batch, parse_idx
from lockstep.data.own_pictures import is_picture, pictures
from lockstep.data.source import Progress
from lockstep.errors import InputError, several
from lockstep.spec import ImageFiles

BYTES = (255.0,)  # what bytes are divided by
IDX = re.compile(r"(.*)-images([-.])idx3-ubyte(\.gz)?")  # some unpack MNIST with a dot there
KERAS = {"x_train": "x", "y_train": "y"}  # as the mnist.npz of Keras names them
Pairs = dict[str, tuple[NDArray[np.generic], NDArray[np.generic]]]


@dataclass(frozen=True, eq=False)
class ReadImages:
    """Pictures and labels by split, the digest of their files, names of classes where the files
    have them, and the pictures of a folder that were not read."""

    pairs: Pairs
    digest: str
    classes: tuple[str, ...] = ()
    unread: tuple[Path, ...] = ()


def _load(part: ImageFiles, seed: int, progress: Progress | None) -> Loaded:
    path = given_path(part.file, "an npz, IDX files, or a folder of pictures by class")
    read = read_images(path)
    images = {split: as_images(path, x) for split, (x, _) in read.pairs.items()}
    classes = named_classes(path, images, read)
    number = {name: i for i, name in enumerate(classes)}
    found = {
        split: np.array([number[str(label)] for label in y.tolist()], np.int32)
        for split, (_, y) in read.pairs.items()
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
    stds = BYTES if x.dtype == np.uint8 else ()
    encoding = Encoding(x.shape[1:], len(classes), "cross_entropy", stds=stds, classes=classes)
    batch = image_batch if stds else example_batch
    origin = origin_of(path, read.digest)
    if read.unread:
        left_out = several(len(read.unread), "picture")
        origin = replace(origin, edition=f"{origin.edition}, without {left_out} beside train/")
    return Loaded(splits, origin, encoding=encoding, batch=batch)


def named_classes(
    path: Path, images: dict[str, NDArray[np.generic]], read: ReadImages
) -> tuple[str, ...]:
    """The classes of pictures that can be trained on; others are refused."""
    sizes = {split: x.shape[1:] for split, x in images.items()}
    if sizes.get("test", sizes["train"]) != sizes["train"]:
        problem = f"has test pictures of {sizes['test']}, the others are {sizes['train']}"
        raise refuse(path, problem, "Give pictures of one size.")
    if len({x.dtype == np.uint8 for x in images.values()}) > 1:  # only bytes are divided by 255
        problem = "has bytes (uint8) in one of its parts, other numbers in the other"
        raise refuse(path, problem, "Give x and x_test in one type.")
    return read.classes or _classes(path, [y for _, y in read.pairs.values()])


def read_images(path: Path) -> ReadImages:
    """The pictures of an npz, of IDX files or of a folder, as they stand there."""
    if path.is_dir():
        idx = sorted(p for p in path.iterdir() if IDX.fullmatch(p.name))
        return _from_idx(path, idx) if idx else _from_folder(path)
    if IDX.fullmatch(path.name):
        return _from_idx(path, [path])
    content = read_bytes(path)
    if not content.startswith(ZIP):
        refuse_binary(path, content)
        remedy = "Give an npz with x and y, IDX files, or a folder of pictures by class."
        raise refuse(path, "is no npz", remedy)
    arrays = _npz(path, content, ("x", "y"))
    pairs: Pairs = {"train": _pair(path, arrays, "x", "y")}
    if "x_test" in arrays and "y_test" in arrays:
        pairs["test"] = _pair(path, arrays, "x_test", "y_test")
    return ReadImages(pairs, digest_of(content))


def _npz(path: Path, content: bytes, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    arrays = npz_arrays(path, content)
    if "x" not in arrays:
        arrays = {KERAS.get(name, name): array for name, array in arrays.items()}
    for name in names:
        if name not in arrays:
            there = ", ".join(arrays) or "nothing"
            raise refuse(path, f"has no array {name!r}, but {there}", "np.savez(file, x=x, y=y).")
    return arrays


def _idx(path: Path, content: bytes) -> NDArray[np.uint8]:
    refuse_binary(path, content)
    try:
        return parse_idx(decompressed(path, content)).copy()
    except InputError as error:
        if error.field != "idx file":
            raise
        raise refuse(path, f"is no whole IDX file: {error.problem}", error.remedy) from error
    except ValueError as error:  # NumPy's word for sizes beyond what an array can have
        raise refuse(path, f"is no whole IDX file ({error})", "Fetch the file anew.") from error


def _pair(
    path: Path, arrays: dict[str, np.ndarray], x: str, y: str
) -> tuple[np.ndarray, np.ndarray]:
    if arrays[y].ndim == 2 and arrays[y].shape[1] == 1:
        arrays[y] = arrays[y][:, 0]
    if arrays[y].shape != (len(arrays[x]) if arrays[x].ndim else 0,):
        problem = f"{y} {arrays[y].shape} has not one label for each picture of {x}"
        one_hot = arrays[y].ndim == 2 and len(arrays[y]) == len(arrays[x])
        remedy = "Of one-hot rows give y.argmax(axis=1)." if one_hot else "Give as many of each."
        raise refuse(path, f"{problem} {arrays[x].shape}", remedy)
    values = arrays[y]
    if (
        values.dtype.kind == "f"
        and (values == np.floor(values)).all()
        and np.isfinite(values).all()
    ):
        values = values.astype(np.int64)
    return arrays[x], values


def _from_idx(path: Path, files: list[Path]) -> ReadImages:
    """Names that begin with t10k or test are the test part, as MNIST has them."""
    pairs: Pairs = {}
    contents: dict[str, bytes] = {}
    for file in files:
        other = _labels_of(file)
        contents |= {f.name: read_bytes(f) for f in (file, other)}
        arrays = {name: _idx(f, contents[f.name]) for name, f in (("x", file), ("y", other))}
        split = "test" if len(files) > 1 and file.name.startswith(("t10k", "test")) else "train"
        if split in pairs:
            raise refuse(file, f"is a second {split} part", "Give a folder with one of each.")
        pairs[split] = _pair(file, arrays, "x", "y")
    if "train" not in pairs:
        raise refuse(path, "has no training pictures", "Its files begin with train- and t10k-.")
    return ReadImages(pairs, digest_of_all(contents))


def _labels_of(images: Path) -> Path:
    """The file of labels beside one of images, whichever of the two is gzipped."""
    plain = images.with_name(IDX.sub(r"\1-labels\2idx1-ubyte", images.name))
    packed = plain.with_name(f"{plain.name}.gz")
    wanted, other = (packed, plain) if images.suffix == ".gz" else (plain, packed)
    if not wanted.exists() and not other.exists():
        raise refuse(wanted, "is not there", f"It has the labels of {images.name}.")
    return wanted if wanted.exists() else other


def _from_folder(path: Path) -> ReadImages:
    contents: dict[str, bytes] = {}
    pairs: Pairs = {}
    parts, unread = pictures_by_part(path)
    for part, files in parts.items():
        found = {file: read_bytes(file) for file in files}
        pairs[part] = pictures(found), np.array([file.parent.name for file in files])
        contents |= {str(file.relative_to(path)): content for file, content in found.items()}
    classes = tuple(sorted({str(n) for _, y in pairs.values() for n in y}))
    if len(classes) < 2:
        raise refuse(path, f"has one class only ({classes[0]})", "Give a folder for each class.")
    return ReadImages(pairs, digest_of_all(contents), classes, tuple(unread))


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
        found = [f for f in visible(path) if is_picture(f)]
        if not found:
            raise refuse(path, "has no pictures", "Give a folder with some.")
        names = tuple(str(f.relative_to(path)) for f in found)
        return pictures({f: read_bytes(f) for f in found}), names
    if is_picture(path):
        return pictures({path: read_bytes(path)}), (path.name,)
    content = decompressed(path, read_bytes(path))
    if content.startswith(ZIP):
        return _npz(path, content, ("x",))["x"], ()
    return _idx(path, content), ()


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
    if y.dtype.kind == "f":
        row = int((~np.isfinite(y) | (y != np.floor(y))).argmax())
        problem = f"has a label that is neither whole nor a word: {y[row]:g} of picture {row + 1}"
        raise refuse(path, problem, "Correct it.")
    if y.dtype.kind not in "iuU":
        problem = f"has y of {y.dtype}, but labels are whole numbers or words"
        raise refuse(path, problem, "Give y.astype(int).")
    classes = tuple(str(value) for value in np.unique(y).tolist())
    if len(classes) < 2:
        raise refuse(path, f"has one class only ({', '.join(classes)})", "Give two at least.")
    return classes


DATA_SET = DataSet(
    _load, input_shape=None, num_outputs=0, loss="cross_entropy", features=new_pictures
)
