"""Generated data, seeded and said to be generated, so that every task runs without a network.

`images` stands in for Fashion-MNIST, `text` for The Time Machine, `regression` for airfoil: the
same shapes and types, other content. Nothing here is measured or written by a person.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from lockstep.data.drawn_shapes import draw_shapes
from lockstep.data.examples import Examples, origin_generated
from lockstep.data.grammar import write_sentences
from lockstep.data.random import generator
from lockstep.data.text import Text, make_text
from lockstep.spec.checks import whole


def images(
    num_train: int = 10_000, num_test: int = 2_000, seed: int = 0
) -> tuple[Examples, Examples]:
    """Training and test images of ten drawn shapes: x (N, 28, 28) uint8, y (N,) int32.

    `lockstep.data.drawn_shapes.CLASSES` names the classes, which are equally likely.

    >>> train, test = images(num_train=20, num_test=10)
    >>> train.x.shape, train.x.dtype.name, test.y.shape, train.origin.generated
    ((20, 28, 28), 'uint8', (10,), True)
    """
    return _images("train", num_train, seed), _images("test", num_test, seed)


def _images(split: str, count: int, seed: int) -> Examples:
    whole(f"num_{split}", count)
    chance = generator(seed, f"generated images: {split}")
    labels = chance.integers(0, 10, size=count).astype(np.int32)
    pictures = draw_shapes(labels, chance)
    origin = origin_generated("images", seed, pictures.tobytes(), labels.tobytes())
    return Examples(pictures, labels, origin)


def text(num_characters: int = 60_000, seed: int = 0, max_tokens: int | None = None) -> Text:
    """At least `num_characters` of grammatical lower-case sentences, by characters.

    >>> made = text(num_characters=100)
    >>> len(made.tokens) >= 100, len(made.vocabulary), made.origin.edition
    (True, 28, 'generated, seed 0')
    """
    whole("num_characters", num_characters)
    raw = write_sentences(num_characters, generator(seed, "generated text"))
    return make_text(raw, origin_generated("text", seed, raw.encode()), max_tokens)


def regression(
    num_examples: int = 1500,
    num_features: int = 5,
    noise: float = 0.3,
    seed: int = 0,
    dtype: DTypeLike = np.float32,
) -> Examples:
    """Linear data with mild noise: x (N, features) standard normal, y (N, 1) of variance near 1.

    y = (x @ w + noise * e) / sqrt(1 + noise^2) with |w| = 1 and e standard normal, so the best
    linear model is left with a mean squared error of noise^2 / (1 + noise^2).

    >>> made = regression(num_examples=4)
    >>> made.x.shape, made.y.shape, made.origin.generated
    ((4, 5), (4, 1), True)
    """
    whole("num_examples", num_examples)
    whole("num_features", num_features)
    chance = generator(seed, "generated regression")
    weights = chance.standard_normal(num_features)
    weights /= np.linalg.norm(weights)
    x = chance.standard_normal((num_examples, num_features))
    error = chance.standard_normal((num_examples, 1))
    y = ((x * weights).sum(axis=1, keepdims=True) + noise * error) / np.sqrt(1 + noise**2)
    x, y = x.astype(dtype), y.astype(dtype)
    return Examples(x, y, origin_generated("regression", seed, x.tobytes(), y.tobytes()))
