"""Whether a plan keeps the rules of `transfers`."""

from __future__ import annotations

from collections.abc import Iterator

from lockstep.errors import InputError
from lockstep.experiments.allreduce.transfers import Arrival, Plan, Round, Transfer, arrivals


def check_plan(plan: Plan) -> Plan:
    """The plan itself, or an error that names the first transfer that breaks the rules."""
    for index, part in enumerate(plan.rounds):
        for problem in _problems(plan, part):
            remedy = "Put the transfer into another round, or mend its range."
            raise InputError(f"plan.rounds[{index}]", plan.rounds[index], problem, remedy)
    return plan


def _problems(plan: Plan, part: Round) -> Iterator[str]:
    devices = range(plan.num_devices)
    for t in part:
        if t.source not in devices or t.target not in devices or t.source == t.target:
            yield f"{t} does not join two of {plan.num_devices} devices"
        if not 0 <= t.start < t.stop <= plan.length:
            yield f"{t} has no part of {plan.length} elements"
    pairs = [(t.source, t.target) for t in part]
    if len(set(pairs)) < len(pairs):
        yield "two transfers go the same way"
    incoming = arrivals(part)
    for arrival in incoming:
        if not arrival.adds and len(arrival.sources) > 1:
            yield f"device {arrival.target} gets two copies of one part"
        for t in part:
            if t.source == arrival.target and _overlap(t, arrival):
                yield f"device {t.source} writes what it sends in {t}"
        for other in incoming:
            if other is not arrival and other.target == arrival.target and _overlap(other, arrival):
                yield f"device {arrival.target} receives parts that overlap"


def _overlap(one: Transfer | Arrival, other: Transfer | Arrival) -> bool:
    return one.start < other.stop and other.start < one.stop
