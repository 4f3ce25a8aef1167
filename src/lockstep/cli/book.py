"""`lockstep book`: the chapters' own code, run as it stands."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import add_open_option, answer, open_page, print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockstep.book.chapter import Chapter
    from lockstep.book.matrix import Entry
    from lockstep.book.own_runs import OwnRun
    from lockstep.book.running import ChapterRun

Files = tuple[Path, Path]


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
    run.add_argument("--tab", metavar="TAB", help="which code (needed if there are several tabs)")
    add_open_option(run)
    check = commands.add_parser("check", help="run many chapters, and print which of them ran")
    check.add_argument("chapters", nargs="+", metavar="DIR", help="folders or files of chapters")
    check.add_argument("--tabs", default="all", metavar="TABS", help="a,b,c or all (default: all)")
    help = "one chapter in its tabs, side by side, and Lockstep's own experiment of it"
    compare = commands.add_parser("compare", help=help)
    compare.add_argument("chapter", metavar="CHAPTER", help="its file")
    compare.add_argument(
        "--tabs", default="all", metavar="TABS", help="a,b,c or all (default: all)"
    )
    for command in (run, check, compare):
        _add_run_options(command)
    handlers = ((tabs, _tabs), (run, _run), (check, _check), (compare, _compare))
    for command, handler in handlers:
        command.add_argument("--json", action="store_true", help="print JSON")
        command.set_defaults(handler=_stoppable(handler))


def _stoppable(handler: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """The command; SIGTERM and a terminal that closes are Ctrl-C to it."""

    def handle(args: argparse.Namespace) -> int:
        from lockstep.book import stopping

        with stopping.as_interrupt():
            return handler(args)

    return handle


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="DIR", default="book", help="has notebooks and pages")
    help = "train for fewer epochs and batches; the page says so"
    parser.add_argument("--quick", action="store_true", help=help)
    help = "for each cell (default: 4 hours)"
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help=help)
    help = "virtual devices for a chapter about several GPUs, where there are none (default: 2)"
    parser.add_argument("--devices", type=int, metavar="N", default=2, help=help)


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
    from lockstep.book import chapter, show

    _check_options(args)
    found = chapter.read(args.chapter)
    done, files = _carried_out(args, found, args.tab or _only_tab(found))
    values = done.to_dict() | {"files": [str(file) for file in files]}
    answer(args, values, lambda: show.print_summary(done, files))
    open_page(args, files[1])
    if done.interrupted:
        return 130
    return 0 if done.is_whole else 1


def _carried_out(
    args: argparse.Namespace, found: Chapter, tab: str, name: str = ""
) -> tuple[ChapterRun, Files]:
    """Run one tab as the options say, with a line for each cell, and write its files."""
    import sys

    from lockstep.book import running, show

    settings = running.settings_for(found, tab, quick=args.quick, num_devices=args.devices)
    timeout = running.TIMEOUT if args.timeout is None else args.timeout
    out = Path(args.out)
    with show.CellLines(sys.stderr if args.json else sys.stdout, sys.stderr) as lines:
        done = running.run(found, settings, out, lines, timeout)
    return done, show.write(done, out, name)


def _check(args: argparse.Namespace) -> int:
    from lockstep.book import matrix

    entries, interrupted = _entries(args, args.chapters)
    answer(args, matrix.to_list(entries), lambda: print_table(*matrix.matrix(entries)))
    return _code(entries, interrupted)


def _compare(args: argparse.Namespace) -> int:
    from lockstep.book import side_by_side

    entries, interrupted = _entries(args, [args.chapter])
    runs = [entry.run for entry in entries if entry.run is not None]
    own: dict[str, Sequence[OwnRun]] = {}
    try:
        if not interrupted:
            _add_own_runs(own, args, runs)
    except KeyboardInterrupt:  # the chapter has run: its tables are printed
        interrupted = True

    def show() -> None:
        print("\nThe last values of each figure that grew, and the time of its cell")
        for remark in side_by_side.remarks(runs):
            print(remark)
        print_table(*side_by_side.value_table(runs, own))
        print("\nSeconds of each cell")
        print_table(*side_by_side.time_table(runs))

    answer(args, side_by_side.to_dict(runs, own), show)
    return _code(entries, interrupted)


def _add_own_runs(
    found: dict[str, Sequence[OwnRun]], args: argparse.Namespace, runs: list[ChapterRun]
) -> None:
    """Lockstep's own runs on the chapter's subject, by tab; none where it has no experiment."""
    import sys

    from lockstep.book import own_runs
    from lockstep.errors import LockstepError
    from lockstep.report.progress import work_progress

    for run in runs:
        subject = own_runs.subject_of(run.chapter, run.tab)
        if subject is None:
            continue
        framework = run.settings.framework
        with work_progress(f"experiment {subject.experiment}, {framework}", sys.stderr) as progress:
            try:
                found[run.tab] = own_runs.carried_out(
                    subject, framework, Path(args.out) / "lockstep", quick=args.quick,
                    progress=progress,
                )  # fmt: skip
            except LockstepError as error:
                print(f"not run: {subject.experiment} in {framework}: {error}", file=sys.stderr)


def _entries(args: argparse.Namespace, paths: list[str]) -> tuple[list[Entry], bool]:
    """Run the tabs of chapters one after another, each as `book run` does; whether Ctrl-C ended
    that."""
    import sys

    from lockstep.book import matrix, show

    def run(name: str, found: Chapter, tab: str) -> ChapterRun:
        file = sys.stderr if args.json else sys.stdout
        print(f"== {name}, {tab}", file=file, flush=True)
        done, files = _carried_out(args, found, tab, name)
        if not args.json:
            show.print_summary(done, files)
        return done

    _check_options(args)
    tabs = matrix.read_tabs(args.tabs)
    chapters, entries = matrix.find(paths)
    for entry in entries:
        print(f"not read: {entry.problem}", file=sys.stderr)
    try:
        for entry in matrix.check(chapters, tabs, run):
            entries.append(entry)
            if entry.problem:
                print(f"not run: {entry.problem}", file=sys.stderr)
    except KeyboardInterrupt:  # outside cells; the chapters before are kept
        if not entries:
            raise
        return entries, True
    return entries, any(entry.run is not None and entry.run.interrupted for entry in entries)


def _code(entries: list[Entry], interrupted: bool) -> int:
    if interrupted:
        return 130
    return 0 if entries and all(entry.is_ok for entry in entries) else 1


def _only_tab(found: Chapter) -> str:
    from lockstep.errors import InputError

    if len(found.tabs) > 1:
        remedy = f"Choose one with --tab: {', '.join(found.tabs)}."
        raise InputError("tab", None, "the chapter has several", remedy)
    return found.tabs[0]


def _check_options(args: argparse.Namespace) -> None:
    from lockstep.checks import whole
    from lockstep.errors import InputError

    whole("devices", args.devices, most=64)
    if args.timeout is not None and not 0 < args.timeout < float("inf"):
        raise InputError("timeout", args.timeout, "must be positive", "Give seconds.")
