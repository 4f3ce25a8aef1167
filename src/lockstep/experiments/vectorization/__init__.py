"""How much faster is a matrix product when more of it is done in one call?

Computes A = B C for square matrices element by element, column by column, by blocks of columns, and
whole, in each framework, in a process of its own, as one would write it there without compiling.
Beside them is the measured peak of this machine: the best rate of any product, large ones included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lockstep.errors import InputError
from lockstep.experiments import Experiment, Progress, no_progress, option
from lockstep.frameworks import environments, registry
from lockstep.processes.children import Command, Workers
from lockstep.report.charts import Bar, Chart, Guide, Panel, framework_colour
from lockstep.report.quantities import parse_list
from lockstep.report.tables import TextTable
from lockstep.training.machine import machine_facts

WORKER = "lockstep.experiments.vectorization.product_worker"
WAYS = ("element", "column", "block", "whole")
PEAK_SIZE = 2048
SILENCE = 120.0  # seconds without a message: importing a framework takes its time


def _frameworks(text: str) -> tuple[str, ...]:
    if text == "all":
        return tuple(environments.usable())
    names = parse_list(text, "framework")
    for name in names:
        registry.check_known(name)
    return names


@dataclass(frozen=True)
class Question:
    frameworks: tuple[str, ...] = option(
        "all", "by name, or all that are usable here", read=_frameworks, metavar="LIST",
        flag="framework",
    )  # fmt: skip
    size: int = option(256, "rows and columns of the matrices", metavar="N")
    block: int = option(64, "columns of a block", metavar="N")
    seconds: float = option(1.0, "for each way in each framework, about", metavar="S")

    def __post_init__(self) -> None:
        if not 1 <= self.block <= self.size or self.size % self.block:
            remedy = f"Give a divisor of {self.size}."
            raise InputError("block", self.block, f"does not divide the size {self.size}", remedy)
        if not 0 < self.seconds < 3600:
            raise InputError("seconds", self.seconds, "is no time to measure", "Give 1 or so.")


@dataclass(frozen=True)
class Rate:
    """What a way does in a second, in 10^9 additions and multiplications: the median, and the
    bounds of the middle half. `calls` is how many products the whole matrix takes."""

    framework: str
    way: str
    calls: int
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Rates:
    asked: Question
    rates: tuple[Rate, ...]
    versions: dict[str, str]
    peak: float  # the best rate of all, products of PEAK_SIZE rows and columns among them
    peak_of: str


def run(asked: Question, progress: Progress = no_progress) -> Rates:
    """Each framework in turn, in the interpreter that has it."""
    rates: list[Rate] = []
    versions: dict[str, str] = {}
    peaks: dict[str, float] = {}
    total = len(asked.frameworks) * (len(WAYS) + 1)
    with TemporaryDirectory(prefix="lockstep-") as folder:
        for name in asked.frameworks:
            for message in _messages(name, asked, Path(folder)):
                if "version" in message:
                    versions[name] = message["version"]
                elif message["way"] == "peak":
                    peaks[name] = message["median"]
                else:
                    rates.append(Rate(name, **message))
                progress((len(rates) + len(peaks)) / total, f"{name}: {message.get('way', '')}")
    best = {f"{PEAK_SIZE} x {PEAK_SIZE} in {name}": value for name, value in peaks.items()}
    best |= {f"{r.way}, {asked.size} x {asked.size} in {r.framework}": r.median for r in rates}
    peak_of = max(best, key=lambda name: best[name])
    return Rates(asked, tuple(rates), versions, best[peak_of], peak_of)


def _messages(name: str, asked: Question, folder: Path) -> Iterator[dict[str, Any]]:
    job = {"framework": name, "size": asked.size, "block": asked.block, "seconds": asked.seconds}
    command = Command(name, environments.interpreter(name), WORKER, {**job, "peak": PEAK_SIZE})
    with Workers([command], folder) as workers:
        for _, message in workers.messages(SILENCE, SILENCE + 60 * asked.seconds):
            yield message


def tables(found: Rates) -> Iterator[TextTable | str]:
    """A row for each framework: the rate of each way, and how often the product is called."""
    rows = []
    for name in found.asked.frameworks:
        own = {rate.way: rate for rate in found.rates if rate.framework == name}
        gain = own["whole"].median / own["element"].median
        cells = [_rate(own[way].median) for way in WAYS]
        rows.append([f"{name} {found.versions[name]}", *cells, f"{gain:,.0f}"])
    calls = {rate.way: rate.calls for rate in found.rates}
    ways = [f"{way} ({calls[way]:,} call{'s'[: calls[way] > 1]})" for way in WAYS]
    title = f"GFLOP/s of a {found.asked.size} x {found.asked.size} product"
    columns = ("framework", *ways, "whole / element")
    yield TextTable(columns, rows, left=("framework",), title=title)
    yield f"measured peak of this machine: {_rate(found.peak)} GFLOP/s ({found.peak_of})"


def _rate(value: float) -> str:
    return f"{value:.3g}"


def to_dict(found: Rates) -> dict[str, Any]:
    return asdict(found)


def chart(found: Rates) -> Chart:
    """A bar for each way in each framework, on a logarithmic axis, and the measured peak."""
    least = min(rate.low for rate in found.rates) / 3  # where bars begin: the axis has no 0
    bars = tuple(
        Bar(
            place,
            rate.median,
            begin=least,
            colour=framework_colour(rate.framework),
            label=rate.framework if rate.way == WAYS[0] else "",
            low=rate.low,
            high=rate.high,
        )
        for place, rate in enumerate(found.rates)
    )
    panel = Panel(
        f"a {found.asked.size} x {found.asked.size} product, by how much is done in one call",
        "GFLOP/s",
        "",
        bars=bars,
        rows=tuple(f"{rate.framework}, {rate.way}" for rate in found.rates),
        x_log=True,
        guides=(Guide(found.peak, f"measured peak {_rate(found.peak)}", "x"),),
        caption="A bar for each way in each framework; the line is the measured peak.",
        wide=True,
    )
    facts = machine_facts()
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    note = f"float32 · {versions} · {facts['processor']}, {facts['cores']} cores"
    return Chart("Vectorization", (panel,), note)


LOOK_AT = """
The arithmetic is the same in all four ways. Element by element, a framework is called 65,536 times
for 512 operations each, and nearly all the time goes into calling it: less than a hundredth of the
peak is left. A column takes 256 calls, a block of 64 columns four, the whole product one.

The step from columns to blocks is not only about calls. A block is reused while it is in the cache,
and the processor's vector units and all its cores get enough to do. From there to the whole product
little is gained: a batch of examples need only be large enough, not as large as possible.
"""

EXPERIMENT = Experiment(
    "vectorization",
    __doc__,
    Question,
    run,
    tables,
    to_dict,
    chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment vectorization --size 1024 --block 128",
        "lockstep experiment vectorization --framework numpy,torch",
    ),
    quick={"seconds": 0.1},
    seconds=(23, 11),
)
