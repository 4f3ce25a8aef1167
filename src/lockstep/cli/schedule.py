"""`lockstep schedule`: show what learning rate each step uses, as a table, a plot or JSON. It only
reads schedules; it never starts a run."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import Any

from lockstep.checks import whole
from lockstep.cli.output import add_figure_option, check_figure
from lockstep.errors import InputError
from lockstep.schedules import KINDS, Schedule, format_schedule, parse_schedule, schedule_to_dict

MAX_ROWS = 30  # of a table


def register(subparsers: Any) -> None:
    """Add the command `schedule` to the command line's subparsers."""
    parser = subparsers.add_parser(
        "schedule",
        help="show the learning rate of each step",
        description="Show schedules as a table and a plot; several are compared.",
        epilog='example: lockstep schedule "cosine(0.3, steps=15).warmup(5, start=0.06)" 0.1',
    )
    parser.add_argument("schedules", nargs="*", metavar="SCHEDULE", help="a number or kind(...)")
    parser.add_argument("--list", action="store_true", help="list the kinds and their formulas")
    parser.add_argument(
        "--steps", type=int, metavar="N", help="how many steps (default: the schedule's length)"
    )
    parser.add_argument("--at", metavar="T,T,...", help="show these steps only, such as 0,4,5")
    parser.add_argument("--json", action="store_true", help="print exact values as JSON")
    add_figure_option(parser)
    parser.add_argument("--no-plot", action="store_true", help="print the table only")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Carry out the command; returns the exit code."""
    if args.list:
        _print_kinds()
        return 0
    if not args.schedules:
        remedy = 'Give one such as "cosine(0.3, final=0.01, steps=20)", or --list for all kinds.'
        raise InputError("schedule", "", "none was given", remedy)
    schedules = [_readable(text) for text in args.schedules]
    num_steps = _num_steps(schedules, args.steps)
    at = _asked_steps(args.at)
    check_figure(args.figure)
    if args.figure:
        _draw(schedules, num_steps, args.figure)
    if args.json:
        _print_json(schedules, num_steps, at)
        return 0
    _print_table(schedules, at or _table_steps(schedules, num_steps))
    if not args.no_plot:
        _print_plot(schedules, num_steps)
    if args.figure:
        print(f"wrote {args.figure}")
    return 0


def _readable(text: str) -> Schedule:
    schedule = parse_schedule(text)
    if isinstance(schedule, Schedule):
        return schedule
    problem = "reads the run's metric, so its rates are not known before the run"
    raise InputError("schedule", text, problem, "Train with it; the run's log shows its rates.")


def _num_steps(schedules: list[Schedule], asked: int | None) -> int:
    """The length asked for, or enough to see one step after the last mark of every schedule."""
    if asked is None:
        from lockstep.report.schedule_charts import natural_length

        return natural_length(schedules)
    return whole("--steps", asked)


def _asked_steps(text: str | None) -> list[int]:
    if text is None:
        return []
    try:
        steps = [int(part) for part in text.split(",")]
    except ValueError:
        steps = [-1]
    if min(steps) < 0:
        raise InputError("--at", text, "is not a list of steps", "Give it as in 0,4,5.")
    return [whole("--at", step, least=0) for step in steps]


def _table_steps(schedules: list[Schedule], num_steps: int) -> list[int]:
    """The first steps, those around every mark, the last, and some between them."""
    from lockstep.report.schedule_charts import spread

    if num_steps <= MAX_ROWS // 2:
        return list(range(num_steps))
    marks = sorted({mark for schedule in schedules for mark in schedule.marks})
    around = {mark + shift for mark in marks for shift in (-1, 0, 1)}
    chosen = {0, 1, num_steps - 1} | {step for step in around if 0 <= step < num_steps}
    if len(chosen) > MAX_ROWS:
        return spread(num_steps, MAX_ROWS)
    return sorted(chosen | set(spread(num_steps, (MAX_ROWS - len(chosen)) // 2)))


def _names(schedules: list[Schedule]) -> list[str]:
    """lr for one schedule, A, B, ... for several, so that columns stay narrow."""
    if len(schedules) == 1:
        return ["lr"]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return [letters[k] if k < 26 else f"{letters[k % 26]}{k // 26}" for k in range(len(schedules))]


def _print_table(schedules: list[Schedule], steps: list[int]) -> None:
    from lockstep.report.tables import filled, show

    names = _names(schedules)
    for name, schedule in zip(names, schedules, strict=True):
        print(f"{name} = {format_schedule(schedule)}")
    rows = [[str(step), *(f"{schedule(step):.6g}" for schedule in schedules)] for step in steps]
    print()
    show([filled(["step", *names], rows, wrap=False)])


def _print_json(schedules: list[Schedule], num_steps: int, at: list[int]) -> None:
    steps = at or list(range(num_steps))
    found = [
        {
            "text": format_schedule(schedule),
            "schedule": schedule_to_dict(schedule),
            "lr": [schedule(step) for step in at] if at else schedule.values(0, num_steps),
        }
        for schedule in schedules
    ]
    print(json.dumps({"steps": steps, "schedules": found}))


def _print_kinds() -> None:
    for kind, cls in KINDS.items():
        formula = textwrap.fill(cls.formula, 96, initial_indent="    ", subsequent_indent="      ")
        print(f"{kind}\n{formula}\n    example: {cls.example}")


def _print_plot(schedules: list[Schedule], num_steps: int) -> None:
    from lockstep.report.schedule_charts import schedules_panel
    from lockstep.report.terminal_plot import print_plot

    print_plot(schedules_panel(schedules, num_steps, _names(schedules)))


def _draw(schedules: list[Schedule], num_steps: int, path: str) -> None:
    from lockstep.report.charts import Chart
    from lockstep.report.figures import draw, save_figure
    from lockstep.report.schedule_charts import schedules_panel

    names = [format_schedule(schedule) for schedule in schedules]
    save_figure(draw(Chart("", (schedules_panel(schedules, num_steps, names),))), path)
