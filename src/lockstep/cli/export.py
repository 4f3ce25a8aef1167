"""`lockstep export`: runs as files for other tools."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lockstep.cli.output import answer
from lockstep.cli.report import find_runs
from lockstep.cli.run_options import RUN

FORMATS = ("csv", "parquet", "tensorboard")


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "export",
        help="write runs as CSV, Parquet or TensorBoard's events",
        description="csv and parquet: a table of every step and one of every epoch, DIR/RUN-steps "
        "and DIR/RUN-epochs. tensorboard: the same curves in DIR/RUN (tensorboard --logdir DIR).",
        epilog="example: lockstep export last --to parquet --out tables",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help=RUN)
    parser.add_argument("--to", required=True, choices=FORMATS, help=", ".join(FORMATS))
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder to write to")
    parser.add_argument("--replace", action="store_true", help="replace files that are there")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    parser.set_defaults(handler=_export)


def _export(args: argparse.Namespace) -> int:
    from lockstep.loggers.exported import Written, export
    from lockstep.report.run_rows import named_runs

    def show(written: list[Written]) -> None:
        for item in written:
            print(f"{item.path}  {item.rows:,} {item.table if item.rows != 1 else item.table[:-1]}")

    runs = named_runs(find_runs(args.runs))
    written = export(runs, args.to, Path(args.out), replace=args.replace)
    values = [{**vars(item), "path": str(item.path)} for item in written]
    answer(args, values, lambda: show(written))
    return 0
