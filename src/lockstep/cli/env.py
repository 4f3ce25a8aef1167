"""`lockstep env`: a virtual environment for each framework."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import answer, print_columns
from lockstep.errors import LockstepError

if TYPE_CHECKING:
    from lockstep.comparison import Row

STEPS = 20  # of a check


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "env",
        help="environments of frameworks that cannot share one",
        description="A framework that is installed beside Lockstep needs none. They are made with "
        "venv and pip, below LOCKSTEP_ENVIRONMENTS (default: ~/.cache/lockstep/environments).",
    )
    commands = parser.add_subparsers(dest="env", metavar="COMMAND", required=True)
    listed = commands.add_parser("list", help="every framework, and where it can be used")
    listed.add_argument("--json", action="store_true", help="print JSON")
    listed.set_defaults(handler=_list)
    for name, verb, handler in (("create", "make", _create), ("remove", "remove", _remove)):
        command = commands.add_parser(name, help=f"{verb} the environment of a framework")
        command.add_argument("frameworks", nargs="+", metavar="FRAMEWORK", help="a name, or all")
        command.set_defaults(handler=handler)
    kernel = commands.add_parser(
        "kernel",
        help="let your Jupyter run notebooks in a framework's environment",
        description="Registers a kernel for you alone, with the book's names. Frameworks whose "
        "book has chapters on several GPUs get a second one, with virtual devices.",
    )
    kernel.add_argument("frameworks", nargs="+", metavar="FRAMEWORK", help="a name, or all")
    help = "virtual devices of the second kernel, where there are no GPUs (default: 2)"
    kernel.add_argument("--devices", type=int, metavar="N", default=2, help=help)
    kernel.add_argument("--remove", action="store_true", help="take them away again")
    kernel.set_defaults(handler=_kernel)
    check = commands.add_parser(
        "check", help="train a few steps in every framework, against the oracle"
    )
    check.add_argument(
        "frameworks", nargs="*", metavar="FRAMEWORK", help="a name, or all (default: those usable)"
    )
    check.add_argument("--json", action="store_true", help="print JSON")
    check.set_defaults(handler=_check)


def _list(args: argparse.Namespace) -> int:
    from lockstep.frameworks import environments, registry

    rows = []
    for name in registry.names():
        environment = environments.Environment(name)
        state = "installed here" if registry.is_installed(name) else environment.state
        path = str(environment.path) if environment.state != "none" else None
        rows.append({"framework": name, "state": state, "environment": path})
    cells = []
    for row in rows:
        usable = row["state"] in ("installed here", "whole")
        detail = row["environment"] or "" if usable else f"lockstep env create {row['framework']}"
        cells.append((str(row["framework"]), str(row["state"]), detail))
    answer(args, rows, lambda: print_columns(cells))
    return 0


def _create(args: argparse.Namespace) -> int:
    from lockstep.frameworks import installing
    from lockstep.report.progress import work_progress

    code = 0
    for name in _named(args.frameworks):
        try:
            with work_progress(name, sys.stderr) as report:
                environment = installing.create(name, report)
            print(f"{name}  {environment.path}", flush=True)
        except LockstepError as error:  # one that cannot be made keeps no other from it
            print(f"lockstep: {error}", file=sys.stderr)
            code = error.exit_code
    return code


def _remove(args: argparse.Namespace) -> int:
    from lockstep.frameworks import installing

    for name in _named(args.frameworks):
        print(f"{name}  {'removed' if installing.remove(name) else 'had no environment'}")
    return 0


def _kernel(args: argparse.Namespace) -> int:
    from lockstep.book import kernel
    from lockstep.book.chapter import TAB_OF
    from lockstep.checks import whole
    from lockstep.d2l import has_virtual_devices

    devices = whole("devices", args.devices, most=64)
    code = 0
    for name in _named(args.frameworks):
        if args.remove:
            removed = ", ".join(kernel.unregister(name))
            print(f"{name}  {f'removed: {removed}' if removed else 'had no kernel'}")
            continue
        for count in (0, devices) if has_virtual_devices(name) else (0,):
            settings = kernel.Settings(name, TAB_OF[name], num_devices=count)
            try:
                print(f"{name}  {kernel.register(settings)}")
            except LockstepError as error:  # one without an environment keeps no other from it
                print(f"lockstep: {error}", file=sys.stderr)
                code = error.exit_code
                break
    return code


def _named(frameworks: list[str]) -> list[str]:
    """The frameworks asked for, each once; all names are checked before any work."""
    from lockstep.frameworks import environments, installing

    if frameworks == ["all"]:
        return environments.names()
    for name in frameworks:
        installing.check_name(name)
    return list(dict.fromkeys(frameworks))


def _check(args: argparse.Namespace) -> int:
    import tempfile
    from contextlib import nullcontext
    from pathlib import Path

    from lockstep import recipes
    from lockstep.comparison import ORACLE, compare
    from lockstep.errors import MissingError
    from lockstep.frameworks import environments
    from lockstep.report.compare_progress import compare_progress

    spec = recipes.airfoil_linear(precision="float64")
    usable = [name for name in environments.usable() if name in environments.names()]
    names = _named(args.frameworks) if args.frameworks else usable
    if not names:
        what = "no framework is installed here or has an environment"
        raise MissingError(what, "Make one with: lockstep env create torch")
    with (
        tempfile.TemporaryDirectory(prefix="lockstep-") as folder,
        nullcontext(False) if args.json else compare_progress([ORACLE, *names]) as progress,
    ):
        out = Path(folder) / "check"
        found = compare(spec, frameworks=names, steps=STEPS, out=out, progress=progress)
    checks = [(row.label, row.agree, row.version, _detail(row)) for row in found.others]
    fields = ("framework", "ok", "version", "detail")
    values = [dict(zip(fields, check, strict=True)) for check in checks]
    lines = [("ok" if ok else "no", name, version or "-", why) for name, ok, version, why in checks]
    answer(args, values, lambda: print_columns(lines))
    return 0 if all(ok for _, ok, _, _ in checks) else 1


def _detail(row: Row) -> str:
    if row.first_difference is not None:
        return f"differs at step {row.first_difference.step}: {row.first_difference.quantity}"
    return row.problem or f"{STEPS} steps as the oracle"
