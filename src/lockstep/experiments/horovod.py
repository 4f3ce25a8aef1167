"""Does the scaling model predict the efficiencies that Horovod published?

Horovod's own benchmarks (https://github.com/horovod/horovod: README.md of September and October
2017 with the times of one GPU, docs/benchmarks.rst of 2018 for 512): servers of 4 Pascal GPUs, 64
images each, NCCL's ring. What the links reached and how long a round took was not published: each
figure is predicted with the nominal rate, and with the link that fits the other figures of its
network best, so that it has no say in its own prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from typing import Any

from lockstep.experiments import Experiment, NoOptions, Progress, no_progress
from lockstep.experiments.allreduce.cost import Hosts, Link
from lockstep.experiments.scaling.architectures import profile_of
from lockstep.experiments.scaling.overlap import AFTER, DURING, WAYS, Way
from lockstep.experiments.scaling.step_time import Network, Row, estimate
from lockstep.report.charts import INK, SERIES, Bar, Chart, Panel, Series
from lockstep.report.quantities import percent
from lockstep.report.tables import TextTable

FUSION = 64 * 2**20  # Horovod's fusion buffer, HOROVOD_FUSION_THRESHOLD's default
LATENCY = 5e-6  # assumed: a message between GPUs; it is not published
INNER = 12e9  # assumed: PCIe 3 x16, as measured on such machines; ideally 15.75e9
RATES = [part / 25 for part in range(15, 26)]  # of the nominal bandwidth: 60 to 100 %
FEWEST = 3  # figures to fit to: two numbers fit any two
LATENCIES = [count / 1e6 for count in range(5, 65, 5)]  # seconds of a round: 5 to 60 us


@dataclass(frozen=True)
class Published:
    """What was published: so many images per second on one GPU, such an efficiency on k."""

    model: str
    devices: int
    bandwidth: float  # bytes per second, of a server
    images_per_second: float
    efficiency: float
    setting: str


ROCE, TCP = 25e9 / 8, 40e9 / 8
SMALL, LARGE = "4 servers, 25 Gbit RoCE", "128 servers, 25 Gbit RoCE"
PLAIN = "16 servers, 40 Gbit TCP"
PUBLISHED = (
    Published("inception-v3", 16, ROCE, 134.4, 2022.6 / 134.4 / 16, SMALL),
    Published("resnet-101", 16, ROCE, 119.4, 1746.2 / 119.4 / 16, SMALL),
    Published("vgg-16", 16, ROCE, 130.9, 1787.4 / 130.9 / 16, SMALL),
    Published("inception-v3", 64, TCP, 148.8, 7932.1 / 148.8 / 64, PLAIN),
    Published("resnet-101", 64, TCP, 136.0, 7741.6 / 136.0 / 64, PLAIN),
    Published("vgg-16", 64, TCP, 149.6, 6084.2 / 149.6 / 64, PLAIN),
    # the time of one GPU is not published with these: that of the same GPUs on 4 servers
    Published("inception-v3", 512, ROCE, 134.4, 0.90, LARGE),
    Published("resnet-101", 512, ROCE, 119.4, 0.90, LARGE),
    Published("vgg-16", 512, ROCE, 130.9, 0.68, LARGE),
)


def predicted(figure: Published, link: Link | None = None, ways: Sequence[Way] = WAYS) -> Row:
    """What the model says of a published figure; a link that is not given has its full rate.

    >>> from lockstep.experiments.scaling.overlap import DURING
    >>> row = predicted(PUBLISHED[0])
    >>> round(row.efficiency(DURING), 2)
    0.97
    """
    link = link or Link(LATENCY, figure.bandwidth)
    network = Network(link, Hosts(4, INNER), FUSION)
    profile = profile_of(figure.model, figure.images_per_second)
    return estimate(profile, [figure.devices], ["ring"], network, ["weak"], ways)[0]


def others(figure: Published) -> list[Published]:
    """The published figures of the same network but this one."""
    return [f for f in PUBLISHED if f.bandwidth == figure.bandwidth and f != figure]


def fitted(figures: Sequence[Published]) -> Link:
    """The link, of those with RATES and LATENCIES, with the least sum of squared differences from
    the published efficiencies; the exchange is in buckets during the backward pass."""
    bandwidth = figures[0].bandwidth
    links = [Link(latency, rate * bandwidth) for rate, latency in product(RATES, LATENCIES)]
    return min(links, key=lambda link: sum(_miss(figure, link) ** 2 for figure in figures))


def predicted_by_others(figure: Published) -> Row | None:
    """A published figure as the others of its network have it; None where these are too few.

    >>> vgg = next(f for f in PUBLISHED if (f.model, f.devices) == ("vgg-16", 512))
    >>> vgg.efficiency, round(predicted_by_others(vgg).efficiency(DURING), 2)
    (0.68, 0.69)
    """
    figures = others(figure)
    return predicted(figure, fitted(figures)) if len(figures) >= FEWEST else None


@cache
def _miss(figure: Published, link: Link) -> float:
    return predicted(figure, link, [DURING]).efficiency(DURING) - figure.efficiency


# --- the experiment -------------------------------------------------------------------------------


# a published figure, the model's with links at their full rate, and with a fitted link
Compared = tuple[Published, Row, Row | None]


def run(asked: NoOptions, progress: Progress = no_progress) -> list[Compared]:
    """Predict every published figure in both ways."""
    found = []
    for number, figure in enumerate(PUBLISHED, 1):
        found.append((figure, predicted(figure), predicted_by_others(figure)))
        progress(number / len(PUBLISHED), f"{figure.model} on {figure.devices}")
    return found


def tables(found: Sequence[Compared]) -> Iterator[TextTable | str]:
    """Published efficiencies beside the model's, and what it assumes."""
    columns = (
        "model", "devices", "setting", "published", "buckets, after", "buckets, during", "too high",
        "fitted", "too high",
    )  # fmt: skip
    rows = [
        (
            figure.model,
            str(figure.devices),
            figure.setting,
            percent(figure.efficiency),
            percent(row.efficiency(AFTER)),
            *_excess(figure, row),
            *(_excess(figure, fitted) if fitted else ("-", "-")),
        )
        for figure, row, fitted in found
    ]
    yield TextTable(columns, rows, left=("model", "setting"))
    yield (
        "ring, links at their full rate, 5 us a round, buckets of 64 MiB, servers of 4 GPUs that "
        "share a link; fitted: with the rate and the time of a round that fit the other figures of "
        "the same network; docs/scaling.md has every assumption"
    )


def _excess(figure: Published, row: Row) -> tuple[str, str]:
    """What the model says, and by how many points that is more than was published."""
    during = row.efficiency(DURING)
    return percent(during), f"{100 * (during - figure.efficiency):+.1f}"


def to_dict(found: Sequence[Compared]) -> list[dict[str, Any]]:
    def values(row: Row | None) -> dict[str, float] | None:
        return {way.name: row.efficiency(way) for way in WAYS} if row else None

    return [{**asdict(f), "predicted": values(p), "fitted": values(o)} for f, p, o in found]


def chart(found: Sequence[Compared]) -> Chart:
    """Published efficiencies as bars; predictions with the nominal and with the fitted link."""
    bars = tuple(
        Bar(place, 100 * figure.efficiency, colour=SERIES[5], label="" if place else "published")
        for place, (figure, _, _) in enumerate(found)
    )
    nominal = {place: row for place, (_, row, _) in enumerate(found)}
    fitted = {place: row for place, (_, _, row) in enumerate(found) if row}
    points = tuple(
        Series(
            label,
            [100 * row.efficiency(DURING) for row in rows.values()],
            list(rows),
            colour,
            line=False,
            marker=marker,
        )
        for label, marker, colour, rows in (
            ("nominal link", "diamond", INK, nominal),
            ("fitted link", "circle", SERIES[1], fitted),
        )
    )
    names = tuple(f"{figure.model}, {figure.devices} GPUs" for figure, _, _ in found)
    panel = Panel("", "efficiency (%)", "", points, bars, names, wide=True)
    note = "published: Horovod's benchmarks of 2017 and 2018, Pascal GPUs · predicted: a model"
    return Chart("efficiency: published by Horovod, and predicted", (panel,), note, columns=1)


LOOK_AT = """
The diamonds assume that the links reach their nominal rate and that a round costs 5 us. All of them
with RDMA are too high, and the more so the more is exchanged: VGG-16, with 138 million weights, on
512 GPUs by 23 points.

The dots take the rate and the time of a round from the other published figures of the same network.
With these, every figure with RDMA is met within five points. The three with TCP have none: two
other figures are too few to fit two numbers to.
"""

EXPERIMENT = Experiment(
    "horovod",
    __doc__,
    NoOptions,
    run,
    tables,
    to_dict,
    chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment scaling vgg-16 --devices 16,512 --per-host 4 --bucket 64MiB "
        "--algorithms ring",
        "lockstep experiment scaling resnet-101 --per-host 4 --bandwidth 100Gbit",
    ),
    seconds=(3, 2),
)
