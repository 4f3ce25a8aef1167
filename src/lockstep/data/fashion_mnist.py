"""Fashion-MNIST: 60,000 and 10,000 images of 28x28 grey values in ten classes.

Images stay uint8 (0 to 255) until a batch is made. The stand-in has ten drawn shapes.
"""

from __future__ import annotations

import numpy as np

from lockstep.checks import whole
from lockstep.data.data_set import DataSet, Loaded
from lockstep.data.drawn_shapes import draw_shapes
from lockstep.data.examples import Examples, origin_generated
from lockstep.data.fetch import read
from lockstep.data.folders import CACHE, NAMED, SYSTEM
from lockstep.data.host import PublicHost
from lockstep.data.idx import image_batch, parse_idx
from lockstep.data.own_images import new_pictures_in_bytes
from lockstep.data.package_index import DebianPackage
from lockstep.data.random import generator
from lockstep.data.source import DataFile, Edition, Progress, Source
from lockstep.spec import FashionMNIST


def _file(name: str, sha256: str) -> DataFile:
    names = (f"fashion-mnist/{name}.gz", f"fashion-mnist/{name}", f"{name}.gz", name)
    return DataFile(names, (Edition("d2l", "sha256", sha256),))


SOURCE = Source(
    "fashion-mnist",
    "Fashion-MNIST",
    (
        _file(
            "train-images-idx3-ubyte",
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        _file(
            "train-labels-idx1-ubyte",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
        _file(
            "t10k-images-idx3-ubyte",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        _file(
            "t10k-labels-idx1-ubyte",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
    (
        NAMED,
        CACHE,
        SYSTEM,
        PublicHost("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"),
        DebianPackage("dataset-fashion-mnist", "usr/share/datasets"),
    ),
    "Xiao, Rasul, Vollgraf: Fashion-MNIST, 2017; Zalando SE, MIT licence",
    30_878_551,
)


def load(progress: Progress | None = None, *, remote: bool = True) -> tuple[Examples, Examples]:
    """Training and test examples: x (N, 28, 28) uint8, y (N,) int32 from 0 to 9.

    `remote=False` stays on this machine and raises MissingError where nothing is found.

    >>> from lockstep.data import find
    >>> find("fashion-mnist") is None or [len(part) for part in load()] == [60_000, 10_000]
    True
    """
    contents = read(SOURCE, progress, remote=remote)
    arrays = [parse_idx(content) for content in contents.files]
    origin = contents.found.origin
    train, test = (
        # copied: a view on bytes is read-only, which frameworks warn about
        Examples(images.copy(), labels.astype(np.int32), origin)
        for images, labels in (arrays[:2], arrays[2:])
    )
    return train, test


def generate(
    num_train: int = 10_000, num_test: int = 2_000, seed: int = 0
) -> tuple[Examples, Examples]:
    """Training and test images of ten drawn shapes: x (N, 28, 28) uint8, y (N,) int32.

    `lockstep.data.drawn_shapes.SHAPES` names the classes, which are equally likely.

    >>> train, test = generate(num_train=20, num_test=10)
    >>> train.x.shape, train.x.dtype.name, test.y.shape, train.origin.generated
    ((20, 28, 28), 'uint8', (10,), True)
    """
    return _images("train", num_train, seed), _images("test", num_test, seed)


def _images(split: str, count: int, seed: int) -> Examples:
    whole(f"num_{split}", count)
    rng = generator(seed, f"generated images: {split}")
    labels = rng.integers(0, 10, size=count).astype(np.int32)
    pictures = draw_shapes(labels, rng)
    origin = origin_generated("images", seed, pictures.tobytes(), labels.tobytes())
    return Examples(pictures, labels, origin)


def _load(part: FashionMNIST, seed: int, progress: Progress | None) -> Loaded:
    train, test = load(progress) if part.source == "real" else generate(seed=seed)
    used = slice(part.max_examples)
    splits = {"train": {"x": train.x[used], "y": train.y[used]}, "test": {"x": test.x, "y": test.y}}
    return Loaded(splits, train.origin)


DATA_SET = DataSet(
    _load,
    input_shape=(28, 28),
    num_outputs=10,
    loss="cross_entropy",
    batch=lambda part: image_batch,
    source=SOURCE,
    features=new_pictures_in_bytes,
)
