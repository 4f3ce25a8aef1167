"""Generated images and regression: deterministic, said to be generated, and learnable."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.data import airfoil, fashion_mnist, timemachine
from lockstep.errors import InputError


def test_images_are_deterministic_and_the_splits_differ():
    train, test = fashion_mnist.generate(300, 200)
    again, _ = fashion_mnist.generate(300, 200)
    other, _ = fashion_mnist.generate(300, 200, seed=1)
    np.testing.assert_array_equal(train.x, again.x)
    assert train.origin == again.origin
    assert train.origin.generated
    assert train.origin.digest != other.origin.digest
    assert train.origin.digest != test.origin.digest
    assert (train.x.dtype, train.y.dtype) == (np.uint8, np.int32)
    assert set(test.y.tolist()) == set(range(10))
    assert not any((image == train.x).all(axis=(1, 2)).any() for image in test.x[:50])


def test_images_can_be_told_apart_but_not_by_their_mean_picture():
    """Centred and compared with the nearest training image, most are right; the nearest class
    mean is much worse: the classes are there, and not trivial."""
    train, test = fashion_mnist.generate(4000, 300)

    def centred(images: np.ndarray) -> np.ndarray:
        bright = np.where(images > 110, images, 0).astype(np.float64)
        rows = (bright.sum(2) @ np.arange(28)) / bright.sum((1, 2))
        columns = (bright.sum(1) @ np.arange(28)) / bright.sum((1, 2))
        shifts = zip(np.rint(13.5 - rows), np.rint(13.5 - columns), bright, strict=True)
        moved = np.stack([np.roll(image, (int(r), int(c)), (0, 1)) for r, c, image in shifts])
        flat = moved.reshape(len(images), -1)
        return flat / np.linalg.norm(flat, axis=1, keepdims=True)

    nearest = train.y[(centred(test.x) @ centred(train.x).T).argmax(1)]
    near = (nearest == test.y).mean()
    means = np.stack([train.x[train.y == label].mean(0).ravel() for label in range(10)])
    away = ((test.x.reshape(300, 1, -1) - means) ** 2).sum(2)
    mean = (away.argmin(1) == test.y).mean()
    assert near > 0.85  # chance is 0.1
    assert 0.2 < mean < 0.8


def test_regression_has_the_stated_noise():
    made = airfoil.generate(20_000, dtype=np.float64)
    assert (made.x.shape, made.y.shape) == ((20_000, 5), (20_000, 1))
    _, residual, *_ = np.linalg.lstsq(made.x, made.y, rcond=None)
    # the estimate's standard error is sqrt(2 / N) = 1 %; 5 % is five of them
    np.testing.assert_allclose(residual / 20_000, 0.09 / 1.09, rtol=0.05)
    np.testing.assert_allclose(made.y.var(), 1, rtol=0.05)
    assert airfoil.generate(10).x.dtype == np.float32


@pytest.mark.parametrize("count", [0, -5])
def test_counts_must_be_positive(count):
    with pytest.raises(InputError, match="num_train"):
        fashion_mnist.generate(num_train=count)
    with pytest.raises(InputError, match="num_characters"):
        timemachine.generate(num_characters=count)
    with pytest.raises(InputError, match="num_examples"):
        airfoil.generate(num_examples=count)
