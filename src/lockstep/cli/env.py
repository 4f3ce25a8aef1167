"""`lockstep env`: a virtual environment for each framework."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from lockstep.cli.output import print_json


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "env",
        help="environments of frameworks that cannot share one",
        description="A framework that is installed beside Lockstep needs none. They are made with "
        "venv and pip, below LOCKSTEP_ENVIRONMENTS (default: ~/.cache/lockstep/environments).",
    )
    commands = parser.add_subparsers(dest="env", metavar="COMMAND", required=True)
    listed = commands.add_parser("list", help="every framework, and where it can be used")
    listed.add_argument("--json", action="store_true")
    listed.set_defaults(handler=_list)
    create = commands.add_parser("create", help="make the environment of a framework")
    create.add_argument("frameworks", nargs="+", metavar="FRAMEWORK", help="a name, or all")
    create.set_defaults(handler=_create)
    remove = commands.add_parser("remove", help="remove the environment of a framework")
    remove.add_argument("frameworks", nargs="+", metavar="FRAMEWORK", help="a name, or all")
    remove.set_defaults(handler=_remove)
    check = commands.add_parser(
        "check", help="train a few steps in every framework, against the oracle"
    )
    check.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help="(default: all usable)")
    check.add_argument("--json", action="store_true")
    check.set_defaults(handler=_check)


def _list(args: argparse.Namespace) -> int:
    from lockstep.frameworks import environments, registry

    rows = []
    for name in registry.names():
        environment = environments.Environment(name)
        here = registry.is_installed(name)
        state = "installed here" if here else environment.state
        path = str(environment.path) if environment.state != "none" else None
        rows.append({"framework": name, "state": state, "environment": path})
    if args.json:
        print_json(rows)
        return 0
    width = max(len(str(row["framework"])) for row in rows)
    for row in rows:
        remedy = "" if row["state"] in ("installed here", "whole") else _remedy(row["framework"])
        print(f"{row['framework']:<{width}}  {row['state']:<14}  {row['environment'] or remedy}")
    return 0


def _remedy(name: Any) -> str:
    return f"lockstep env create {name}"


def _create(args: argparse.Namespace) -> int:
    from lockstep.frameworks import installing
    from lockstep.report.installation_progress import installation_progress

    for name in _named(args.frameworks):
        with installation_progress(name, sys.stderr) as tell:
            environment = installing.create(name, tell)
        print(f"{name}  {environment.path}")
    return 0


def _remove(args: argparse.Namespace) -> int:
    from lockstep.frameworks import installing

    for name in _named(args.frameworks):
        print(f"{name}  {'removed' if installing.remove(name) else 'had no environment'}")
    return 0


def _named(frameworks: list[str]) -> list[str]:
    from lockstep.frameworks import environments

    return environments.names() if frameworks == ["all"] else frameworks


def _check(args: argparse.Namespace) -> int:
    import tempfile
    from pathlib import Path

    from lockstep import recipes
    from lockstep.comparison import compare
    from lockstep.frameworks import environments

    spec = recipes.airfoil_linear(precision="float64")
    names = args.frameworks or [name for name in environments.usable() if name != "numpy"]
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        found = compare(spec, frameworks=names, steps=20, out=Path(folder) / "check")
        rows = [
            {
                "framework": row.label,
                "ok": row.agree,
                "version": row.version,
                "detail": row.problem or "20 steps as the oracle",
            }
            for row in found.rows[1:]
        ]
    if args.json:
        print_json(rows)
    else:
        for row in rows:
            print(
                f"{'ok' if row['ok'] else 'no':<4}{row['framework']:<12}"
                f"{row['version'] or '-':<12}{row['detail']}"
            )
    return 0 if rows and all(row["ok"] for row in rows) else 1
