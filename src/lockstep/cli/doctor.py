"""`lockstep doctor`: what is installed here, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from lockstep.cli.output import answer, print_columns


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("doctor", help="check this machine: frameworks, data, disk")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=_doctor)


def _doctor(args: argparse.Namespace) -> int:
    checks = [_python(), *_frameworks(), *_extras(), *_data(), _disk()]
    values = [dict(zip(("what", "ok", "detail"), check, strict=True)) for check in checks]
    lines = [("ok" if ok else "no", what, detail) for what, ok, detail in checks]
    answer(args, values, lambda: print_columns(lines))
    # a framework or data set may be missing by choice; Python and disk may not
    return 0 if checks[0][1] and checks[-1][1] else 2


def _python() -> tuple[str, bool, str]:
    from lockstep.training.machine import machine_facts

    facts = machine_facts()
    return "python", True, f"{facts['python']}, {facts['cores']} cores, {facts['processor']}"


def _frameworks() -> list[tuple[str, bool, str]]:
    from lockstep.errors import MissingError
    from lockstep.frameworks import environments, registry

    rows = []
    for name in registry.names():
        environment = environments.Environment(name)
        if not registry.is_installed(name) and environment.state == "whole":
            rows.append((name, True, f"in its own environment, {environment.path}"))
            continue
        try:
            framework = registry.get(name)
            devices = ", ".join(framework.devices())
            rows.append((name, True, f"{framework.version} on {devices}"))
        except MissingError as error:
            rows.append((name, False, error.remedy))
        except Exception as error:  # a broken installation may raise anything
            why = str(error) or type(error).__name__
            rows.append((name, False, f"is installed but does not import: {why}"))
    return rows


def _extras() -> list[tuple[str, bool, str]]:
    from importlib import metadata

    rows = []
    uses = (("flax", "jax", "concise style in jax"), ("matplotlib", "figures", "figures"))
    for name, extra, use in uses:
        try:
            rows.append((name, True, f"{metadata.version(name)} ({use})"))
        except metadata.PackageNotFoundError:
            rows.append((name, False, f"{use}: pip install 'lockstep-train[{extra}]'"))
    return rows


def _data() -> list[tuple[str, bool, str]]:
    from lockstep.data import find, list_sources

    rows = []
    for source in list_sources():
        found = find(source)
        if found:
            detail = f"here: {found.place}, edition {found.edition}"
        else:
            detail = (
                f"not here; {source.first_remote} will be fetched when first needed, or now by: "
                f"lockstep data fetch {source.name} (instead: --data generated, or LOCKSTEP_DATA)"
            )
        rows.append((f"data {source.name}", found is not None, detail))
    return rows


def _disk() -> tuple[str, bool, str]:
    free = shutil.disk_usage(Path.cwd()).free
    return "disk", free > 2**28, f"{free / 2**30:.1f} GiB free in {Path.cwd()}"
