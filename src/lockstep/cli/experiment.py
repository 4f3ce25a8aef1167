"""`lockstep experiment NAME`: ask an experiment its question; `list` has them all. And two by older
names: `bench allreduce`, and `scale` for `scaling` (`scale horovod` asks the experiment `horovod`).

An experiment's options, tables and figure are its own (`lockstep.experiments`); here they become a
command. Its module is imported when the command is read, not before.
"""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.checks import whole
from lockstep.cli.asked_run import asked_fields, report_framework, spec_from
from lockstep.cli.output import (
    add_figure_option,
    add_open_option,
    answer,
    check_figure,
    open_page,
    print_json,
    print_table,
    write_figure,
)
from lockstep.cli.parsing import Parser
from lockstep.cli.run_options import add_field_options, add_run_options

if TYPE_CHECKING:
    from lockstep.experiments import Experiment


def register(subparsers: Any) -> None:
    bench = subparsers.add_parser("bench", help="measure this machine")
    benches = bench.add_subparsers(dest="bench", metavar="COMMAND", required=True)
    _add_experiment(benches, "allreduce", "sum a buffer over devices, by every algorithm")
    scale = subparsers.add_parser("scale", help="forecast training on many devices")
    scale.add_later = _add_scaling
    parser = subparsers.add_parser("experiment", help="several runs, and the figure of them")
    parser.add_later = _add_experiments


def _add_scaling(parser: Parser) -> None:
    from lockstep import experiments

    def ask_either(args: argparse.Namespace) -> int:
        name = "horovod" if args.run == "horovod" else "scaling"
        return ask(args, experiments.get(name), "scale")

    add_options(parser, "scaling")
    parser.set_defaults(handler=ask_either)


def _add_experiments(parser: Parser) -> None:
    from lockstep import experiments

    commands = parser.add_subparsers(dest="experiment", metavar="EXPERIMENT", required=True)
    listing = commands.add_parser("list", help="every experiment and its question")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(handler=_list)
    every = commands.add_parser("all", help="every experiment, one after another")
    every.add_argument("--quick", action="store_true", help="their quick forms")
    every.add_argument("--out", metavar="DIR", default="experiments", help="has a folder for each")
    every.set_defaults(handler=_ask_all)
    for name, question in experiments.questions().items():
        _add_experiment(commands, name, question)


def _add_experiment(commands: Any, name: str, help: str) -> None:
    """The command that asks the experiment of that name."""
    parser = commands.add_parser(name, help=help.replace("%", "%%"))
    parser.add_later = lambda parser: add_options(parser, name)


def add_options(parser: Parser, name: str) -> None:
    """The options of the experiment of that name, and the handler that asks it."""
    from lockstep import experiments

    experiment = experiments.get(name)
    parser.description = f"{experiment.question} {experiment.how}"
    own = [item for item in dataclasses.fields(experiment.options) if item.name != "spec"]
    if experiment.takes_run:
        add_run_options(parser, [item.name for item in own], default=experiment.recipe)
    elif experiment.fields:
        add_field_options(parser, ["name", *(item.name for item in own)])
    group = parser.add_argument_group("the experiment")
    types = typing.get_type_hints(experiment.options)
    for item in own:
        _add_option(group, item, types[item.name])
    help = "a smaller version that takes seconds" if experiment.quick else "the same: it is quick"
    group.add_argument("--quick", action="store_true", help=help)
    if experiment.fields:
        help = "train everything with so many seeds, and draw mean and band (default: 1)"
        group.add_argument("--seeds", type=int, default=1, metavar="N", help=help)
    help = "its folder (default: experiments/NAME); runs that are there are not run again"
    group.add_argument("--out", metavar="DIR", help=help)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_open_option(parser)
    if experiment.chart:
        add_figure_option(parser)
    label = parser.prog.split()[-1].replace("-", " ")  # the last word of the command
    parser.set_defaults(handler=lambda args: ask(args, experiment, label))


def _add_option(group: Any, item: dataclasses.Field[Any], kind: Any) -> None:
    data = item.metadata
    flag = f"--{(data['flag'] or item.name).replace('_', '-')}"
    text = f"{data['text']:.3g}" if isinstance(data["text"], float) else data["text"]
    default = "" if text == "" or text is False else f" (default: {text})"
    help = f"{data['help']}{default}".replace("%", "%%")  # argparse fills in what % begins
    if kind is bool:
        group.add_argument(flag, dest=_dest(item), action="store_true", help=help)
        return
    read = {int: int, float: float}.get(kind) if data["read"] is None else None
    group.add_argument(flag, dest=_dest(item), type=read, metavar=data["metavar"], help=help)


def _dest(item: dataclasses.Field[Any]) -> str:
    return f"asked_{item.name}"  # not the name alone: `devices` would be taken for the run's


def ask(args: argparse.Namespace, experiment: Experiment[Any, Any], label: str) -> int:
    """Carry out an experiment with the options of the command line, and show its answer."""
    from lockstep.experiments.asking import How, carry_out
    from lockstep.experiments.runs import Interrupted
    from lockstep.report.figures import draw
    from lockstep.report.progress import work_progress
    from lockstep.report.tables import show
    from lockstep.report.terminal_plot import print_plot

    quick = args.quick
    asked = _asked(args, experiment, quick)
    figure = getattr(args, "figure", "")
    check_figure(figure)
    how = How(
        out=Path(args.out) if args.out else None,
        quick=quick,
        num_seeds=whole("seeds", getattr(args, "seeds", 1), most=1000),
        changes=_changes(args) if experiment.fields and not experiment.takes_run else {},
        command=shlex.join(["lockstep", *args.words]),
    )
    for note in experiment.notes(asked):
        print(note, file=sys.stderr)
    report_framework(args)
    try:
        with work_progress(label, sys.stderr) as progress:
            outcome = carry_out(experiment, asked, how, progress)
    except Interrupted as stopped:
        print(f"{stopped}; the same command continues", file=sys.stderr)
        return 130
    if args.json:
        print_json(outcome.to_dict())
    else:
        show(outcome.parts)
        if outcome.chart and outcome.chart.panels:
            print_plot(outcome.chart.panels[0])
    for line in outcome.missing:
        print(f"no figure: {line}", file=sys.stderr)
    for file in outcome.files:
        print(f"{file.stem}: {file}", file=sys.stderr)
    if figure and outcome.chart:
        write_figure(draw(outcome.chart), figure)
    open_page(args, outcome.folder / "page.html")
    return 0


def _ask_all(args: argparse.Namespace) -> int:
    """Ask every experiment as a person would; one that fails is reported and hides no other."""
    from lockstep import experiments
    from lockstep.cli import main

    codes = {}
    for name in experiments.questions():
        print(f"\n== {name}", flush=True)
        form = ["--quick"] if args.quick else []
        folder = Path(args.out) / (f"{name}-quick" if form else name)
        codes[name] = main(["experiment", name, *form, "--out", str(folder)])
        if codes[name] == 130:
            return 130
    failed = [name for name, code in codes.items() if code]
    print(f"\n{len(codes) - len(failed)} of {len(codes)} experiments in {args.out}/")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 2 if failed else 0


def _asked(args: argparse.Namespace, experiment: Experiment[Any, Any], quick: bool) -> Any:
    """What the command line asks."""
    from lockstep.experiments.asking import asked_with

    items = dataclasses.fields(experiment.options)
    given = {item.name: getattr(args, _dest(item), None) for item in items}
    # a switch that is not given is False
    values = {name: None if value is False else value for name, value in given.items()}
    if experiment.takes_run:
        fields = dict(experiment.recipe_fields) if args.run == experiment.recipe else {}
        fields |= {n: v for n, v in experiment.quick.items() if quick and n not in values}
        for name, value in fields.items():
            _prefer_given(args, name, value)
        values["spec"] = args.run if args.run in experiment.besides else spec_from(args)
    return asked_with(experiment, values, quick)


def _prefer_given(args: argparse.Namespace, name: str, value: Any) -> None:
    """Set a field of the run that the command line does not name."""
    if "." in name:
        args.rest = [f"--{name}={value}", *args.rest]  # one that is given comes later, and counts
    elif getattr(args, name, None) is None:
        setattr(args, name, value if name == "lr" else str(value))  # fields are read from text


def _changes(args: argparse.Namespace) -> dict[str, Any]:
    changes: dict[str, Any] = asked_fields(args)
    return changes if args.lr is None else {**changes, "lr": args.lr}


def _list(args: argparse.Namespace) -> int:
    from lockstep import experiments
    from lockstep.experiments.asking import seconds_here
    from lockstep.report.quantities import duration

    rows, cells = [], []
    for name, question in experiments.questions().items():
        experiment = experiments.get(name)
        measured = experiment.seconds or (None, None)
        here = [seconds_here(name, quick) for quick in (False, True)]
        # "summary" is what programs of 0.1 read
        row = {"name": name, "question": question, "summary": question}
        rows.append({**row, "seconds": measured, "seconds_here": here})
        times = [
            duration(round(own)) if own else f"about {duration(round(known))}" if known else ""
            for own, known in zip(here, measured, strict=True)
        ]
        cells.append((name, question, *times))
    columns = ("experiment", "question", "in full", "quick")
    answer(args, rows, lambda: print_table(columns, cells))
    return 0
