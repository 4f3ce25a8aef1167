"""Lockstep's own runs beside a chapter's: on the same subject, in the order of its figures."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.book.chapters import as_markdown

from lockstep import d2l
from lockstep.book import chapter, own_runs

SUBJECTS = {
    "gru": "def init_gru_state(batch_size, num_hiddens, device): ...",
    "minibatch": "def train_concise_ch11(trainer_fn, hyperparams, data_iter, num_epochs=4): ...",
    "schedules": "class SquareRootScheduler: ...",
    "devices": "def allreduce(data): ...",
}
OTHERS = {  # in their neighbourhood
    "LSTM": "def init_lstm_state(batch_size, num_hiddens, device): ...\n"
    "d2l.train_ch8(model, train_iter, vocab, lr, num_epochs, device)",
    "momentum": "data_iter, feature_dim = d2l.get_data_ch11(batch_size=10)\n"
    "d2l.train_concise_ch11(trainer, {'lr': 0.005, 'momentum': 0.9}, data_iter)",
    "several GPUs, concisely": "train(num_gpus=2, batch_size=512, lr=0.2)",
    "no training": "1 + 1",
}


def of(code: str) -> chapter.Chapter:
    return chapter.parse(as_markdown([(("pytorch",), code)]), Path("own.md"))


@pytest.mark.parametrize(("name", "code"), SUBJECTS.items())
def test_a_subject_is_known_by_the_cells(name: str, code: str) -> None:
    found = own_runs.subject_of(of(code), "pytorch")
    assert found is not None
    assert found.experiment == name


@pytest.mark.parametrize("code", OTHERS.values(), ids=OTHERS)
def test_a_chapter_on_something_else_has_no_experiment(code: str) -> None:
    assert own_runs.subject_of(of(code), "pytorch") is None


def test_the_seeds_have_their_subjects(seeds: list[Path]) -> None:
    read = [chapter.read(path) for path in seeds]
    found = [{own_runs.subject_of(each, tab) for tab in each.tabs} for each in read]
    named = [[subject and subject.experiment for subject in each] for each in found]
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


def curves(code: str) -> Iterator[str]:
    """The names of the curves of each Animator that code makes: its legend, or its y axis."""
    lines = [line for line in code.split("\n") if not line.startswith("%")]
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Animator"):
            words = dict(zip(("xlabel", "ylabel", "legend"), node.args, strict=False))
            words |= {str(word.arg): word.value for word in node.keywords}
            legend = words.get("legend")
            yield from ast.literal_eval(legend or ast.List([words["ylabel"]]))


def test_every_curve_of_the_chapters_has_its_metric(seeds: list[Path]) -> None:
    """Of their own cells, and of what those call in lockstep.d2l."""
    chapters = [chapter.read(path) for path in seeds]
    sources = [cell.source for each in chapters for tab in each.tabs for cell in each.cells(tab)]
    sources += [path.read_text() for path in Path(d2l.__path__[0]).rglob("*.py")]
    found = {name for source in sources for name in curves(source)}
    assert found == {"loss", "train", "train loss", "train acc", "test acc"}
    run = own_runs.OwnRun("own", dict.fromkeys(own_runs.METRICS.values(), 2.0), 1.0)
    assert [run.value(name) for name in found] == [2.0] * len(found)
    assert run.value("valid loss") is None


def test_a_quick_run_makes_as_many_updates_as_the_cells() -> None:
    steps = {subject.experiment: subject.steps for subject in own_runs.SUBJECTS}
    assert steps == {"gru": 80, "minibatch": None, "schedules": 120, "devices": 40}
