"""What a task needs of a data set, and the data sets there are, by the kind of their spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.data.characters import Vocabulary
from lockstep.data.encoding import Encoding
from lockstep.data.examples import Batch, NewExamples, Origin, example_batch
from lockstep.data.plans import ExamplePlan, WindowPlan
from lockstep.data.source import Progress, Source
from lockstep.errors import InputError, unknown
from lockstep.extensions import Registry
from lockstep.ops import Arrays
from lockstep.spec import parts
from lockstep.spec.data_parts import LOSSES

Plan = ExamplePlan | WindowPlan


@dataclass(frozen=True, eq=False)
class Loaded:
    """NumPy arrays by split and name, where they come from, and the vocabulary of a text.

    Examples are "x" and "y" with a row for each, a text is "tokens". There is a split "train", from
    which the field `validation` of a part takes its rows unless there is a split of that name.
    `encoding` and `batch` are those of data whose shape is known only once it is read.
    """

    splits: Mapping[str, Arrays]
    origin: Origin
    vocabulary: Vocabulary | None = None
    encoding: Encoding | None = None
    batch: Batch | None = None


def example_plan(part: Any, num_examples: int, batch_size: int, seed: int) -> ExamplePlan:
    """The batches of examples, by the fields `order` and `drop_last` if the part has them."""
    order, drop_last = getattr(part, "order", "shuffled"), getattr(part, "drop_last", False)
    return ExamplePlan(num_examples, batch_size, order, drop_last, seed)


@dataclass(frozen=True)
class DataSet:
    """A data set: how it is loaded, its shape, and where it comes from.

    `load(part, seed, progress)` reads it, or generates its stand-in from the seed. `input_shape` is
    that of one example, () for sequences of symbols, whose batches are time first: (T, B).
    `num_outputs` counts classes or targets, or is a function of the part that does. Both, and the
    loss, give way to the `encoding` of what was loaded; data in a file has None, 0 and any loss.
    `batch(part)` gives the function from row numbers to (x, y), `plan(part, rows, batch_size,
    seed)` the batches of an array of so many rows. `source` is what `lockstep data` fetches.
    `features(part, encoding, given)` are new examples as a trained model takes them, read as the
    training part was: from a file where a Path is given, else from arrays (of a text, from itself).
    None where no file has such. `settled(part, seed)` is the encoding by which they are read, of
    data that is the same for every run, so that no run keeps its own.
    """

    load: Callable[[Any, int, Progress | None], Loaded]
    input_shape: tuple[int, ...] | None
    num_outputs: int | Callable[[Any], int]
    loss: str
    batch: Callable[[Any], Batch] = lambda part: example_batch
    plan: Callable[[Any, int, int, int], Plan] = example_plan
    source: Source | None = None
    features: Callable[[Any, Encoding, Any], NewExamples] | None = None
    settled: Callable[[Any, int], Encoding] | None = None

    def outputs(self, part: Any) -> int:
        """How many outputs a model of this data has."""
        return self.num_outputs(part) if callable(self.num_outputs) else self.num_outputs

    def encoding(self, part: Any, loaded: Loaded | None = None) -> Encoding:
        """Shape and loss; data in a file is read for it, unless it is `loaded` already."""
        if self.input_shape is None:
            loaded = loaded or self.load(part, 0, None)
        if loaded is not None and loaded.encoding is not None:
            return loaded.encoding
        return Encoding(self.input_shape or (), self.outputs(part), self.loss)


_DATA_SETS: Registry[DataSet] = Registry("data.kind")


def add(part: type[Any], data_set: DataSet) -> None:
    """Make a data set known by the `kind` of `part`, the record by which specs name it."""
    if data_set.loss not in LOSSES:
        raise unknown("loss", data_set.loss, LOSSES)
    parts.add("data", part)
    _DATA_SETS.add(part.kind, data_set)


def of(part: parts.DataPart) -> DataSet:
    """The data set that a part of a spec names."""
    if part.kind not in _DATA_SETS:
        problem = "is known to specs, but has no data set"
        raise InputError("data.kind", part.kind, problem, "Add it with lockstep.data.add.")
    return _DATA_SETS[part.kind]


def list_sources() -> tuple[Source, ...]:
    """Every data set that can be found or fetched by name.

    >>> [source.name for source in list_sources()]
    ['airfoil', 'fashion-mnist', 'timemachine']
    """
    return tuple(each.source for each in _DATA_SETS.values() if each.source)


def source_named(name: str | Source) -> Source:
    """The source of that name; a Source passes through.

    >>> source_named("timemachine").title
    'The Time Machine, H. G. Wells'
    >>> source_named("timemachin")
    Traceback (most recent call last):
        ...
    lockstep.errors.InputError: data = 'timemachin': is not known. Did you mean 'timemachine'? \
Known: airfoil, fashion-mnist, timemachine.
    """
    if isinstance(name, Source):
        return name
    sources = {source.name: source for source in list_sources()}
    if name not in sources:
        raise unknown("data", name, sources)
    return sources[name]
