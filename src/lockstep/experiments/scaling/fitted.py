"""What published figures say of their network: the rate that its links reached, and a round's time.

Neither was published. A figure is predicted with the link that fits the other figures of its
network best, so that it has no say in its own prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

from lockstep.experiments.allreduce.cost import Link
from lockstep.experiments.scaling.model import Row
from lockstep.experiments.scaling.overlap import DURING
from lockstep.experiments.scaling.published import PUBLISHED, Figure, predicted

RATES = [part / 25 for part in range(15, 26)]  # of the nominal bandwidth: 60 to 100 %
FEWEST = 3  # figures to fit to: two numbers fit any two
LATENCIES = [count / 1e6 for count in range(5, 65, 5)]  # seconds of a round: 5 to 60 us


def others(figure: Figure) -> list[Figure]:
    """The published figures of the same network but this one."""
    return [f for f in PUBLISHED if f.bandwidth == figure.bandwidth and f != figure]


def fitted(figures: Sequence[Figure]) -> Link:
    """The link, of those with RATES and LATENCIES, with the least sum of squared differences from
    the published efficiencies; the exchange is in buckets during the backward pass."""
    bandwidth = figures[0].bandwidth
    links = [Link(latency, rate * bandwidth) for rate, latency in product(RATES, LATENCIES)]
    return min(links, key=lambda link: sum(_miss(figure, link) ** 2 for figure in figures))


def foretold(figure: Figure) -> Row | None:
    """A published figure as the others of its network have it; None where these are too few.

    >>> vgg = next(f for f in PUBLISHED if (f.model, f.devices) == ("vgg-16", 512))
    >>> vgg.efficiency, round(foretold(vgg).efficiency(DURING), 2)
    (0.68, 0.69)
    """
    figures = others(figure)
    return predicted(figure, fitted(figures)) if len(figures) >= FEWEST else None


@cache
def _miss(figure: Figure, link: Link) -> float:
    return predicted(figure, link, [DURING]).efficiency(DURING) - figure.efficiency
