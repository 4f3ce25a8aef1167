"""The GRU on text: both styles learn the same, and what they write is kept as they learn."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lockstep.experiments import get
from lockstep.experiments.continuations import FILE, PREFIX, final_text, keep_texts, read_texts
from lockstep.experiments.gru import (
    PERPLEXITY,
    STYLES,
    Question,
    runs,
    tables,
    texts_by_epoch,
    tokens_per_second,
)
from lockstep.experiments.runs import Interrupted, Runs, Work
from lockstep.report.curves import curve
from lockstep.report.tables import TextTable
from lockstep.task import assemble
from lockstep.training.events import Event, StepsCompleted
from lockstep.training.run_state import Training

SMALL = {"data.source": "generated", "model.num_hiddens": 32, "framework": "torch"}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    pytest.importorskip("torch")
    work = Work(tmp_path_factory.mktemp("gru"), changes=SMALL)
    return get("gru").run(Question(epochs=20), work)


def test_both_styles_learn_alike(found: Runs) -> None:
    """They differ in where the reset gate acts, which hardly matters in the first epochs. Both know
    more than how often each symbol occurs, which gives the exponential of its entropy."""
    tokens = assemble(found["scratch"].spec).splits["train"]["tokens"]
    shares = np.bincount(tokens) / len(tokens)
    counted = np.exp(-sum(share * np.log(share) for share in shares if share))
    ends = [found[style].metrics[PERPLEXITY] for style in STYLES]
    assert ends[0] == pytest.approx(ends[1], rel=0.1)
    for style in STYLES:
        epochs, values = curve(found[style], PERPLEXITY, "epoch")
        assert list(epochs) == list(range(1, 21))
        assert values[-1] < 0.95 * counted
        assert counted < values[0] < 28.5


def test_tokens_per_second(found: Runs) -> None:
    run = found["scratch"]
    assert tokens_per_second(run) * run.history.seconds == pytest.approx(20 * 8 * 32 * 35)


def test_texts_are_kept_in_the_folder_as_the_run_learns(found: Runs) -> None:
    run = found["concise"]
    assert run.path is not None
    texts = read_texts(run.path)
    assert list(texts) == [8 * epoch for epoch in range(21)]
    assert texts[160] == final_text(run)
    assert texts[0] != texts[160]
    assert all(text.startswith(PREFIX) and len(text) >= 64 for text in texts.values())
    assert list(texts_by_epoch(run)) == [0, 1, *range(2, 21, 2)]
    shown = [part for part in tables(found) if isinstance(part, TextTable)]
    assert shown[2].rows[-1] == ["20", texts[160]]


def test_an_interrupted_run_has_every_text_once(tmp_path: Path, found: Runs) -> None:
    planned = next(runs(Question(epochs=20)))
    assert planned.listener is keep_texts
    work = Work(tmp_path, changes=SMALL)

    def stop(event: Event, run: Training) -> None:
        if isinstance(event, StepsCompleted) and run.step >= 20:
            run.interrupt()

    with pytest.raises(Interrupted):
        work.carry_out([replace(planned, callbacks=(stop,))])
    run = work.carry_out([planned]).all[0]
    assert run.path is not None
    assert found["scratch"].path is not None
    lines = [json.loads(line)["step"] for line in (run.path / FILE).read_text().splitlines()]
    assert len(set(lines)) == len(lines)
    whole = read_texts(found["scratch"].path)
    # beside the usual ones, that of the step at which it was interrupted
    assert {s: t for s, t in read_texts(run.path).items() if s in whole} == whole


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_perplexity_after_500_epochs(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = get("gru").run(Question(), Work(tmp_path, changes={"framework": "torch"}))
    assert found["scratch"].metrics[PERPLEXITY] <= 1.15
    assert found["concise"].metrics[PERPLEXITY] <= 1.1
