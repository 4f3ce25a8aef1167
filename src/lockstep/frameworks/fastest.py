"""The framework of a run that names none: framework = "fastest".

The table holds what a run costs in each: seconds until its first step (import, data, compilation)
and milliseconds of a step of the recipe with that model. It was measured on two cores with
`lockstep train RECIPE --framework NAME --max-steps N`; on another machine the ratios are similar.
So a short run takes a framework that starts quickly, a long one a framework with quick steps.
Nothing here imports a framework.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from lockstep.errors import InputError
from lockstep.frameworks import environments, registry
from lockstep.spec import Recall, RunSpec, TextFile, TimeMachine

FASTEST = "fastest"

# framework: seconds to the first step, then milliseconds of a step
COLUMNS = ("start", "linear", "softmax", "mlp", "lenet", "rnn", "gru")
LIKE = {"one-gate": "gru"}  # models that are not measured: at most what another costs
COSTS = {
    "numpy": (1, 0.32, 0.7, 3.8, 55, 21, 58),
    "torch": (3.5, 0.013, 1.4, 4.0, 16, 18, 24),
    "jax": (4, 0.002, 0.5, 4.2, 17, 17, 32),
    "tensorflow": (12, 0.013, 1.2, 6.3, 30, 27, 28),
    "paddle": (4, 0.04, 1.4, 5.7, 56, 19, 35),
    "mxnet": (4.5, 2.0, 3.8, 12.6, 57, 35, 57),
    "mindspore": (8, 2.8, 5.0, 13, 82, 26, 95),
}

BYTES = {"table": 50, "images": 800}  # of an example in a file, about


def resolve_fastest(spec: RunSpec) -> RunSpec:
    """The spec with a framework's name in the place of "fastest".

    >>> from lockstep import recipes
    >>> resolve_fastest(recipes.airfoil_linear(framework="jax")).framework
    'jax'
    """
    return replace(spec, framework=fastest(spec)) if spec.framework == FASTEST else spec


def fastest(spec: RunSpec) -> str:
    """The framework, of those usable here, that is predicted to end the run first."""
    if _column(spec) not in COLUMNS:
        problem = f"is not measured for the model {spec.model.kind!r}"
        raise InputError("framework", FASTEST, problem, "Name one, such as torch or numpy.")
    usable = [n for n in environments.usable() if registry.has_style(n, spec.style)]
    # frameworks that are not in the table come last, in the order of the registry
    return min(usable, key=lambda name: seconds(name, spec)) if usable else registry.names()[0]


def seconds(name: str, spec: RunSpec) -> float:
    """What a run would take in a framework by the table; infinite for one that is not in it."""
    if name not in COSTS:
        return math.inf
    costs = dict(zip(COLUMNS, COSTS[name], strict=True))
    return costs["start"] + num_steps(spec) * costs[_column(spec)] / 1000


def _column(spec: RunSpec) -> str:
    return LIKE.get(spec.model.kind, spec.model.kind)


def _in_file(data: Any) -> int:
    """Examples of a person's own file, guessed by its size; 0 where that is not known."""
    limit = getattr(data, "max_examples", 0) or getattr(data, "max_tokens", 0)
    path = Path(data.file)
    size = limit or (path.stat().st_size if path.is_file() else 0)
    if isinstance(data, TextFile):
        return size // data.window
    return size if limit else size // BYTES.get(data.kind, 1)


def num_steps(spec: RunSpec) -> int:
    """How many updates the run has, about: the data is not looked at."""
    data: Any = spec.data
    if hasattr(data, "file"):
        examples = _in_file(data)
    elif isinstance(data, TimeMachine):
        examples = data.max_tokens // data.window
    else:
        examples = data.num_sequences if isinstance(data, Recall) else data.max_examples
    total = spec.epochs * max(1, examples // spec.batch_size)
    return min(total, spec.max_steps) if spec.max_steps else total
