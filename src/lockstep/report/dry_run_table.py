"""What a run would do, in the terminal."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from lockstep.report.quantities import duration, format_size, rate
from lockstep.report.tables import facts_table, filled, show

if TYPE_CHECKING:
    from lockstep.training.dry_run import DryRun


def print_dry_run(found: DryRun, folder: Path, file: TextIO | None = None) -> None:
    """Its steps, data, model, memory and time, and each array of the model."""
    spec = found.spec
    title = f"{spec.name} in {spec.framework}, {spec.style}, {spec.precision}: would be trained"
    facts = [
        ("steps", steps_line(found)),
        *(("data", line) for line in data_lines(found)),
        ("model", f"{spec.model.kind}, {found.num_parameters:,} parameters"),
        ("memory", memory_line(found)),
        *(("runs as", note) for note in found.notes),
        *time_lines(found),
        ("folder", str(folder)),
    ]
    rows = [
        [name, " x ".join(map(str, shape)) or "1", f"{prod(shape):,}"]
        for name, shape in found.shapes.items()
    ]
    table = filled(("array", "shape", "parameters"), rows, left=("array",))
    show([Text(title, "bold"), facts_table(facts), table], file)


def steps_line(found: DryRun) -> str:
    """How many updates, and of what."""
    spec = found.spec
    each = f"{found.steps_per_epoch:,} to an epoch, batches of {spec.batch_size:,}"
    devices = f" on {spec.devices} devices" if spec.devices > 1 else ""
    return f"{found.num_steps:,}: {each}{devices}"


def data_lines(found: DryRun) -> list[str]:
    """Where it is from, and how many examples each split has."""
    facts = found.facts
    words = [str(facts[name]) for name in ("name", "edition", "place") if facts.get(name)]
    counts = [f"{split}: {count:,} {found.unit}" for split, count in found.examples.items()]
    return [", ".join(words), ", ".join(counts)]


def memory_line(found: DryRun) -> str:
    """The bytes of each part, and what comes on top."""
    parts = [f"{name} {format_size(size)}" for name, size in found.memory.items() if size]
    *parts, total = parts
    return f"about {total.removeprefix('total ')} ({', '.join(parts)}), and the framework itself"


def time_lines(found: DryRun) -> list[tuple[str, str]]:
    """The guess, and what it is made of; of a run that diverges soon, that it does."""
    if found.diverged is not None:
        return [("ends", f"diverged: the loss is not finite at step {found.diverged:,}")]
    if found.seconds is None or found.step_seconds is None:
        return []
    parts = [f"{rate(1 / max(found.step_seconds, 1e-12))} steps/s"]
    parts.append(f"compile {duration(found.compile_seconds)}")
    if found.num_evaluations:
        each = duration(found.evaluation_seconds)
        parts.append(f"{found.num_evaluations:,} evaluations of {each}")
    return [("time", f"about {duration(found.seconds)} ({', '.join(parts)})")]
