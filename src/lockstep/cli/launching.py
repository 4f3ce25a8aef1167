"""The options that say how the processes of a run are started, and starting them by torchrun."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.cli.run_options import tell_framework
from lockstep.errors import InputError, LockstepError

if TYPE_CHECKING:
    from lockstep.spec import RunSpec

LAUNCHES = ("auto", "processes", "torchrun")
_OPTIONS = ("--launch", "--nodes", "--node-rank", "--rendezvous", "--max-restarts", "--out")


def add_launch_options(parser: argparse.ArgumentParser) -> None:
    """Options for a run on several devices that are processes."""
    group = parser.add_argument_group("several processes")
    group.add_argument(
        "--launch",
        choices=LAUNCHES,
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
        help="torchrun: how often to go on from the last checkpoint when a process is lost",
    )


def run_torchrun(args: argparse.Namespace, spec: RunSpec, out: Path) -> int:
    """Start this command by torchrun in `spec.devices` processes; the run's exit code."""
    from lockstep.frameworks import environments, threads
    from lockstep.training.directory import RunDirectory

    _check(args, spec)
    tell_framework(args)
    python = environments.interpreter(spec.framework)
    local = spec.devices // args.nodes
    # the framework by name: the processes must not choose for themselves
    words = [*without_options(args.words), "--framework", spec.framework]
    if hasattr(args, "out"):  # a run that is resumed has a folder
        words += ["--out", str(out)]
    code = subprocess.run(
        [python, "-m", "torch.distributed.run", *_torchrun_options(args, local), *words],
        # torchrun would choose 1 and say so at length
        env=environments.variables(python) | threads.share(spec.threads, local),
        check=False,
    ).returncode
    if code:
        message = f"torchrun ended with exit code {code}."
        raise LockstepError(f"{message} Go on with: lockstep resume {out}")
    status = RunDirectory(out).status if args.node_rank == 0 else "completed"
    return {"interrupted": 130, "diverged": 3}.get(status, 0)


def _torchrun_options(args: argparse.Namespace, local: int) -> list[str]:
    if args.nodes > 1:  # static: c10d would give ranks to the nodes as they come
        meeting = ["--rdzv-backend=static", f"--rdzv-endpoint={args.rendezvous}"]
    else:
        place = args.rendezvous or "127.0.0.1:0"
        meeting = ["--rdzv-backend=c10d", f"--rdzv-endpoint={place}", "--local-addr=127.0.0.1"]
    return [
        f"--nnodes={args.nodes}",
        f"--node-rank={args.node_rank}",
        f"--nproc-per-node={local}",
        f"--max-restarts={args.max_restarts}",
        *meeting,
        "--module",
        "lockstep",
    ]


def _check(args: argparse.Namespace, spec: RunSpec) -> None:
    from lockstep.frameworks import registry

    if not registry.devices_are_processes(spec.framework):
        remedy = "Use --launch processes, or --framework torch."
        raise InputError("launch", "torchrun", f"does not start {spec.framework}", remedy)
    if args.nodes < 1 or spec.devices % args.nodes:
        problem = f"does not divide {spec.devices} devices"
        raise InputError("nodes", args.nodes, problem, "Give as many devices on each machine.")
    if not 0 <= args.node_rank < args.nodes:
        remedy = f"Give 0 to {args.nodes - 1}."
        raise InputError("node_rank", args.node_rank, f"there are {args.nodes} nodes", remedy)
    if args.nodes > 1 and not args.rendezvous:
        remedy = "Give --rendezvous HOST:PORT of node 0."
        raise InputError("nodes", args.nodes, "no address is given at which they meet", remedy)


def without_options(words: Sequence[str]) -> list[str]:
    """The command line without what its launcher has dealt with.

    >>> without_options(["train", "fashion-lenet", "--launch", "torchrun", "--devices=2"])
    ['train', 'fashion-lenet', '--devices=2']
    """
    kept: list[str] = []
    items = iter(words)
    for item in items:
        name, equals, _ = item.partition("=")
        if name not in _OPTIONS:
            kept.append(item)
        elif not equals:
            next(items, None)
    return kept
