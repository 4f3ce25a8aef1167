"""What the concise.py of every framework shares: calls of layers, and tables of optimizers.

Each has `build(model, ...)`, the framework's own layers for the layers of a model and the function
that calls them, and `optimizer(part, ...)`, the framework's own optimizer of a kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lockstep.errors import InputError
from lockstep.models.fitting import with_outputs
from lockstep.models.layers import Layer, Sequential
from lockstep.ops import Array, Weights

if TYPE_CHECKING:
    from lockstep.spec.parts import OptimizerPart

# (module, x, carry) -> outputs, carry
Call = Callable[[Any, Array, Weights], tuple[Array, Weights]]
# by the class of a layer's description: what makes the framework's own layer
Makers = Mapping[type[Layer], Callable[..., Any]]
Make = Callable[..., Any]  # of an optimizer, from its part and what else the framework needs


def own_call(module: Any, x: Array, carry: Weights) -> tuple[Array, Weights]:
    """Call a person's own module."""
    return with_outputs(module(x)), carry


def sequential_call(model: Sequential) -> Call:
    """The call of a module that takes inputs of the model's shape."""

    def call(module: Any, x: Array, carry: Weights) -> tuple[Array, Weights]:
        if len(x.shape) != 1 + len(model.input_shape):  # an image without its axis of channels
            x = x.reshape((x.shape[0], *model.input_shape))
        return module(x), carry

    return call


def native_maker(makers: Mapping[str, Make], part: OptimizerPart, library: str) -> Make:
    """What constructs a framework's optimizer of a kind; one that it lacks is refused."""
    if part.kind not in makers:
        problem = f"has no concise form in {library}"
        remedy = f"Use --style scratch, or one of {', '.join(makers)}."
        raise InputError("optimizer.kind", part.kind, problem, remedy)
    return makers[part.kind]


def torch_makers(optim: Any) -> dict[str, Make]:
    """`make(part, parameters)` for each kind in torch.optim, or in a library with its signatures.

    The rate is set before each step."""

    def common(o: Any) -> dict[str, Any]:
        return {"lr": 1.0, "weight_decay": o.weight_decay}

    def adam(o: Any) -> dict[str, Any]:
        return {"betas": (o.beta1, o.beta2), "eps": o.eps, **common(o)}

    def momentum(o: Any) -> dict[str, Any]:
        return {"momentum": o.momentum, **common(o)}

    return {
        "sgd": lambda o, own: optim.SGD(own, **common(o)),
        "momentum": lambda o, own: optim.SGD(own, **momentum(o)),
        # without momentum there is nothing to look ahead along, and it is refused
        "nesterov": lambda o, own: optim.SGD(own, nesterov=o.momentum > 0, **momentum(o)),
        "adagrad": lambda o, own: optim.Adagrad(own, eps=o.eps, **common(o)),
        "rmsprop": lambda o, own: optim.RMSprop(own, alpha=o.decay, eps=o.eps, **common(o)),
        "adadelta": lambda o, own: optim.Adadelta(own, rho=o.decay, eps=o.eps, **common(o)),
        "adam": lambda o, own: optim.Adam(own, **adam(o)),
        "adamw": lambda o, own: optim.AdamW(own, **adam(o)),
    }
