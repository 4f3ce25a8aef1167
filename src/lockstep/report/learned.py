"""What a run learned, for its page: the text that it continues, or predictions of test examples.

Computed by NumPy from the run's last checkpoint. Nothing is downloaded for it: where the data is
not on this machine, or the model is too large to be quick, nothing is shown.
"""

from __future__ import annotations

from html import escape

import numpy as np

from lockstep.data import data_set
from lockstep.data.fetch import find as find_data
from lockstep.errors import LockstepError
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.ops import Arrays
from lockstep.report import page
from lockstep.report.quantities import number
from lockstep.spec import OwnData
from lockstep.task import Task, assemble
from lockstep.training.directory import RunDirectory
from lockstep.training.generate import generate, usual_prefix
from lockstep.training.history import History
from lockstep.training.weights import trained

MOST_NUMBERS = 5_000_000  # in the weights: more would take seconds
EXAMPLES = 10
LINES = 5  # of generated.txt
SYMBOLS = 60


def learned(directory: RunDirectory, history: History) -> str:
    """The section's content; "" where there is nothing to show."""
    kept = directory.path / "generated.txt"
    if kept.is_file():
        lines = kept.read_text(errors="replace").splitlines()[-LINES:]
        return _texts(lines, "Continued with `lockstep generate`:")
    try:
        return _computed(directory, history)
    except (LockstepError, OSError, ValueError):  # a page is worth having without it
        return ""


def _computed(directory: RunDirectory, history: History) -> str:
    spec = directory.spec
    if isinstance(spec.data, OwnData) or not len(history) or directory.status == "diverged":
        return ""
    source = data_set.of(spec.data).source
    generated = history.facts.get("place") == "generated"
    if source is not None and not generated and find_data(source) is None:
        return ""
    found = trained(directory.path)
    if sum(value.size for value in found.weights.values()) > MOST_NUMBERS:
        return ""
    task = assemble(spec)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in found.notes)
    if task.vocabulary is not None:
        prefix = usual_prefix(task.vocabulary)
        text = generate(task, found.weights, prefix, SYMBOLS)
        if text.strip() == prefix:
            return f"<p>It continues “{escape(prefix)}” by spaces only, so far.</p>{notes}"
        return _texts([text], f"“{prefix}”, continued by the most likely symbols:") + notes
    return predictions(task, found.weights) + notes


def _texts(lines: list[str], intro: str) -> str:
    text = escape("\n".join(lines))
    return f"<p>{escape(intro)}</p>\n<pre class='text'>{text}</pre>" if lines else ""


def predictions(task: Task, weights: Arrays, count: int = EXAMPLES) -> str:
    """A table: what the first examples of the test split are (of the training split where there is
    no other), and what the model takes them for."""
    split = "test" if "test" in task.splits else "train"
    arrays = task.splits[split]
    rows = np.arange(min(count, len(next(iter(arrays.values())))))
    ops = NumpyOps("float64")
    x, y = task.batch(ops, {name: np.asarray(value) for name, value in arrays.items()}, rows)
    carry = {n: ops.zeros(shape) for n, shape in task.model.carry_shapes(len(rows)).items()}
    w = {name: ops.asarray(value) for name, value in weights.items()}
    outputs = np.asarray(task.model.apply(ops, w, x, carry)[0])
    targets = np.asarray(y)
    cells: list[list[page.Cell]] = []
    for row in rows.tolist():
        if task.classifies:
            truth, guess = int(targets[row]), int(np.argmax(outputs[row]))
            mark = ("right", "good") if truth == guess else ("wrong", "bad")
            cells.append([str(row), str(truth), str(guess), mark])
        else:
            truth_, guess_ = float(targets[row].ravel()[0]), float(outputs[row].ravel()[0])
            cells.append([str(row), number(truth_), number(guess_), number(guess_ - truth_)])
    last = "" if task.classifies else "difference"
    name = "class" if task.classifies else "value"
    words = f"The first {len(rows)} examples of the {split} set, by the weights at the end."
    head = ["example", f"its {name}", "predicted", last]
    return f"<p>{escape(words)}</p>\n{page.table(head, cells)}"
