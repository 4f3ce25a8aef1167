"""`lockstep devices`: what is here, per framework."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import answer, print_table

if TYPE_CHECKING:
    from lockstep.frameworks.device_list import Devices


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "devices",
        help="the devices that each framework sees here",
        description="Asks every framework that can be used, each in a process of its own.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=_devices)


def _devices(args: argparse.Namespace) -> int:
    from lockstep.frameworks.device_list import list_devices

    found = list_devices(report=_note)
    answer(args, [_row(devices) for devices in found], lambda: _print(found))
    return 2 if any(devices.problem for devices in found) else 0


def _note(found: Devices) -> None:
    if sys.stderr.isatty():  # importing all of them takes a while
        print(f"{found.framework}: asked", file=sys.stderr, flush=True)


def _row(found: Devices) -> dict[str, Any]:
    return {
        "framework": found.framework,
        "python": found.python,
        "version": found.version,
        "devices": list(found.devices),
        "several_in_process": found.several_in_process,
        "several": found.several,
        "problem": found.problem or None,
    }


def _print(found: list[Devices]) -> None:
    from rich.text import Text

    columns = ("framework", "version", "devices", "several CPU devices")
    rows = [
        (
            devices.framework,
            devices.version,
            Text(devices.problem, "red") if devices.problem else ", ".join(devices.devices),
            devices.several,
        )
        for devices in found
    ]
    print_table(columns, rows)
