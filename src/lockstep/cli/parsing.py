"""How words of a command line are read, beyond what argparse does by itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from lockstep.errors import unknown


class Parser(argparse.ArgumentParser):
    """Reports a mistake in one line, and keeps the abbreviations of the options that are not marked
    `rare`: `--e 3` stays --epochs when a rarer option begins with the same letters. `add_later`
    adds the options of a command when it is read, so that `lockstep --help` need not know them."""

    add_later: Callable[[Parser], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.add_later is not None:
            add, self.add_later = self.add_later, None
            add(self)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"lockstep: {message}. See `{self.prog} --help`.\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            name = action.dest if action.option_strings else str(action.metavar).lower()
            raise unknown(name, value, list(action.choices))

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if arg_strings == ["--"] and action.nargs is None:  # argparse would make it an empty list
            raise argparse.ArgumentError(action, "expected one argument")
        return super()._get_values(action, arg_strings)

    def _get_option_tuples(self, option_string: str) -> list[Any]:
        found: list[Any] = super()._get_option_tuples(option_string)
        return [match for match in found if not getattr(match[0], "rare", False)] or found


def with_hyphens(argv: Sequence[str]) -> list[str]:
    """Options as the parser writes them: fields may be written as Python names them. A dotted name
    is left alone, and so is everything behind `--`.

    >>> with_hyphens(["--batch_size=3", "--model.num_hiddens", "a_b"])
    ['--batch-size=3', '--model.num_hiddens', 'a_b']
    """
    words = list(argv)
    end = words.index("--") if "--" in words else len(words)
    for index, word in enumerate(words[:end]):
        name, equals, value = word.partition("=")
        if name.startswith("--") and "." not in name:
            words[index] = name.replace("_", "-") + equals + value
    return words


def split_fields(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words, and apart from them the dotted fields with their values, wherever they stand:
    argparse would take the value of an option it does not know for the recipe.

    >>> split_fields(["train", "--model.num_hiddens", "64", "timemachine-gru"])
    (['train', 'timemachine-gru'], ['--model.num_hiddens', '64'])
    """
    words: list[str] = []
    fields: list[str] = []
    items = list(argv)
    while items:
        item = items.pop(0)
        name, equals, _ = item.partition("=")
        if not (name.startswith("--") and "." in name):
            words.append(item)
            continue
        fields.append(item)
        if not equals and items and not items[0].startswith("--"):
            fields.append(items.pop(0))
    return words, fields
