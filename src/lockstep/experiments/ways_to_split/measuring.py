"""Start one process for each device, receive what they report, and join their parts again."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.data import ExamplePlan, Examples, fashion_mnist
from lockstep.errors import InputError, LockstepError, MissingError
from lockstep.experiments import Progress, no_progress
from lockstep.experiments.ways_to_split import findings, holdings
from lockstep.experiments.ways_to_split.findings import DeviceFacts, Results, WayFacts, Work
from lockstep.experiments.ways_to_split.question import (
    LAYERS,
    ONE,
    Question,
    file_name,
    num_updates,
)
from lockstep.frameworks import environments
from lockstep.ops import Arrays
from lockstep.processes.children import Command, Workers

SILENCE = 120.0  # seconds in which every device must report something
TIMEOUT = 3600.0
# glibc gives freed memory back to the system, and page faults for what is asked for anew take up to
# half of a step, now of one way, now of another; with this it keeps what it has
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": f"{32 << 20}", "MALLOC_TRIM_THRESHOLD_": f"{1 << 30}"}
KINDS = ("gradient", "weights")  # what devices leave in files
MODULE = "lockstep.experiments.ways_to_split.ways.split_worker"

Message = dict[str, Any]  # what a device reports of one step, with its rank
Messages = dict[str, list[Message]]  # by way


def run(question: Question, progress: Progress = no_progress) -> Results:
    """Every step of every way, in turns; one device alone among them."""
    python = environments.interpreter("torch")
    examples = load_examples(question)
    with tempfile.TemporaryDirectory(prefix="lockstep-") as name:
        folder = Path(name)
        _write_start(folder / "start.npz", question, examples)
        received = _receive(question, folder, python, progress)
        reference = {what: _parts(folder, what, ONE, question)[0] for what in KINDS}
        ways = tuple(
            _facts(question, way, received[way], folder, reference) for way in _ways(question)
        )
    return Results(question, examples.origin, ways, _timeline(received.get(LAYERS, [])))


def _ways(question: Question) -> tuple[str, ...]:
    return (ONE, *question.ways)


# --- what they start from -------------------------------------------------------------------------


def load_examples(question: Question) -> Examples:
    """Fashion-MNIST if it is here or asked for, only then from elsewhere; else generated images.
    The origin says which."""
    examples = None
    if question.data != "generated":
        try:
            examples = fashion_mnist.load(remote=question.data == "real")[0]
        except MissingError:
            if question.data == "real":
                raise
    examples = examples or fashion_mnist.generate(seed=question.seed)[0]
    if question.batch_size > len(examples):
        problem = f"there are {len(examples):,} images"
        raise InputError("batch_size", question.batch_size, problem, "Give a smaller one.")
    return examples


def _write_start(path: Path, question: Question, examples: Examples) -> None:
    """The batches of a run with this seed, in its order, and its initial weights."""
    plan = ExamplePlan(len(examples), question.batch_size, drop_last=True, seed=question.seed)
    blocks: list[np.ndarray] = []
    while sum(map(len, blocks)) < num_updates(question.steps):
        blocks.append(plan.epoch(len(blocks))[0])
    rows = np.concatenate(blocks)[: num_updates(question.steps)]
    used, places = np.unique(rows, return_inverse=True)
    start: dict[str, Any] = {"images": examples.x[used], "labels": examples.y[used]}
    start |= question.model.initial_weights(question.seed)
    np.savez(path, rows=places.reshape(rows.shape), **start)


# --- what they report -----------------------------------------------------------------------------


def _receive(question: Question, folder: Path, python: str, progress: Progress) -> Messages:
    job = {
        "world_size": question.devices,
        "folder": str(folder),
        "silence": SILENCE,
        "pooling": question.pooling,
        "precision": question.precision,
        "micro_batches": question.micro_batches,
        "steps": question.steps,
        "ways": list(_ways(question)),
    }
    names = [f"rank {rank} of {question.devices}" for rank in range(question.devices)]
    commands = [
        Command(name, python, MODULE, {"rank": rank, **job}, variables=KEEP_MEMORY)
        for rank, name in enumerate(names)
    ]
    received: Messages = defaultdict(list)
    done, total = 0, len(_ways(question)) * num_updates(question.steps)
    with Workers(commands, folder) as workers:
        for rank, message in workers.messages(SILENCE, TIMEOUT):
            if "way" not in message:
                continue
            received[message["way"]].append({"rank": rank, **message})
            if rank == 0:
                done += 1
                progress(done / total, message["way"])
    return received


def _facts(
    question: Question,
    way: str,
    messages: list[Message],
    folder: Path,
    reference: dict[str, Arrays],
) -> WayFacts:
    ranks = _ranks(question, way)
    messages = [message for message in messages if message["rank"] in ranks]
    seconds, losses = (_per_step(messages, question.steps, what) for what in ("seconds", "loss"))
    if any(len(row) != len(ranks) for row in seconds):
        raise LockstepError(f"way = {way!r}: not every device reported every step.")
    found = {what: _parts(folder, what, way, question) for what in KINDS}
    first, last = (reference[what] for what in KINDS)
    return WayFacts(
        way,
        tuple(map(max, seconds)),
        tuple(map(sum, losses)),
        tuple(_device(question, way, rank, messages) for rank in ranks),
        max(findings.largest_deviation(gradient, first) for gradient in found["gradient"]),
        max(findings.path_deviation(weights, last) for weights in found["weights"]),
        found["gradient"][0],
    )


def _per_step(messages: list[Message], steps: int, what: str) -> list[list[Any]]:
    """What every device reported of each step, the devices in order: [step][device]."""
    found: list[list[Any]] = [[] for _ in range(steps)]
    for message in sorted(messages, key=lambda m: int(m["rank"])):
        if message["repeat"] >= 0:
            found[message["repeat"]].append(message[what])
    return found


def _ranks(question: Question, way: str) -> range:
    """The devices with a part in it: beside one device alone the others do nothing, and their time
    is not its time."""
    return range(1 if way == ONE else question.devices)


def _device(question: Question, way: str, rank: int, messages: list[Message]) -> DeviceFacts:
    messages = [message for message in messages if message["rank"] == rank]
    timed = [message for message in messages if message["repeat"] >= 0]
    return DeviceFacts(
        holdings.words(question, way, rank),
        holdings.num_parameters(question, way, rank),
        max(message.get("activations", 0) for message in messages),
        max(message["sent"] for message in timed),
        max(message["messages"] for message in timed),
        tuple(message["seconds"] - message["waited"] for message in timed),
    )


def _parts(folder: Path, what: str, way: str, question: Question) -> list[Arrays]:
    """What the devices left, made whole: once, or a copy from each that has all of it."""
    found = []
    for rank in _ranks(question, way):
        with np.load(folder / file_name(what, way, rank)) as file:
            found.append(dict(file))
    return holdings.join(question, way, found)


def _timeline(messages: list[Message]) -> tuple[Work, ...]:
    """The step whose time is the median of the pipeline's, or the next shorter one."""
    longest: dict[int, float] = {}
    for message in messages:
        if (repeat := message["repeat"]) >= 0:
            longest[repeat] = max(longest.get(repeat, 0.0), message["seconds"])
    if not longest:
        return ()
    chosen = sorted(longest, key=lambda repeat: longest[repeat])[(len(longest) - 1) // 2]
    messages = [message for message in messages if message["repeat"] == chosen]
    start = min(message["begin"] for message in messages)
    return tuple(
        Work(message["rank"], direction, index, begin - start, end - start)
        for message in sorted(messages, key=lambda m: int(m["rank"]))
        for direction, index, begin, end in message["work"]
    )
