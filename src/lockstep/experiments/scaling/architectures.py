"""Models whose time on one GPU others have published, layer by layer: Inception V3, ResNet-101 and
VGG-16. Layers are counted here from the architectures; see `experiments/horovod.py` for the times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from lockstep.experiments.scaling.overlap import Piece
from lockstep.experiments.scaling.step_time import Profile

BATCH_SIZE = 64
# images per second of one Pascal GPU, from Horovod's README of 2017
ONE_GPU = {"inception-v3": 134.4, "resnet-101": 119.4, "vgg-16": 130.9}


@dataclass(frozen=True)
class Layer:
    """A layer with `length` weights and `products` multiplications for each example."""

    name: str
    length: int
    products: int


@cache
def profile_of(model: str, images_per_second: float) -> Profile:
    """A published model on one GPU. The backward pass does two products for each of the forward
    pass, so it takes two thirds of the step; layers share it as they share the products.

    >>> profile_of("vgg-16", 130.9).length, round(profile_of("vgg-16", 130.9).seconds[64], 3)
    (138357544, 0.489)
    """
    layers = LAYERS[model]()
    return Profile(model, BATCH_SIZE, {BATCH_SIZE: BATCH_SIZE / images_per_second}, _pieces(layers))


def _pieces(layers: Sequence[Layer]) -> tuple[Piece, ...]:
    """The gradient of every layer, last layer first, complete when its products are done."""
    total, done, pieces = sum(layer.products for layer in layers), 0, []
    for layer in reversed(layers):
        done += layer.products
        pieces.append(Piece(layer.name, layer.length, done / total))
    return tuple(pieces)


# --- in forward order -----------------------------------------------------------------------------


def _conv(name: str, kernel: tuple[int, int], inputs: int, outputs: int, side: int) -> Layer:
    """Without a bias, and with the two vectors of its batch normalization; side x side outputs."""
    weights = kernel[0] * kernel[1] * inputs * outputs
    return Layer(name, weights + 2 * outputs, weights * side**2)


def _linear(name: str, inputs: int, outputs: int) -> Layer:
    return Layer(name, (inputs + 1) * outputs, inputs * outputs)


def vgg_16() -> list[Layer]:
    """Simonyan and Zisserman's configuration D, with biases: 138,357,544 weights."""
    layers, inputs = [], 3
    for stage, (outputs, count) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]):
        for index in range(count):
            weights = 9 * inputs * outputs
            products = weights * (224 >> stage) ** 2
            layers.append(Layer(f"conv{stage + 1}_{index + 1}", weights + outputs, products))
            inputs = outputs
    sizes = (512 * 7 * 7, 4096, 4096, 1000)
    return layers + [_linear(f"fc{i + 6}", sizes[i], sizes[i + 1]) for i in range(3)]


def resnet_101() -> list[Layer]:
    """He and others' bottlenecks, 3, 4, 23 and 3 of them: 44,549,160 weights."""
    layers, inputs = [_conv("conv1", (7, 7), 3, 64, 112)], 64
    for stage, count in enumerate((3, 4, 23, 3)):
        width, side = 64 << stage, 56 >> stage
        for index in range(count):
            name = f"stage{stage + 1}_{index + 1}"
            if index == 0:
                layers.append(_conv(f"{name}_shortcut", (1, 1), inputs, 4 * width, side))
            layers.append(_conv(f"{name}_a", (1, 1), inputs, width, side))
            layers.append(_conv(f"{name}_b", (3, 3), width, width, side))
            layers.append(_conv(f"{name}_c", (1, 1), width, 4 * width, side))
            inputs = 4 * width
    return [*layers, _linear("fc", 2048, 1000)]


Spec = tuple[int, int, int, int, int]  # kernel's height and width, inputs, outputs, side


def inception_v3() -> list[Layer]:
    """Szegedy and others' third, without the auxiliary head: 23,834,568 weights."""
    layers = [_conv(f"conv{i}", (h, w), *rest) for i, (h, w, *rest) in enumerate(_inception())]
    return [*layers, _linear("fc", 2048, 1000)]


def _inception() -> Iterator[Spec]:
    yield from [(3, 3, 3, 32, 149), (3, 3, 32, 32, 147), (3, 3, 32, 64, 147)]
    yield from [(1, 1, 64, 80, 73), (3, 3, 80, 192, 71)]
    for inputs, pooled in ((192, 32), (256, 64), (288, 64)):
        yield from [(1, 1, inputs, 64, 35), (1, 1, inputs, 48, 35), (5, 5, 48, 64, 35)]
        yield from [(1, 1, inputs, 64, 35), (3, 3, 64, 96, 35), (3, 3, 96, 96, 35)]
        yield (1, 1, inputs, pooled, 35)
    yield from [(3, 3, 288, 384, 17), (1, 1, 288, 64, 35), (3, 3, 64, 96, 35), (3, 3, 96, 96, 17)]
    for width in (128, 160, 160, 192):
        yield from [(1, 1, 768, 192, 17), (1, 1, 768, width, 17), (1, 7, width, width, 17)]
        yield from [(7, 1, width, 192, 17), (1, 1, 768, width, 17), (7, 1, width, width, 17)]
        yield from [(1, 7, width, width, 17), (7, 1, width, width, 17), (1, 7, width, 192, 17)]
        yield (1, 1, 768, 192, 17)
    yield from [(1, 1, 768, 192, 17), (3, 3, 192, 320, 8), (1, 1, 768, 192, 17)]
    yield from [(1, 7, 192, 192, 17), (7, 1, 192, 192, 17), (3, 3, 192, 192, 8)]
    for inputs in (1280, 2048):
        yield from [(1, 1, inputs, 320, 8), (1, 1, inputs, 384, 8)]
        yield from [(1, 3, 384, 384, 8), (3, 1, 384, 384, 8)]
        yield from [(1, 1, inputs, 448, 8), (3, 3, 448, 384, 8)]
        yield from [(1, 3, 384, 384, 8), (3, 1, 384, 384, 8), (1, 1, inputs, 192, 8)]


LAYERS = {"inception-v3": inception_v3, "resnet-101": resnet_101, "vgg-16": vgg_16}
