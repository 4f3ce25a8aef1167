"""Settings of a GRU, one at a time: more units know more, smaller rates learn more slowly."""

from __future__ import annotations

import pytest

from lockstep.experiments import get
from lockstep.experiments.continuations import final_text
from lockstep.experiments.gru_settings import (
    CHAPTER,
    GROUPS,
    PERPLEXITY,
    Question,
    chart,
    of_group,
    tables,
)
from lockstep.experiments.runs import Runs, Work
from lockstep.report.tables import TextTable


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    pytest.importorskip("torch")
    small = {"data.source": "generated", "data.max_tokens": 1000, "batch_size": 8}
    changes = {"framework": "torch", **small}
    work = Work(tmp_path_factory.mktemp("settings"), changes=changes)
    return get("gru-settings").run(Question(epochs=6), work)


def test_one_setting_differs_at_a_time(found: Runs) -> None:
    chapter = found[CHAPTER].spec
    assert (chapter.model.num_hiddens, chapter.data.window) == (256, 35)  # type: ignore[attr-defined]
    assert chapter.schedule(0) == 1.0  # type: ignore[operator]
    for group in GROUPS:
        assert of_group(found, group)[0] is found[CHAPTER]
    units = [r.spec.model.num_hiddens for r in of_group(found, "hidden units")]  # type: ignore[attr-defined]
    assert units == [256, 64, 128, 512]
    # a shorter window makes more updates of the same text
    updates = {run.label: len(run.history) for run in of_group(found, "window")}
    assert updates["window 10"] > 3 * updates[CHAPTER] > 3 * updates["window 70"]


def test_a_smaller_rate_learns_more_slowly(found: Runs) -> None:
    ends = {run.label: run.metrics[PERPLEXITY] for run in of_group(found, "learning rate")}
    assert ends["rate 3"] < ends[CHAPTER] < ends["rate 0.3"] < 28.5


def test_a_larger_model_takes_longer(found: Runs) -> None:
    times = {run.label: run.history.seconds for run in of_group(found, "hidden units")}
    assert times["64 units"] < times[CHAPTER] < times["512 units"]


def test_the_tables_have_what_each_run_writes(found: Runs) -> None:
    for group, part in zip(GROUPS, tables(found), strict=True):
        assert isinstance(part, TextTable)
        for run, row in zip(of_group(found, group), part.rows, strict=True):
            assert row[0] == run.label
            assert row[-1] == final_text(run)
    assert [panel.title.lower() for panel in chart(found).panels] == list(GROUPS)
