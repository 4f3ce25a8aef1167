"""How objects show themselves: text that says what matters, and HTML with pictures."""

from __future__ import annotations

import html
import sys
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.comparison import Comparison
from lockstep.report.charts import framework_colour
from lockstep.report.notebook_progress import Curve
from lockstep.report.picture import ChartPicture
from lockstep.training import History
from lockstep.training.events import EpochCompleted

PICTURE = 'role="img"'


def test_a_history(history: History) -> None:
    text = repr(history)
    assert "40" in text.splitlines()[0]
    assert "2.000 at the first, 0.05000 at the last" in text
    assert "0.1 to 0.0125" in text
    assert "90.00 %" in text.splitlines()[-1]
    shown = history._repr_html_()
    assert shown.count(PICTURE) == 4  # loss, train loss, accuracy, learning rate
    assert "step 39: " in shown
    assert "90.00 %" in shown


def test_a_history_without_a_step() -> None:
    assert repr(History()).split() == ["steps", "0", "epochs", "0"]
    assert PICTURE not in History()._repr_html_()


def test_epochs(history: History) -> None:
    """A table of all of them, not what each is made of."""
    head, _, *rows = repr(history.epochs).splitlines()
    assert head.split()[:2] == ["epoch", "step"]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4"]
    shown = history.epochs._repr_html_()
    assert shown.count("<tr>") == 5
    assert "90.00 %" in shown
    assert repr(history.evaluations) == "none"
    assert "none" in history.evaluations._repr_html_()


def test_of_many_epochs_some_are_shown() -> None:
    found = History(EpochCompleted(i, 10 * i + 10, {"train_loss": 1.0}, 1.0) for i in range(60))
    assert repr(found.epochs).splitlines()[-1] == "12 of 60; to_pandas() has all"
    assert "12 of 60; to_pandas() has all" in found.epochs._repr_html_()


def test_own_metrics_have_a_picture(history: History) -> None:
    history(EpochCompleted(4, 40, {"test_my_error": 0.5}, 3.0))
    assert "my error of every epoch" in history._repr_html_()


def test_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    result = ls.train(ls.recipes.airfoil_linear(max_steps=30))
    result.show()
    assert repr(result) == capsys.readouterr().out.rstrip("\n")
    assert "airfoil-linear in numpy" in repr(result)
    shown = result._repr_html_()
    assert shown.count(PICTURE) == 3
    assert "completed" in shown
    assert "<script" not in shown


def test_a_run_has_the_same_colour_wherever_it_is_drawn() -> None:
    result = ls.train(ls.recipes.airfoil_linear(max_steps=30), progress=False)
    colour = framework_colour("numpy")
    assert f'stroke="{colour}"' in result._repr_html_()
    assert result.plot().figure.axes[0].lines[0].get_color() == colour


def test_a_comparison(comparison: Comparison) -> None:
    text, shown = repr(comparison), comparison._repr_html_()
    for said in (text, shown):
        assert "jax differs at step 25: loss" in said
        assert "mxnet" in said
    assert "Comparison(" not in text
    assert shown.count(PICTURE) == 3
    assert "tolerance 1e-09" in shown
    assert "<fault>" not in shown  # text from outside


def test_a_sweep() -> None:
    found = ls.sweep(ls.recipes.airfoil_linear(framework="jax", max_steps=20), lr=[0.01, 0.1],
                     batch_size=[10, 50])  # fmt: skip
    assert "best: " in repr(found)
    shown = found._repr_html_()
    assert shown.count(PICTURE) == 1
    assert shown.count("<tr>") == 5
    assert html.escape(found.command(found.best)) in shown


def test_schedules_and_specs(tmp_path: Path) -> None:
    schedule = ls.cosine(0.3, final=0.01, steps=20)
    shown = schedule._repr_html_()
    assert shown.count(PICTURE) == 1
    assert "cosine(0.3, final=0.01, steps=20)" in shown
    assert "step 0: learning rate 0.3000" in shown
    schedule.plot(tmp_path / "lr.png", steps=50)
    assert (tmp_path / "lr.png").read_bytes().startswith(b"\x89PNG")
    spec = ls.recipes.timemachine_gru()
    assert repr(spec).splitlines()[0] == "timemachine-gru in numpy, scratch, float32"
    assert "timemachine-gru" in spec._repr_html_()
    assert "num_hiddens = 256" in spec._repr_html_()


def test_without_matplotlib_there_are_pictures_all_the_same(
    history: History, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert history._repr_html_().count(PICTURE) == 4
    assert comparison._repr_html_().count(PICTURE) == 3
    picture = history.plot()
    with pytest.raises(ls.errors.MissingError, match="figures"):
        picture.save("loss.svg")


def test_a_picture_waits_where_nobody_looks_on(
    history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = history.plot()
    assert isinstance(picture, ChartPicture)
    assert "Figure" not in repr(picture)
    assert len(picture.figure.axes) == 4
    assert picture.save(tmp_path / "loss.svg").stat().st_size > 1000
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("sizes", [[1] * 1000, [1000], [7, 300, 1, 692]])
def test_a_curve_that_grows_keeps_its_means(sizes: list[int]) -> None:
    """However it came, it is at most so many means of equal stretches, and of the rest."""
    values = np.random.default_rng(0).normal(size=1000)
    grown, at = Curve(most=64), 0
    for size in sizes:
        grown.add(values[at : at + size], first=500 + at)
        at += size
    places, means = grown.points()
    assert grown.every == 16
    parts = np.split(values, range(16, 1000, 16))
    np.testing.assert_allclose(means, [part.mean() for part in parts], rtol=1e-12)
    assert places[0] == 500 + 7.5
    assert places[-1] == 500 + 992 + 3.5
