"""`lockstep book`: the chapters' own code, run as it stands."""

from __future__ import annotations

import argparse
from typing import Any

from lockstep.cli.output import answer, print_table


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "book",
        help="run the code of the book's chapters, unchanged",
        description="A chapter is a file of Dive into Deep Learning, in Markdown or "
        "reStructuredText, or a notebook. Its code may have several tabs, one for each framework.",
    )
    commands = parser.add_subparsers(dest="book", metavar="COMMAND", required=True)
    tabs = commands.add_parser("tabs", help="which tabs a chapter has, and how many cells")
    tabs.add_argument("chapter", metavar="CHAPTER", help="its file")
    tabs.add_argument("--json", action="store_true", help="print JSON")
    tabs.set_defaults(handler=_tabs)


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
