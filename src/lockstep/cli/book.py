"""`lockstep book`: the chapters' own code, run as it stands."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import answer, print_table

if TYPE_CHECKING:
    from lockstep.book.chapter import Chapter


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "book",
        help="run the code of the book's chapters, unchanged",
        description="A chapter is a file of Dive into Deep Learning, in Markdown or "
        "reStructuredText, or a notebook. Its code may have several tabs, one for each framework.",
    )
    commands = parser.add_subparsers(dest="book", metavar="COMMAND", required=True)
    tabs = commands.add_parser("tabs", help="which tabs a chapter has, and how many cells")
    run = commands.add_parser("run", help="run a chapter's cells of one tab")
    for command in (tabs, run):
        command.add_argument("chapter", metavar="CHAPTER", help="its file")
        command.add_argument("--json", action="store_true", help="print JSON")
    tabs.set_defaults(handler=_tabs)
    run.add_argument("--tab", metavar="TAB", help="which code (needed if there are several tabs)")
    run.add_argument("--out", metavar="DIR", default="book", help="has the notebook and the page")
    run.add_argument(
        "--quick", action="store_true", help="train for fewer epochs and batches; the page says so"
    )
    run.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="for each cell (default: 4 hours)"
    )
    run.add_argument(
        "--devices", type=int, metavar="N", default=2,
        help="virtual devices for a chapter about several GPUs, where there are none (default: 2)",
    )  # fmt: skip
    run.set_defaults(handler=_run)


def _tabs(args: argparse.Namespace) -> int:
    from lockstep.book import chapter
    from lockstep.frameworks import environments

    found = chapter.read(args.chapter)
    usable = environments.usable()
    rows = [
        {
            "tab": tab,
            "cells": len(found.cells(tab)),
            "framework": (framework := chapter.TABS.get(tab)),
            "usable": framework in usable,
        }
        for tab in found.tabs
    ]
    values = {"title": found.title, "format": found.format, "tabs": rows}

    def show() -> None:
        print(f"{found.title} ({found.format})")
        print_table(("tab", "cells", "framework"), [_words(row) for row in rows])

    answer(args, values, show)
    return 0


def _words(row: dict[str, Any]) -> tuple[str, str, str]:
    framework = row["framework"]
    if framework is None:
        return row["tab"], str(row["cells"]), "none that Lockstep knows"
    remedy = "" if row["usable"] else f" (lockstep env create {framework})"
    return row["tab"], str(row["cells"]), f"{framework}{remedy}"


def _run(args: argparse.Namespace) -> int:
    import sys

    from lockstep.book import chapter, run, show
    from lockstep.checks import whole

    found = chapter.read(args.chapter)
    tab = args.tab or _only_tab(found)
    devices = whole("devices", args.devices, most=64)
    settings = run.settings_for(found, tab, quick=args.quick, num_devices=devices)
    out = Path(args.out)
    with show.CellLines(sys.stderr if args.json else sys.stdout, sys.stderr) as lines:
        done = run.run(found, settings, out, lines, _timeout(args))
    files = show.write(done, out)
    answer(args, done.to_dict() | {"files": [str(file) for file in files]},
           lambda: show.print_summary(done, files))  # fmt: skip
    if done.interrupted:
        return 130
    return 0 if done.is_whole else 1


def _only_tab(found: Chapter) -> str:
    from lockstep.errors import InputError

    if len(found.tabs) > 1:
        remedy = f"Choose one with --tab: {', '.join(found.tabs)}."
        raise InputError("tab", None, "the chapter has several", remedy)
    return found.tabs[0]


def _timeout(args: argparse.Namespace) -> float:
    from lockstep.book.run import TIMEOUT
    from lockstep.errors import InputError

    if args.timeout is None:
        return TIMEOUT
    if not 0 < args.timeout < float("inf"):
        raise InputError("timeout", args.timeout, "must be positive", "Give seconds.")
    return float(args.timeout)
