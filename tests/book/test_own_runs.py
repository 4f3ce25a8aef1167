"""Lockstep's own runs beside a chapter's: on the same subject, in the order of its figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.book.chapters import as_markdown

from lockstep.book import chapter, own_runs
from lockstep.d2l import drawing, loops

SUBJECTS = {
    "gru": "d2l.train_ch8(model, train_iter, vocab, 1, 500, device)",
    "minibatch": "data_iter, dim = d2l.get_data_ch11(10)",
    "schedules": "scheduler = CosineScheduler(20, base_lr=0.3)",
    "devices": "allreduce(data)",
}


def of(code: str) -> chapter.Chapter:
    return chapter.parse(as_markdown([(("pytorch",), code)]), Path("own.md"))


@pytest.mark.parametrize(("name", "code"), SUBJECTS.items())
def test_a_subject_is_known_by_the_cells(name: str, code: str) -> None:
    found = own_runs.subject_of(of(code), "pytorch")
    assert found is not None
    assert found.experiment == name


def test_a_chapter_on_something_else_has_no_experiment() -> None:
    assert own_runs.subject_of(of("1 + 1"), "pytorch") is None


def test_the_seeds_have_their_subjects(seeds: list[Path]) -> None:
    read = [chapter.read(path) for path in seeds]
    found = [{own_runs.subject_of(each, tab) for tab in each.tabs} for each in read]
    named = [[s.experiment for s in each if s is not None] for each in found]
    assert named == [["devices"], ["devices"], ["gru"], ["schedules"], ["minibatch"]]


def test_the_runs_are_those_of_the_chapter_in_its_order(tmp_path: Path) -> None:
    subject = own_runs.subject_of(of(SUBJECTS["minibatch"]), "pytorch")
    assert subject is not None
    sizes = [run.spec.batch_size for run in subject.runs()]
    assert sizes == [1500, 1, 100, 10, 10]
    quietly = lambda share, what: None  # noqa: E731
    found = own_runs.carried_out(subject, "torch", tmp_path, quick=True, progress=quietly)
    assert [run.label for run in found][-1].endswith("concise")
    # the least-squares loss is 0.2423; SGD with one example at a time stays above it
    assert all(0.242 < (run.value("loss") or 0) < 0.3 for run in found)
    assert all(run.seconds > 0 for run in found)
    assert found[0].value("epoch") is None
    again = own_runs.carried_out(subject, "torch", tmp_path, quick=True, progress=quietly)
    assert again == found  # taken from the folder


def test_every_curve_of_the_chapters_has_its_metric(capsys: pytest.CaptureFixture[str]) -> None:
    """The names that the figures of loops.py give to their curves; "train" is a perplexity."""
    shown: list[str] = []

    class Watched(loops.Animator):
        def add(self, x: object, y: object) -> None:
            super().add(x, y)
            shown[:] = self.last()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "Animator", Watched)
        loops.train_text(lambda: (2.0, 1.0), lambda prefix: prefix, 1, "cpu")
    drawing.finish()
    assert shown == ["train"]
    run = own_runs.OwnRun("scratch", {"train_perplexity": 2.0, "test_accuracy": 0.9}, 1.0)
    assert run.value(shown[0]) == 2.0
    assert run.value("test acc") == 0.9
    assert run.value("valid loss") is None


def test_a_quick_run_makes_as_many_updates_as_the_cells() -> None:
    steps = {subject.experiment: subject.steps for subject in own_runs.SUBJECTS}
    assert steps == {"gru": 80, "minibatch": None, "schedules": 120, "devices": 40}
