"""`lockstep experiment NAME`: ask an experiment its question; `list` has them all. And two by older
names: `bench allreduce`, and `scale` for `scaling` (`scale horovod` asks the experiment `horovod`).

An experiment's options, tables and figure are its own (`lockstep.experiments`); here they become a
command. Its module is imported when the command is read, not before.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import typing
from typing import TYPE_CHECKING, Any

from lockstep.cli.asked_run import report_framework, spec_from
from lockstep.cli.output import (
    add_figure_option,
    answer,
    check_figure,
    print_json,
    print_table,
    write_figure,
)
from lockstep.cli.parsing import Parser
from lockstep.cli.run_options import add_run_options

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

    commands = parser.add_subparsers(dest="experiment", metavar="NAME", required=True)
    listing = commands.add_parser("list", help="every experiment and its question")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(handler=_list)
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
    question, how, *_ = [*experiment.about.strip().split("\n\n"), ""]
    parser.description = f"{question} {how}"
    own = [item for item in dataclasses.fields(experiment.options) if item.name != "spec"]
    if _takes_run(experiment):
        add_run_options(parser, [item.name for item in own])
    group = parser.add_argument_group("the experiment") if own else parser
    types = typing.get_type_hints(experiment.options)
    for item in own:
        _add_option(group, item, types[item.name])
    parser.add_argument("--json", action="store_true", help="print JSON")
    if experiment.figure:
        add_figure_option(parser)
    label = parser.prog.split()[-1].replace("-", " ")  # the last word of the command
    parser.set_defaults(handler=lambda args: ask(args, experiment, label))


def _takes_run(experiment: Experiment[Any, Any]) -> bool:
    return any(item.name == "spec" for item in dataclasses.fields(experiment.options))


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
    """Run an experiment with the options of the command line, and show its answer."""
    from lockstep.report.progress import work_progress
    from lockstep.report.tables import show

    asked = _asked(args, experiment)
    check_figure(getattr(args, "figure", ""))
    for note in experiment.notes(asked):
        print(note, file=sys.stderr)
    report_framework(args)
    with work_progress(label, sys.stderr) as progress:
        found = experiment.run(asked, progress)
    if args.json:
        print_json(experiment.to_dict(found))
    else:
        show(experiment.tables(found))
    if experiment.figure and args.figure:
        write_figure(experiment.figure(found), args.figure)
    return 0


def _asked(args: argparse.Namespace, experiment: Experiment[Any, Any]) -> Any:
    values = {}
    for item in dataclasses.fields(experiment.options):
        given = getattr(args, _dest(item), None)
        if given is not None:
            read = item.metadata["read"]
            values[item.name] = read(given) if read else given
    if _takes_run(experiment):
        values["spec"] = args.run if args.run in experiment.besides else spec_from(args)
    return experiment.options(**values)


def _list(args: argparse.Namespace) -> int:
    from lockstep import experiments

    questions = experiments.questions()
    # "summary" is what programs of 0.1 read
    rows = [{"name": n, "question": q, "summary": q} for n, q in questions.items()]
    answer(args, rows, lambda: print_table(("experiment", "question"), questions.items()))
    return 0
