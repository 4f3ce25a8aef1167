"""The options that say how the processes of a run are started."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from lockstep.processes import ranks

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.training.in_processes import Launch


def add_launch_options(parser: argparse.ArgumentParser) -> None:
    """Options for a run on several devices that are processes."""
    group = parser.add_argument_group("several processes")
    group.add_argument(
        "--launch",
        choices=("auto", "processes", "torchrun"),
        default="auto",
        help="auto: processes where a framework needs them; processes: one for each device; "
        "torchrun: the same by torch's own launcher",
    )
    group.add_argument(
        "--nodes", type=int, default=1, metavar="N", help="torchrun: how many machines"
    )
    group.add_argument(
        "--node-rank", type=int, default=0, metavar="I", help="torchrun: which one this is, from 0"
    )
    group.add_argument("--rendezvous", metavar="HOST:PORT", help="torchrun: where they meet")
    group.add_argument(
        "--max-restarts",
        type=int,
        default=0,
        metavar="N",
        help="torchrun: how often to continue from the last checkpoint when a process is lost",
    )


def launch_from(args: argparse.Namespace) -> Launch:
    """How the command line asks for the run's processes to be started."""
    from lockstep.training.in_processes import Launch

    return Launch(
        args.launch,
        nodes=args.nodes,
        node_rank=args.node_rank,
        rendezvous=args.rendezvous or "",
        max_restarts=args.max_restarts,
    )


def with_all_processes(spec: RunSpec, args: argparse.Namespace) -> RunSpec:
    """One of several processes trains with all of them, unless asked otherwise."""
    place = ranks.current()
    return spec.with_fields({"devices": place.world_size}) if place and not args.devices else spec
