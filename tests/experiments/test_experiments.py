"""What every experiment has, how they are found, and one that is added from outside the package."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import lockstep as ls
from lockstep import experiments, recipes
from lockstep.cli import main
from lockstep.errors import InputError
from lockstep.experiments import Experiment, option
from lockstep.experiments.runs import Work
from lockstep.report.charts import Chart, Panel, Series
from lockstep.report.quantities import parse_list
from lockstep.report.tables import TextTable
from lockstep.training import train

NAMES = tuple(experiments.questions())
KNOWN = {
    "allreduce", "devices", "frameworks", "horovod", "minibatch", "scaled-batch", "scaling",
    "ways-to-split", "schedules", "decay", "warmup", "lr-finder", "batch-size", "replacement",
    "duplicated-data",
}  # fmt: skip


def test_every_file_of_the_room_is_an_experiment() -> None:
    assert set(NAMES) >= KNOWN
    assert not {"runs", "outcome"} & set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_has_a_question_options_and_an_answer(name: str) -> None:
    experiment = experiments.get(name)
    assert experiment.name == name
    assert experiment.question == experiments.questions()[name]
    assert experiment.question.endswith("?")
    assert experiment.chart is not None
    assert len(experiment.look_at.split(".")) > 2
    assert experiment.to_change
    for command in experiment.to_change:
        assert command.startswith("lockstep experiment ")
        assert command.split()[2] in NAMES
    known = {item.name for item in dataclasses.fields(experiment.options)}
    assert not experiment.takes_run or experiment.recipe in recipes.RECIPES
    if not experiment.takes_run and not experiment.fields:
        assert set(experiment.quick) <= known
    for item in dataclasses.fields(experiment.options):
        assert item.name == "spec" or item.metadata["help"]


def test_listing_them_imports_none() -> None:
    code = (
        "import sys; from lockstep.cli import main\n"
        "try: main(['experiment', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'torch', 'jax', 'rich', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert 'lockstep.experiments.scaled_batch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "ways-to-split" in done.stdout


# --- from outside ---------------------------------------------------------------------------------

ABOUT = """Which learning rate is the best after one epoch, in 100 % of cases?

Trains the recipe with each.
"""


@dataclass(frozen=True)
class Question:
    spec: ls.RunSpec
    rates: tuple[str, ...] = option(
        "0.01,0.05", "to try", read=lambda text: parse_list(text, "rates"), metavar="LIST"
    )
    loud: bool = option(False, "shout, at 100 %")


Losses = dict[str, float]


def run(asked: Question, work: Work) -> Losses:
    found = {}
    for number, rate in enumerate(asked.rates, 1):
        result = train(asked.spec.with_lr(float(rate)))
        found[f"{rate}{'!' * asked.loud}"] = result.metrics["final_train_loss"]
        work(number / len(asked.rates), rate)
    return found


def tables(found: Losses) -> Iterator[TextTable | str]:
    yield TextTable(("rate", "loss"), [(rate, f"{loss:.4f}") for rate, loss in found.items()])
    yield "smaller is better"


def chart(found: Losses) -> Chart:
    rates = [float(rate.rstrip("!")) for rate in found]
    series = Series("airfoil", rates, list(found.values()))
    return Chart("rates", (Panel("", "learning rate", "loss", (series,)),))


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Experiment[Question, Losses]:
    monkeypatch.setattr(experiments, "_added", experiments.Registry("experiment"))
    rates = Experiment(
        "rates",
        ABOUT,
        Question,
        run,
        tables,
        dict,
        chart,
        look_at="Which is lower.",
        to_change=("lockstep experiment rates --rates 1",),
        quick={"max_steps": 5, "rates": "0.1"},
        recipe="airfoil-linear",
        recipe_fields={"epochs": 1, "batch_size": 100},
    )
    experiments.add(rates)
    return rates


@pytest.mark.usefixtures("added")
def test_one_from_outside_is_a_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", "list"]) == 0
    assert (
        "Which learning rate is the best after one epoch, in 100 % of cases?"
        in capsys.readouterr().out
    )
    for words in (["experiment", "--help"], ["experiment", "rates", "--help"]):
        with pytest.raises(SystemExit, match="0"):
            main(words)
        assert "100 %" in " ".join(capsys.readouterr().out.split())
    asked = ["experiment", "rates", "--framework", "numpy", "--batch-size", "10"]
    assert main([*asked, "--rates", "0.02,0.1", "--loud", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for rate in ("0.02", "0.1"):
        spec = ls.recipes.airfoil_linear(epochs=1).with_lr(float(rate))
        assert found[f"{rate}!"] == train(spec).metrics["final_train_loss"]
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()[2:4]] == ["0.01", "0.05"]
    assert out.splitlines()[4] == "smaller is better"
    assert "rates: 100%" in err
    assert main([*asked, "--rates", ","]) == 2
    assert "rates = ',': has no entry" in capsys.readouterr().err


@pytest.mark.usefixtures("added")
def test_a_default_recipe_with_fields_of_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fields that are given come first, then those of the quick form, then the experiment's."""
    monkeypatch.chdir(tmp_path)

    def loss(*words: str) -> float:
        capsys.readouterr()
        assert main(["experiment", "rates", *words, "--framework", "numpy", "--json"]) == 0
        (found,) = json.loads(capsys.readouterr().out).values()
        return float(found)

    def expected(**fields: object) -> float:
        return train(recipes.airfoil_linear(lr=0.1, **fields)).metrics["final_train_loss"]

    one = ("--rates", "0.1")
    assert loss(*one) == expected(epochs=1, batch_size=100)
    assert loss(*one, "--epochs", "3") == expected(epochs=3, batch_size=100)
    assert loss("--quick") == expected(epochs=1, batch_size=100, max_steps=5)
    assert loss("--quick", "--max-steps", "7") == expected(epochs=1, batch_size=100, max_steps=7)


@pytest.mark.usefixtures("added")
def test_its_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", "rates", "--framework", "numpy"]) == 0
    folder = tmp_path / "experiments" / "rates"
    names = {path.name for path in folder.iterdir()}
    assert {"experiment.json", "answer.json", "figure.png", "figure.svg", "page.html"} <= names
    page = (folder / "page.html").read_text()
    for text in ("in 100 % of cases?", "Which is lower.", "--rates 1", "smaller is better"):
        assert text in page
    assert json.loads((folder / "experiment.json").read_text())["experiment"] == "rates"
    assert "page: experiments/rates/page.html" in capsys.readouterr().err
    assert main(["experiment", "rates", "--framework", "numpy", "--out", "mine"]) == 0
    assert (tmp_path / "mine" / "page.html").exists()
    assert main(["experiment", "horovod", "--out", "mine"]) == 2
    assert "out = 'mine': belongs to the experiment rates" in capsys.readouterr().err


def test_a_name_that_is_taken(added: Experiment[Question, Losses]) -> None:
    with pytest.raises(InputError, match="experiment = 'allreduce': is the name of an experiment"):
        experiments.add(dataclasses.replace(added, name="allreduce"))
    with pytest.raises(InputError, match="Did you mean 'rates'"):
        experiments.get("rate")


def test_by_an_extension_of_the_command_line(tmp_path: Path) -> None:
    """A file that LOCKSTEP_EXTENSIONS names adds a command."""
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from lockstep import experiments\n"
        "@dataclass(frozen=True)\n"
        "class Question:\n"
        "    count: int = experiments.option(3, 'of them', metavar='N')\n"
        "experiments.add(experiments.Experiment(\n"
        "    'mine', 'How many?', Question, lambda asked, work: asked.count,\n"
        "    lambda found: [f'{found} of them'], lambda found: found))\n"
    )
    environment = {"LOCKSTEP_EXTENSIONS": str(tmp_path / "mine.py"), "PATH": "/usr/bin:/bin"}
    environment["PYTHONPATH"] = str(Path(ls.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-m", "lockstep", "experiment", "mine", "--count", "5"],
        capture_output=True, text=True, env=environment, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout == "5 of them\n", done.stderr
