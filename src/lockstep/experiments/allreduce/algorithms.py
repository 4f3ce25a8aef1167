"""Allreduce algorithms, each a pure function (num_devices, length) -> Plan.

S is the size of the buffer, k the number of devices. All of them move 2 S (k-1) in total; they
differ in how evenly, and in how many rounds.

    algorithm         rounds           most that one device sends
    gather_broadcast  2 (k-1)          S (k-1), device 0, which receives as much
    star              2                S (k-1), device 0, which receives as much
    sharded           2                2 S (k-1)/k
    ring              2 (k-1)          2 S (k-1)/k
    tree              2 ceil(log2 k)   S ceil(log2 k), device 0
    halving_doubling  2 log2 p (+ 2)   2 S (p-1)/p (+ S), p the largest power of two <= k;
                                       what stands in brackets only if p < k

S (k-1)/k is exact where k divides the length; the functions state the bound for any length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lockstep.errors import unknown
from lockstep.experiments.allreduce.transfers import Plan, Transfer, make_plan
from lockstep.processes.splitting import check_num_devices, shard_slices

Algorithm = Callable[[int, int], Plan]
Span = tuple[int, int]


def gather_broadcast(num_devices: int, length: int) -> Plan:
    """The chapter's loops: one device after another to device 0, which adds; then to one after
    another.

    >>> gather_broadcast(4, 8).sent, gather_broadcast(4, 8).num_rounds
    ((24, 8, 8, 8), 6)
    """
    return make_plan(
        num_devices, length, [[t] for part in _star(num_devices, length) for t in part]
    )


def star(num_devices: int, length: int) -> Plan:
    """All devices to device 0 at once, which adds in rank order; then to all at once.

    What gather_broadcast would be without waiting: device 0 still moves all of it.

    >>> star(4, 8).sent, star(4, 8).num_rounds
    ((24, 8, 8, 8), 2)
    """
    return make_plan(num_devices, length, _star(num_devices, length))


def _star(num_devices: int, length: int) -> list[list[Transfer]]:
    others = range(1, num_devices)
    gather = [Transfer(device, 0, 0, length, True) for device in others]
    return [gather, [Transfer(0, device, 0, length, False) for device in others]]


def sharded(num_devices: int, length: int) -> Plan:
    """Each device adds up its own part, in rank order, and sends it to all: the exercise.

    A device with a part of c elements sends length - c, then (k-1) c: at most
    length + (k-2) ceil(length/k), which is 2 length (k-1)/k where k divides the length. The sums
    are those of gather_broadcast bit for bit.

    >>> sharded(4, 8).sent, sharded(4, 9).sent
    ((12, 12, 12, 12), (15, 13, 13, 13))
    """
    parts = _parts(num_devices, length)
    # device i begins with i+1: no device is the first goal of all others
    pairs = [
        (i, (i + shift) % num_devices)
        for shift in range(1, num_devices)
        for i in range(num_devices)
    ]
    scatter = [Transfer(i, j, *parts[j], True) for i, j in pairs]
    gather = [Transfer(i, j, *parts[i], False) for i, j in pairs]
    return make_plan(num_devices, length, [scatter, gather])


def ring(num_devices: int, length: int) -> Plan:
    """Parts travel around a ring: once to be summed up, once more to be known everywhere.

    Device i never sends part i+1 in the first turn, nor part i+2 in the second: it sends at most
    2 (length - floor(length/k)), which is 2 length (k-1)/k where k divides the length.

    >>> ring(4, 8).sent, ring(4, 9).sent, ring(4, 8).num_rounds
    ((12, 12, 12, 12), (14, 14, 13, 13), 6)
    """
    parts, k = _parts(num_devices, length), num_devices

    def turn(first: int, adds: bool) -> Iterator[list[Transfer]]:
        for step in range(k - 1):
            yield [Transfer(i, (i + 1) % k, *parts[(i + first - step) % k], adds) for i in range(k)]

    return make_plan(num_devices, length, [*turn(0, True), *turn(1, False)])


def tree(num_devices: int, length: int) -> Plan:
    """Sums of pairs, of pairs of pairs, ... up to device 0 (a binomial tree), and back down.

    >>> tree(4, 8).sent, tree(5, 8).num_rounds
    ((16, 8, 16, 8), 6)
    """
    rounds = []
    distance = 1
    while distance < num_devices:
        lower = range(0, num_devices - distance, 2 * distance)
        rounds.append([(device, device + distance) for device in lower])
        distance *= 2
    up = [[Transfer(high, low, 0, length, True) for low, high in pairs] for pairs in rounds]
    down = [[Transfer(low, high, 0, length, False) for low, high in pairs] for pairs in rounds]
    return make_plan(num_devices, length, [*up, *reversed(down)])


def halving_doubling(num_devices: int, length: int) -> Plan:
    """Partners exchange halves, then halves of these, ...; then the way back, doubling.

    Among the first p devices, p the largest power of two. Each further device first gives all it
    has to a partner among them, and has the sum from it in the end.

    >>> halving_doubling(4, 8).sent, halving_doubling(5, 8).sent
    ((12, 12, 12, 12), (20, 12, 12, 12, 8))
    """
    check_num_devices(num_devices)
    inner = 1 << (num_devices.bit_length() - 1)
    extra = range(inner, num_devices)
    fold = [Transfer(device, device - inner, 0, length, True) for device in extra]
    unfold = [Transfer(device - inner, device, 0, length, False) for device in extra]

    spans: list[Span] = [(0, length)] * inner
    halving, doubling = [], []
    distance = inner // 2
    while distance:
        kept = [_half(spans[i], upper=bool(i & distance)) for i in range(inner)]
        pairs = [(i, i ^ distance) for i in range(inner)]
        halving.append([Transfer(i, j, *kept[j], True) for i, j in pairs])
        doubling.append([Transfer(i, j, *kept[i], False) for i, j in pairs])
        spans = kept
        distance //= 2
    return make_plan(num_devices, length, [fold, *halving, *reversed(doubling), unfold])


ALGORITHMS: dict[str, Algorithm] = {
    "gather_broadcast": gather_broadcast,
    "star": star,
    "sharded": sharded,
    "ring": ring,
    "tree": tree,
    "halving_doubling": halving_doubling,
}


def get(name: str) -> Algorithm:
    """The algorithm of that name.

    >>> get("ring")(2, 4).num_rounds
    2
    """
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    return ALGORITHMS[name]


def _parts(num_devices: int, length: int) -> list[Span]:
    return [(part.start, part.stop) for part in shard_slices(length, num_devices)]


def _half(span: Span, *, upper: bool) -> Span:
    start, stop = span
    middle = (start + stop + 1) // 2
    return (middle, stop) if upper else (start, middle)
