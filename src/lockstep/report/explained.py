"""Names that pages use, each explained in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockstep.report import page
from lockstep.report.quantities import metric_name

NAMES = {
    "oracle": "NumPy in float64, whose numbers the others are held against",
    "deviation": "how far a value is from the oracle's at the same step, relative to it",
    "first difference": "the first step beyond tolerance, and the quantity: up to there it walked "
    "the oracle's path",
    "tolerance": "the largest deviation that rounding explains in this precision",
    "last batch's loss": "of the last update's batch alone, before that update",
    "train loss (epoch mean)": "the mean over an epoch's batches, each with the weights it met",
    "train loss (whole set)": "of the weights at that time, over every training example",
    "train perplexity (epoch mean)": "exp of that epoch's mean loss per symbol: among how many "
    "equally likely symbols the model is undecided",
    "train perplexity (whole set)": "exp of the mean loss per symbol over the whole training text",
    "train accuracy (whole set)": "the share of all training examples that are named rightly",
    "test loss": "of the weights at that time, over every test example, none of them trained on",
    "test accuracy": "the share of all test examples that are named rightly",
    "test perplexity": "exp of the mean loss per symbol of the test text",
    "seconds in steps": "the time of the updates alone; compilation and evaluation are apart",
    "ran as": "which implementation carried out the steps, and every fallback",
}


def explained(*names: str, metrics: Iterable[str] = ()) -> str:
    """The names on a page, those of metrics as they are shown, with what each of them means.

    >>> "NumPy in float64" in explained("oracle", "something")
    True
    """
    wanted: Sequence[str] = [*names, *map(metric_name, metrics)]
    return page.facts([(name, NAMES[name]) for name in dict.fromkeys(wanted) if name in NAMES])
