"""A field of the spec is an option of every command that takes a run."""

from __future__ import annotations

import argparse
import dataclasses

import pytest

from lockstep import experiments
from lockstep.cli import build_parser
from lockstep.spec import RunSpec

COMMANDS = ("train", "resume", "compare", "scale", "experiment scaled-batch", "experiment scaling")


def parser_of(command: str) -> argparse.ArgumentParser:
    """The parser of a command, with all its options."""
    parser = build_parser()
    for word in command.split():
        (action,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        parser = action.choices[word]
        if parser.add_later is not None:  # type: ignore[attr-defined]
            parser.add_later(parser)  # type: ignore[attr-defined]
    return parser


def options(command: str) -> dict[str, argparse.Action]:
    actions = parser_of(command)._actions
    return {flag: action for action in actions for flag in action.option_strings}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_field_of_a_run_is_an_option_with_help(command: str) -> None:
    found = options(command)
    for item in dataclasses.fields(RunSpec):
        flag = f"--{item.name.replace('_', '-')}"
        assert flag in found, f"lockstep {command} lacks {flag}"
        assert found[flag].help
    assert "--lr" in found
    assert "--model.num_hiddens" in found


def test_what_train_takes_compare_takes() -> None:
    of_one_run = {"--dry-run", "--log"}
    assert set(options("train")) - set(options("compare")) == of_one_run
    assert {"--start", "--launch", "--nodes", "--scale-batch", "--fused"} <= set(options("compare"))


def test_what_train_takes_resume_takes_but_where_it_begins() -> None:
    assert set(options("train")) - set(options("resume")) == {"--out", "--start", "--dry-run"}


@pytest.mark.parametrize(("old", "new"), [("bench allreduce", "allreduce"), ("scale", "scaling")])
def test_older_names_take_what_the_experiments_take(old: str, new: str) -> None:
    assert set(options(old)) == set(options(f"experiment {new}"))
    assert new in experiments.questions()
