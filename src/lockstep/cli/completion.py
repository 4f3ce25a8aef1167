"""`lockstep completion SHELL`: the script by which a shell completes commands; and what is offered.

The script calls `lockstep` itself with the line typed so far, and argcomplete reads it. Imported
only then, so that other commands start as fast as without it. What an action's metavar is called
says what may be typed in its place.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from lockstep.cli.parsing import Parser
from lockstep.errors import MissingError

SHELLS = ("bash", "zsh", "fish")
ASKED = "_ARGCOMPLETE"  # the shell sets it when it asks what could be typed

# zsh without a start-up file, as on a new Mac, has not started its completion
START_ZSH = """\
if [[ -n "${ZSH_VERSION-}" ]] && ! whence compdef >/dev/null; then
    autoload -Uz compinit && compinit -i
fi
"""

Words = Callable[[], Iterable[str]]


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "completion",
        help="tab completion for bash, zsh or fish",
        description="Prints a script for your shell's start-up file: commands, options, recipes, "
        "runs, frameworks and fields are then completed by the tab key.",
        epilog='bash, zsh: eval "$(lockstep completion bash)"; fish: lockstep completion fish | '
        "source",
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")
    parser.set_defaults(handler=_print_script)


def _print_script(args: argparse.Namespace) -> int:
    head, end, rest = _argcomplete().shellcode(["lockstep"], shell=args.shell).partition("\n")
    start = "" if args.shell == "fish" else START_ZSH
    print(head + end + start + rest)  # the head, #compdef, must stay the first line
    return 0


def _argcomplete() -> Any:
    try:
        import argcomplete
    except ImportError:
        remedy = "Install it with: pip install 'lockstep-train[completion]'"
        raise MissingError("argcomplete is not installed", remedy) from None
    return argcomplete


def answer_shell(parser: Parser) -> None:
    """If a shell asks what could be typed, tell it and end this process."""
    if ASKED not in os.environ:
        return
    typed = os.environ.get("COMP_LINE", "").split()
    for action in _reached(parser, typed):
        _set_completer(action)
    _argcomplete().autocomplete(parser, always_complete_options=False)


def _reached(parser: Parser, typed: list[str]) -> Iterator[argparse.Action]:
    """The options of the command that is typed, and of those that it is a part of."""
    if parser.add_later is not None:
        add, parser.add_later = parser.add_later, None
        add(parser)
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for name in [word for word in typed if word in action.choices][:1]:
                yield from _reached(action.choices[name], typed[typed.index(name) + 1 :])


def _set_completer(action: argparse.Action) -> None:
    if action.choices is not None:  # argcomplete knows them
        return
    completers = _argcomplete().completers
    stands_for = str(action.metavar).lower()
    name = (action.option_strings or [""])[0].lstrip("-")
    words = _WORDS.get(stands_for) or _NAMED.get(name) or _values().get(name)
    if words is not None:
        files = {
            "run": completers.DirectoriesCompleter(),
            "recipe": completers.FilesCompleter(("toml", "json")),
        }.get(stands_for)
        action.completer = partial(_offer, words, files)  # type: ignore[attr-defined]
    elif action.metavar == "DIR":
        action.completer = completers.DirectoriesCompleter()  # type: ignore[attr-defined]
    elif action.option_strings and action.metavar != "FILE":  # a number or a text, not a file
        action.completer = partial(_offer, list, None)  # type: ignore[attr-defined]


def _offer(words: Words, files: Any, prefix: str, **about: Any) -> list[str]:
    """Words and files that begin with what is typed, after the last comma of a list."""
    before, comma, begun = prefix.rpartition(",")
    taken = set(before.split(","))
    found = [f"{before}{comma}{w}" for w in words() if w.startswith(begun) and w not in taken]
    return found + (list(files(prefix=prefix, **about)) if files else [])


def _recipes() -> Iterable[str]:
    from lockstep import recipes

    return recipes.RECIPES


def _runs() -> list[str]:
    """Names below runs/; what reads runs would import NumPy, and a tab key cannot wait."""
    found = [path.parent.name for path in Path("runs").glob("*/spec.toml")]
    return [*sorted(found), *(["last"] if found else [])]


def _frameworks() -> list[str]:
    from lockstep.frameworks import registry

    return registry.names()


def _kinds(part: str) -> list[str]:
    from lockstep.spec.convert import PARTS

    return [kind for kind in PARTS[part] if kind != "own"]


@functools.cache
def _values() -> dict[str, Words]:
    """The values of fields that have only some, by the field's name as it is typed."""
    from lockstep.spec import RunSpec
    from lockstep.spec.convert import PARTS

    found: dict[str, Words] = {}
    for item in dataclasses.fields(RunSpec):
        if known := _known(item.metadata["check"]):
            found[item.name.replace("_", "-")] = partial(list, known)
    for part, kinds in PARTS.items():
        found[f"{part}.kind"] = partial(_kinds, part)
        for cls in kinds.values():
            for name, hint in get_type_hints(cls, include_extras=True).items():
                checks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
                if known := next((names for names in map(_known, checks) if names), ()):
                    found.setdefault(f"{part}.{name}", partial(list, known))
    return found


def _known(check: Any) -> tuple[str, ...]:
    """The values that a check lets pass, where it is a list of names."""
    known = getattr(check, "keywords", {}).get("known", ())
    return tuple(known) if all(isinstance(name, str) for name in known) else ()


_WORDS: dict[str, Words] = {  # by metavar
    "run": _runs,
    "recipe": _recipes,
    "framework": lambda: [*_frameworks(), "all"],
    "layout": lambda: [*_frameworks(), "lockstep"],
    "yes|no": lambda: ["yes", "no"],
    "kind=place": lambda: ["tensorboard=", "mlflow="],
}
_NAMED: dict[str, Words] = {  # by option
    "framework": lambda: [*_frameworks(), "fastest"],
    "frameworks": lambda: [*_frameworks(), "all"],
    "model": lambda: _kinds("model"),
    "optimizer": lambda: _kinds("optimizer"),
    "data": lambda: ["real", "generated"],
}
