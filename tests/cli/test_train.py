"""`lockstep train`: every option reaches the spec, every outcome has its exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

from lockstep import recipes
from lockstep.frameworks import registry
from lockstep.schedules import constant, cosine
from lockstep.spec import GRU, SGD, Adam, AdamW, RunSpec, TimeMachine
from lockstep.training.directory import RunDirectory

from .conftest import SMALL_TEXT, Command


def spec_in(folder: Path) -> RunSpec:
    return RunSpec.from_file(folder / "spec.toml")


def test_a_recipe_alone(lockstep: Command, folder: Path) -> None:
    done = lockstep("train", "airfoil-linear")
    assert done.code == 0
    spec = recipes.airfoil_linear()
    run = folder / "runs" / f"airfoil-linear-numpy-{spec.hash}"
    assert spec_in(run) == spec
    assert "completed" in done.out
    assert "train loss (whole set)" in done.out
    assert "last batch's loss" in done.out
    assert run.name in done.out
    # the same again gets a folder of its own
    assert lockstep("train", "airfoil-linear", "--quiet").code == 0
    assert spec_in(folder / "runs" / f"{run.name}-2") == spec


def test_every_option(lockstep: Command, folder: Path) -> None:
    done = lockstep(
        "train", "airfoil-linear", "--framework", "numpy", "--style", "scratch",
        "--batch-size", "100", "--epochs", "3", "--max-steps", "4",
        "--schedule", "cosine(0.3, final=0.01, steps=15).warmup(5)", "--schedule-per", "epoch",
        "--lr", "0.4", "--optimizer", "adam", "--seed", "7", "--precision", "float64",
        "--data", "generated", "--out", "here/it/is",
        "--optimizer.beta1", "0.8", "--data.max_examples=200", "--data.drop-last", "yes",
        "--checkpoint-steps", "2", "--evaluate", "train", "--fused=false",
    )  # fmt: skip
    assert done.code == 0, done.err
    expected = recipes.airfoil_linear(
        batch_size=100,
        epochs=3,
        max_steps=4,
        schedule=cosine(0.4, final=0.01, steps=15).warmup(5),
        schedule_per="epoch",
        optimizer=Adam(beta1=0.8),
        seed=7,
        precision="float64",
        checkpoint_steps=2,
        fused=False,
    ).with_fields({"data.source": "generated", "data.max_examples": 200, "data.drop_last": True})
    assert spec_in(folder / "here/it/is") == expected


@pytest.mark.parametrize("framework", registry.installed())
def test_every_framework(lockstep: Command, framework: str) -> None:
    done = lockstep("train", "airfoil-linear", "--framework", framework, "--json")
    assert done.code == 0
    assert done.err == ""
    assert done.json["framework"] == framework
    assert done.json["status"] == "completed"
    assert done.json["steps"] == 300
    # what a linear model reaches after two passes: 0.21 to 0.25, whatever the batches
    assert 0.2 < done.json["metrics"]["final_train_loss"] < 0.25


@pytest.mark.skipif("torch" not in registry.installed(), reason="torch is not installed")
def test_concise_gru_resets_after(lockstep: Command, folder: Path) -> None:
    done = lockstep(
        "train", "timemachine-gru", "--framework", "torch", "--style", "concise", *SMALL_TEXT,
        "--max-steps", "3", "--out", "run", "--quiet",
    )  # fmt: skip
    assert done.code == 0
    assert spec_in(folder / "run").model == GRU(8, "after")
    assert "torch.nn" in done.out


def test_the_chapters_schedule(lockstep: Command) -> None:
    done = lockstep(
        "train", "fashion-lenet", "--schedule", "cosine(0.3, final=0.01, steps=15).warmup(5)",
        "--data", "generated", "--data.max_examples", "64", "--batch-size", "32", "--epochs", "3",
        "--evaluate", "", "--out", "run", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    shown = lockstep("show", "run", "--json").json
    assert shown["spec"]["schedule"]["schedule"]["steps"] == 15
    events = [json.loads(line) for line in Path("run/events.jsonl").read_text().splitlines()]
    rates = RunDirectory(Path("run")).history()[:, "lr"]
    assert rates.tolist() == pytest.approx([0, 0, 0.06, 0.06, 0.12, 0.12])
    # the chapter's warm-up starts at 0, which is said once
    said = "the learning rate is 0 in every step of epoch 1: no weight changes there"
    assert shown["remarks"] == done.json["remarks"] == [said]
    assert [e["text"] for e in events if e["event"] == "RemarkMade"] == [said]
    assert said in lockstep("show", "run").out


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ("constant(0)", ["epoch 1"]),
        ("cosine(0.1, steps=15).warmup(5, start=0.02)", []),
        ("polynomial(0.1, final=0, steps=1)", ["epoch 2"]),  # and 3 to 5, of which nothing is said
    ],
)
def test_epochs_at_rate_zero_are_remarked_once(
    lockstep: Command, schedule: str, said: list[str]
) -> None:
    argv = ("airfoil-linear", "--schedule", schedule, "--schedule-per", "epoch", "--epochs", "5")
    done = lockstep("train", *argv, "--out", "run")
    notes = [line for line in done.err.splitlines() if line.startswith("note: ")]
    assert len(notes) == len(said)
    for line, words in zip(notes, said, strict=True):
        assert f"rate is 0 in every step of {words}:" in line


def test_a_rate_of_zero_for_a_part_of_an_epoch_is_no_remark(lockstep: Command) -> None:
    done = lockstep("train", "airfoil-linear", "--schedule", "constant(0.1).warmup(5)", "--json")
    assert done.json["remarks"] == []


# --- the framework that nobody named --------------------------------------------------------------


def test_the_fastest_framework_is_taken_and_named(
    lockstep: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockstep.frameworks.fastest.fastest", lambda spec: "numpy")
    small = ("--max-steps", "2", "--data", "generated")
    done = lockstep("train", "fashion-softmax", *small, "--out", "one")
    line = "framework: numpy (the fastest here for softmax; choose with --framework)\n"
    assert line in done.err
    assert spec_in(folder / "one").framework == "numpy"
    assert "framework:" not in lockstep("train", "airfoil-linear", "--quiet").err
    named = lockstep("train", "airfoil-linear", "--framework", "numpy", "--max-steps", "2")
    assert "framework:" not in named.err


def test_a_file_may_name_the_framework_or_not(lockstep: Command, folder: Path) -> None:
    toml = lockstep("recipes", "airfoil-linear").out
    assert 'framework = "fastest"' in toml
    (folder / "named.toml").write_text(toml.replace('"fastest"', '"numpy"'))
    (folder / "fastest.toml").write_text(toml)
    (folder / "unnamed.toml").write_text(toml.replace('framework = "fastest"\n', ""))
    assert "framework:" not in lockstep("train", "named.toml", "--out", "a").err
    for name in ("fastest", "unnamed"):
        done = lockstep("train", f"{name}.toml", "--out", name)
        assert "framework: numpy (the fastest here for linear" in done.err
        assert spec_in(folder / name).framework == "numpy"


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_a_file(lockstep: Command, folder: Path, suffix: str) -> None:
    spec = recipes.airfoil_linear(name="mine", batch_size=50, optimizer=AdamW())
    text = spec.to_toml() if suffix == "toml" else json.dumps(spec.to_dict())
    (folder / f"mine.{suffix}").write_text(text)
    done = lockstep("train", f"mine.{suffix}", "--seed", "3", "--out", "run", "--quiet")
    assert done.code == 0
    assert spec_in(folder / "run") == replace(spec, seed=3)


def test_what_recipes_prints_can_be_trained(lockstep: Command, folder: Path) -> None:
    printed = lockstep("recipes", "airfoil-linear")
    (folder / "run.toml").write_text(printed.out)
    assert lockstep("train", "run.toml", "--out", "run", "--quiet").code == 0
    assert spec_in(folder / "run") == recipes.airfoil_linear()  # a short run: numpy


# --- the way the words are put --------------------------------------------------------------------


def test_dotted_fields_may_stand_before_the_recipe(lockstep: Command, folder: Path) -> None:
    done = lockstep(
        "train", *SMALL_TEXT, "timemachine-rnn", "--max-steps", "2", "--out", "run", "--quiet"
    )
    assert done.code == 0, done.err
    assert spec_in(folder / "run").data == TimeMachine("generated", window=5, max_tokens=500)


BEFORE = {
    "name": "mine", "data": "generated", "model": "linear", "optimizer": "adam",
    "schedule": "factor(0.1, factor=0.5)", "schedule_per": "epoch", "batch_size": "20",
    "epochs": "3", "max_steps": "2", "seed": "5", "framework": "numpy", "devices": "1",
    "style": "scratch", "precision": "float64", "fused": "no", "evaluate": "train",
    "evaluate_epochs": "2", "evaluate_steps": "1", "checkpoint_steps": "1", "threads": "1",
    "micro_batches": "2", "patience": "0", "watch": "train_loss", "least_gain": "0.1",
}  # fmt: skip


def test_the_fields_that_are_tried_are_all_there_are() -> None:
    assert list(BEFORE) == [item.name for item in fields(RunSpec)]


@pytest.mark.parametrize("name", BEFORE)
@pytest.mark.parametrize("written", ["--{} {}", "--{}={}"])
def test_every_field_may_stand_before_the_recipe(
    lockstep: Command, folder: Path, name: str, written: str
) -> None:
    """Whatever an option's value, it is not taken for the recipe; and both spellings do."""
    for spelling in {name, name.replace("_", "-")}:
        words = written.format(spelling, BEFORE[name].replace(" ", "")).split()
        done = lockstep("train", *words, "airfoil-linear", "--out", spelling, "--max-steps", "2")
        assert done.code == 0, done.err
        got = spec_in(folder / spelling).to_dict()
        wanted = {name: BEFORE[name].replace(" ", ""), "max_steps": "2"}
        if name == "data":
            wanted["data.source"] = wanted.pop("data")
        assert got == recipes.airfoil_linear().with_fields(wanted).to_dict()


@pytest.mark.parametrize("command", ["train", "resume", "compare", "scale", "experiment"])
def test_every_field_is_in_the_help(lockstep: Command, command: str) -> None:
    argv = ["experiment", "scaled-batch"] if command == "experiment" else [command]
    shown = lockstep(*argv, "--help").out
    for item in fields(RunSpec):
        assert f"--{item.name.replace('_', '-')}" in shown
    for name in ("--model.num_hiddens", "--data.window", "--optimizer.clip_norm"):
        assert name in shown


@pytest.mark.parametrize(
    ("short", "field", "value"),
    [("--e", "epochs", 3), ("--f", "framework", "numpy")],
)
def test_a_rarer_field_takes_no_abbreviation_away(
    lockstep: Command, folder: Path, short: str, field: str, value: object
) -> None:
    done = lockstep("train", "airfoil-linear", short, str(value), "--out", "run", "--quiet")
    assert done.code == 0, done.err
    assert getattr(spec_in(folder / "run"), field) == value


def test_a_negative_value_is_a_value(mistake: Callable[..., str]) -> None:
    said = mistake("train", "airfoil-linear", "--schedule.base", "-0.5")
    assert "schedule.base = -0.5: is negative" in said


def test_another_optimizer_keeps_clipping_and_decay(lockstep: Command, folder: Path) -> None:
    lockstep("train", "timemachine-rnn", *SMALL_TEXT, "--max-steps", "1", "--optimizer", "momentum",
             "--out", "one", "--quiet")  # fmt: skip
    assert spec_in(folder / "one").optimizer.clip_norm == 1.0
    base = recipes.airfoil_linear(optimizer=SGD(weight_decay=0.1, clip_value=2.0))
    (folder / "base.toml").write_text(base.to_toml())
    lockstep("train", "base.toml", "--max-steps", "1", "--optimizer", "adam", "--out", "two")
    assert spec_in(folder / "two").optimizer == Adam(weight_decay=0.1, clip_value=2.0)
    lockstep("train", "airfoil-linear", "--max-steps", "1", "--optimizer", "adamw", "--out", "3")
    assert spec_in(folder / "3").optimizer == AdamW()  # its own decay, for none was set


def test_lr_is_the_base_of_the_schedule_given_beside_it(lockstep: Command, folder: Path) -> None:
    lockstep("train", "airfoil-linear", "--lr", "0.2", "--max-steps", "1", "--out", "run")
    assert spec_in(folder / "run").schedule == constant(0.2)


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["airfoil-liner"], ["recipe = 'airfoil-liner'", "Did you mean 'airfoil-linear'?"]),
        (["nothing.toml"], ["file = 'nothing.toml'", "No such file", "Check the path."]),
        (["airfoil-linear", "--batch-size", "0"], ["batch_size = 0", "at least 1"]),
        (["airfoil-linear", "--batch-size", "-4"], ["batch_size = -4", "at least 1"]),
        (["airfoil-linear", "--batch-size", "ten"], ["batch_size = 'ten'", "whole number"]),
        (["airfoil-linear", "--batch-size", "5000"], ["batch_size = 5000", "at most 1500"]),
        (["airfoil-linear", "--epochs", "99999999999"], ["epochs", "absurdly large"]),
        (["airfoil-linear", "--lr", "nan"], ["schedule.base = nan", "not finite"]),
        (["airfoil-linear", "--lr", "inf"], ["schedule.base = inf", "not finite"]),
        (["airfoil-linear", "--schedule", "cosine(0.3, steps=0)"], ["schedule.steps = 0"]),
        (
            ["airfoil-linear", "--schedule", "multi_factor(1, milestones=[9, 3], factor=0.5)"],
            ["schedule.milestones = [9, 3]", "ascending", "[3, 9]"],
        ),
        (
            ["airfoil-linear", "--schedule", "join([0.1, 0.2], boundaries=[3])", "--lr", "1"],
            ["lr = 1.0", "'join'", "--schedule"],
        ),
        (["airfoil-linear", "--model.kind", "liner"], ["model.kind = 'liner'", "'linear'"]),
        (["airfoil-linear", "--model.width", "3"], ["model.width = '3'", "linear has no such"]),
        (["airfoil-linear", "--optimizer", "addam"], ["optimizer.kind = 'addam'", "'adam'"]),
        (["airfoil-linear", "--batchsize", "3"], ["field = 'batchsize'", "'batch_size'"]),
        (["airfoil-linear", "--modell.kind", "gru"], ["modell.kind", "model.kind"]),
        (["--batchsize", "3", "airfoil-linear"], ["field = 'batchsize'", "'batch_size'"]),
        (
            ["airfoil-linear", "--fused"],
            ["--fused: expected one argument", "lockstep train --help"],
        ),
        (["airfoil-linear", "--model.kind"], ["--model.kind", "has no value"]),
        (["airfoil-linear", "extra"], ["argument = 'extra'", "--help"]),
        (["airfoil-linear", "--framework", "pytorch"], ["framework", "Did you mean 'torch'?"]),
        (
            ["airfoil-linear", "--style", "concise", "--framework", "numpy"],
            ["style = 'concise'", "--style scratch"],
        ),
        (["airfoil-linear", "--precision", "half"], ["precision = 'half'", "float32"]),
        (["airfoil-linear", "--data", "made-up"], ["data.source = 'made-up'", "generated"]),
        (["airfoil-linear", "--evaluate", "test"], ["evaluate = 'test'", "train"]),
        (["airfoil-linear", "--model.kind", "gru"], ["model.kind = 'gru'", "needs text"]),
        (["airfoil-linear", "--seed", "-1"], ["seed = -1", "at least 0"]),
        (["airfoil-linear", "--name", "a/b"], ["name = 'a/b'", "folder"]),
    ],
    ids=lambda value: " ".join(value)[:60] if value[0].startswith(("air", "not")) else "",
)
def test_mistakes(mistake: Callable[..., str], argv: list[str], words: list[str]) -> None:
    said = mistake("train", *argv)
    for word in words:
        assert word in said
    assert not Path("runs").exists()


def test_a_framework_that_is_not_installed(
    mistake: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "is_installed", lambda name: name == "numpy")
    said = mistake("train", "airfoil-linear", "--framework", "torch")
    assert "framework = 'torch': is not installed" in said
    assert "pip install 'lockstep-train[torch]'" in said


def test_an_lr_that_is_no_number(lockstep: Command) -> None:
    done = lockstep("train", "airfoil-linear", "--lr", "much")
    assert done.code == 2
    assert "argument --lr: invalid float value: 'much'" in done.err


def test_a_folder_that_is_taken(lockstep: Command, mistake: Callable[..., str]) -> None:
    assert lockstep("train", "airfoil-linear", "--out", "run", "--quiet").code == 0
    said = mistake("train", "airfoil-linear", "--out", "run", "--quiet")
    assert "holds this run already" in said
    assert "lockstep resume" in said
    said = mistake("train", "airfoil-linear", "--seed", "3", "--out", "run", "--quiet")
    assert "belongs to another run" in said
    assert "seed: 0 there, 3 here" in said


def test_a_folder_that_cannot_be_made(mistake: Callable[..., str], folder: Path) -> None:
    (folder / "file").write_text("in the way")
    assert "file" in mistake("train", "airfoil-linear", "--out", "file/run", "--quiet")


# --- outcomes -------------------------------------------------------------------------------------


def test_a_loss_that_is_not_finite(lockstep: Command) -> None:
    done = lockstep("train", "airfoil-linear", "--lr", "1e30", "--out", "run")
    assert done.code == 3
    assert "diverged" in done.out + done.err
    again = lockstep("train", "airfoil-linear", "--lr", "1e30", "--out", "other", "--json")
    assert again.code == 3
    assert again.json["status"] == "diverged"
    assert "lr 1e+30" in again.err  # told even when quiet


def test_infinite_perplexity_is_still_json(lockstep: Command) -> None:
    done = lockstep(
        "train", "timemachine-rnn", *SMALL_TEXT, "--lr", "1e8", "--optimizer.clip_norm", "0",
        "--max-steps", "6", "--out", "run", "--json",
    )  # fmt: skip
    assert done.code in (0, 3)
    assert done.json["name"] == "timemachine-rnn"
    assert lockstep("show", "run", "--json").json["run"] == "run"


def test_progress_goes_to_stderr(lockstep: Command) -> None:
    done = lockstep("train", "airfoil-linear", "--out", "run")
    assert "epoch 2: train loss" in done.err
    assert "epoch 2" not in done.out
    assert "\x1b" not in done.out + done.err
    assert lockstep("train", "airfoil-linear", "--out", "other", "--quiet").err == ""


# --- dry runs -------------------------------------------------------------------------------------


def test_a_dry_run_leaves_nothing(lockstep: Command, folder: Path) -> None:
    done = lockstep("train", "airfoil-linear", "--framework", "numpy", "--dry-run")
    assert done.code == 0, done.err
    assert list(folder.iterdir()) == []
    lines = [line.split(maxsplit=1) for line in done.out.splitlines()]
    said = {words[0]: words[1] for words in lines if len(words) == 2}
    assert said["steps"] == "300: 150 to an epoch, batches of 10"
    assert said["model"] == "linear, 6 parameters"
    assert said["w"].split() == ["5", "x", "1", "5"]
    assert said["folder"].startswith("runs/airfoil-linear-numpy-")
    done = lockstep("train", "airfoil-linear", "--framework", "numpy", "--dry-run", "--json")
    assert done.json["steps"] == 300
    assert done.json["parameters"] == 6
    assert done.json["examples"] == {"train": 1500}
    assert done.json["seconds"] > done.json["compile_seconds"]
    assert list(folder.iterdir()) == []


def test_a_dry_run_is_refused_as_the_run_is(mistake: Callable[..., str], folder: Path) -> None:
    for asked in (
        ("train", "airfoil-linear", "--batch-size", "5000"),
        ("train", "airfoil-linear", "--framework", "nothing"),
        ("train", "airfoil-linear", "--start", "missing.safetensors"),
    ):
        assert mistake(*asked, "--dry-run") == mistake(*asked)
    assert list(folder.iterdir()) == []


def test_a_dry_run_into_a_taken_folder(
    lockstep: Command, mistake: Callable[..., str], folder: Path
) -> None:
    assert lockstep("train", "airfoil-linear", "--max-steps", "3", "--out", "a").code == 0
    assert "belongs to another run" in mistake("train", "airfoil-linear", "--out", "a", "--dry-run")
