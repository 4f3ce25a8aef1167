"""Experiments: several runs, and the figure that compares them. Nothing is drawn or printed here.

An experiment is a package or module of this room with a `run`, a line in EXPERIMENTS, and its
options in `cli/experiments/`.
"""

from __future__ import annotations

EXPERIMENTS: dict[str, str] = {
    "scaled-batch": "k devices, k times the batch, the learning rate by rules: accuracy, time",
    "ways-to-split": "one batch over devices by data, within the layers and by layers: time, bytes",
}


def module_name(experiment: str) -> str:
    """Where an experiment is, in this room and in the command line's.

    >>> module_name("ways-to-split")
    'ways_to_split'
    """
    return experiment.replace("-", "_")
