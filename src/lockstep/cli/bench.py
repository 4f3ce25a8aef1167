"""`lockstep bench allreduce`: the experiment `allreduce` by its older name."""

from __future__ import annotations

from typing import Any

from lockstep.cli.experiment import add_experiment


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("bench", help="measure this machine")
    commands = parser.add_subparsers(dest="bench", metavar="COMMAND", required=True)
    help = "sum a buffer over devices, by every algorithm"
    add_experiment(commands, "allreduce", "allreduce", help)
