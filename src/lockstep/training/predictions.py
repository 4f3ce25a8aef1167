"""What a model says of new examples: numbers in the target's own units, or the probability of each
class; as columns, in a file or as text. Nothing here computes a model."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.errors import InputError
from lockstep.files import write_whole
from lockstep.training import columns

FORMATS = (".csv", ".npz", ".parquet")
BLOCK = 1000  # symbols of a text whose probabilities are computed together


@dataclass(frozen=True, eq=False, repr=False)
class Predictions:
    """Of N examples, in their order.

    `outputs` (N, ...) are numbers in the target's own units, or with `classes` the scores
    (N, ..., C) of each. `names` are those of the examples, where they have some. `symbols` are
    those of a text: row i is what the model says after symbol i.
    """

    outputs: NDArray[np.float64]
    classes: tuple[str, ...] = ()
    target: str = ""
    names: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.outputs)

    def __repr__(self) -> str:
        of = f" of {self.target}" if self.target else ""
        return f"<Predictions{of}: {len(self)} examples, in .values and .to_csv()>"

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Of each class (N, ..., C): softmax of the scores."""
        if not self.classes:
            raise InputError("predictions", self.target, "are numbers", "They are in `values`.")
        return _softmax(self.outputs)

    @property
    def values(self) -> NDArray[Any]:
        """The numbers, (N,) of one target; or the name of the likeliest class of each example."""
        if self.classes:
            named: NDArray[Any] = np.array(self.classes)[self.outputs.argmax(axis=-1)]
            return named
        return self.outputs[:, 0] if self.outputs.shape[1:] == (1,) else self.outputs

    @property
    def perplexity(self) -> float | None:
        """Of a text: exp of the mean of -log of the probability of the symbol that came; None where
        there is none."""
        given = self._given
        return float(np.exp(-np.log(given).mean())) if len(given) else None

    def columns(self) -> dict[str, Any]:
        """By name, each with a row for each example."""
        if self.symbols:
            nothing = np.full(1, np.nan)
            return {
                "symbol": list(self.symbols),
                "probability": np.concatenate([nothing, self._given]),
                "next": self.values.tolist(),
            }
        found: dict[str, Any] = {"file": list(self.names)} if self.names else {}
        if self.outputs.ndim > 2:
            shape = f"of shape {self.outputs.shape[1:]} for each example"
            raise InputError("predictions", shape, "make no table", "Write them to an .npz.")
        if self.classes:
            found["prediction"] = self.values.tolist()
            shares = zip(self.classes, self.probabilities.T, strict=True)
            return found | {f"probability {name}": share for name, share in shares}
        if self.outputs.shape[1:] == (1,):
            return found | {"prediction": self.outputs[:, 0]}
        return found | {f"prediction {i}": v for i, v in enumerate(self.outputs.T, 1)}

    @cached_property
    def _given(self) -> NDArray[np.float64]:
        """The probability of each symbol of a text but the first, given those before it."""
        index = {symbol: at for at, symbol in enumerate(self.classes)}
        came = np.array([index.get(symbol, 0) for symbol in self.symbols[1:]], np.int64)
        found = np.empty(len(came))
        for start in range(0, len(came), BLOCK):  # of all at once: as much memory again
            part = came[start : start + BLOCK]
            likely = _softmax(self.outputs[start : start + len(part)])
            found[start : start + len(part)] = likely[np.arange(len(part)), part]
        return found

    def about(self) -> dict[str, Any]:
        """What they are, as plain values."""
        return {
            "count": len(self),
            "target": self.target,
            "classes": list(self.classes),
            "perplexity": self.perplexity if self.symbols else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a program to read."""
        return {**self.about(), "predictions": columns.to_lists(self.columns())}

    def to_csv(self) -> str:
        """A line of names, then a line for each example; numbers in full."""
        return columns.csv_text(self.columns())

    def write(self, path: str | Path) -> Path:
        """Write them as CSV, npz or Parquet, by the name's ending."""
        path = Path(path)
        check_format(path)
        ending = path.suffix.lower()
        if ending == ".npz":
            return write_whole(path, self._npz())
        if ending == ".csv":
            return columns.to_csv(self.columns(), path)
        return columns.to_parquet(self.columns(), path, {})

    def _npz(self) -> bytes:
        arrays: dict[str, Any] = {"prediction": self.values}
        if self.classes:
            arrays |= {"probabilities": self.probabilities, "classes": np.array(self.classes)}
        if self.names:
            arrays["file"] = np.array(self.names)
        if self.symbols:
            arrays |= {name: np.array(column) for name, column in self.columns().items()}
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)
        return file.getvalue()


def check_format(path: Path) -> None:
    """Raise unless a file of that name can be written here; before anything is computed."""
    if path.suffix.lower() not in FORMATS:
        raise InputError("out", str(path), "is no format", f"End it in {', '.join(FORMATS)}.")
    if path.suffix.lower() == ".parquet":
        columns.import_pyarrow()


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    found = scores - scores.max(axis=-1, keepdims=True)
    np.exp(found, out=found)
    found /= found.sum(axis=-1, keepdims=True)
    return found


def summary(found: Predictions) -> Mapping[str, Any]:
    """What they come to, in a few numbers."""
    if found.symbols:
        perplexity = found.perplexity
        known = {} if perplexity is None else {"perplexity": perplexity}
        return {"symbols": len(found), **known}
    if found.classes and found.outputs.ndim == 2:
        chosen = found.outputs.argmax(axis=-1)
        return {name: int((chosen == i).sum()) for i, name in enumerate(found.classes)}
    values = found.outputs
    return {"least": values.min(), "mean": values.mean(), "greatest": values.max()}
