"""How does a GRU learn to write, and how fast, from scratch and with the framework's own layers?

Trains a GRU on The Time Machine by characters, once with the model written out (scratch) and once
with the layers and the optimizer of the framework (concise). Compares the perplexity after every
epoch and the tokens per second, and lets both continue "time traveller" as they learn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lockstep import recipes
from lockstep.experiments import option
from lockstep.experiments.continuations import keep_texts, read_texts
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import Chart, Guide
from lockstep.report.curves import LoggedRun, panel
from lockstep.report.quantities import duration, number, rate
from lockstep.report.tables import TextTable

PERPLEXITY = "train_perplexity"
STYLES = ("scratch", "concise")
NUM_TEXTS = 20  # of a run, besides the first and the last
STEPS_PER_EPOCH = 8  # of 10,000 characters in batches of 32 windows of 35


@dataclass(frozen=True)
class Question:
    epochs: int = option(500, "of both runs; in the last twentieth the rate is a tenth")


def runs(asked: Question) -> Iterator[Planned]:
    for style in STYLES:
        spec = recipes.timemachine_gru(style=style, epochs=asked.epochs)
        every = max(1, asked.epochs // NUM_TEXTS) * STEPS_PER_EPOCH
        yield Planned(style, replace(spec, checkpoint_steps=every), listener=keep_texts)


def tokens_per_second(run: LoggedRun) -> float:
    """Symbols that a run learned from in a second of its steps."""
    tokens = len(run.history) * run.spec.batch_size * run.spec.data.window  # type: ignore[attr-defined]
    return float(tokens / run.history.seconds)


def texts_by_epoch(run: LoggedRun) -> dict[float, str]:
    """What a run wrote as it learned: at its start, after a twentieth, then after every tenth."""
    assert run.path is not None
    texts = list(read_texts(run.path).items())
    chosen = sorted({1, *range(0, len(texts), 2), len(texts) - 1})
    per_epoch = max(1, run.history.steps_per_epoch)
    return {texts[i][0] / per_epoch: texts[i][1] for i in chosen if 0 <= i < len(texts)}


def tables(found: Runs) -> Iterator[TextTable | str]:
    columns = ("run", "seed", "perplexity", "tokens/s", "time in steps", "ran as")
    rows = [
        [
            run.label,
            str(run.spec.seed),
            number(run.metrics[PERPLEXITY]),
            rate(tokens_per_second(run)),
            duration(run.history.seconds),
            ", ".join(run.history.notes),
        ]
        for run in found
    ]
    yield TextTable(columns, rows, left=("run", "ran as"))
    for label in found.labels:
        written = texts_by_epoch(found[label])
        lines = [[f"{epoch:.4g}", text] for epoch, text in written.items()]
        yield TextTable(("epoch", "text"), lines, left=("text",), title=f"{label}: what it writes")


def chart(found: Runs) -> Chart:
    """Perplexity against epochs and against time."""
    perfect = (Guide(1.0),)
    drawn = [
        panel(
            found.all, PERPLEXITY, x, title=f"Perplexity against {name}", y_log=True, guides=perfect
        )
        for x, name in (("epoch", "epochs"), ("seconds", "time"))
    ]
    return found.chart("A GRU learns The Time Machine", *drawn)


LOOK_AT = """
Against epochs the two curves lie on each other for most of the way: the framework's layer is the
same model but for one detail (its reset gate acts after the product). Against time they part by
what a step costs; the table has the tokens per second of each.

The perplexity says among how many equally likely symbols the model still hesitates. It starts
below 28, the number of symbols, falls to about 8 in the first 150 epochs, then faster and faster,
and ends near 1. In the text that is the way from one letter repeated, over "the the the", to whole
phrases of the book.

A perplexity near 1 means that the model knows these 10,000 characters by heart, not that it would
do as well on another page. Towards the end the loss jumps now and then at the rate 1; in the last
twentieth the rate is a tenth, and the jumps are gone.
"""

EXPERIMENT = of_runs(
    "gru",
    __doc__,
    runs,
    options=Question,
    tables=tables,
    chart=chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment gru --framework torch,jax",
        "lockstep experiment gru --data.sampling random",
        "lockstep experiment gru --epochs 100 --model.num-hiddens 512",
    ),
    quick={"epochs": 40, "model.num_hiddens": 64},
    seconds=(230, 12),
    framework="torch",
)
