"""Sizes, bandwidths and durations as people write them."""

from __future__ import annotations

import math
import re

from lockstep.errors import InputError

SIZES = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
}  # fmt: skip
BANDWIDTHS = {
    "bit": 1 / 8, "Kbit": 1e3 / 8, "Mbit": 1e6 / 8, "Gbit": 1e9 / 8,
    "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9,
}  # fmt: skip
DURATIONS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def parse_size(text: str, field: str = "size") -> int:
    """Bytes. A number alone is bytes; KB, MB, GB count in thousands, KiB, MiB, GiB in 1024.

    >>> parse_size("64MB"), parse_size("1.5 KiB"), parse_size("400")
    (64000000, 1536, 400)
    """
    remedy = f"Write a number and one of {', '.join(SIZES)}, such as 64MB."
    value = _parse(text, field, SIZES, remedy)
    if not value.is_integer():
        raise InputError(field, text, "is not a whole number of bytes", remedy)
    return int(value)


def parse_bandwidth(text: str, field: str = "bandwidth") -> float:
    """Bytes per second, from bits or bytes per second.

    >>> parse_bandwidth("10Gbit"), parse_bandwidth("2GB")
    (1250000000.0, 2000000000.0)
    """
    remedy = f"Write a number and one of {', '.join(BANDWIDTHS)}, per second, such as 10Gbit."
    value = _parse(text, field, BANDWIDTHS, remedy)
    if not value:
        raise InputError(field, text, "lets nothing through", remedy)
    return value


def parse_duration(text: str, field: str = "latency") -> float:
    """Seconds. A number alone is seconds.

    >>> parse_duration("250ms"), parse_duration("2"), f"{parse_duration('5us'):.3g}"
    (0.25, 2.0, '5e-06')
    """
    remedy = f"Write a number and one of {', '.join(DURATIONS)}, such as 5us."
    return _parse(text, field, DURATIONS, remedy)


def format_size(num_bytes: int) -> str:
    """About: three digits and a unit.

    >>> format_size(64_000_000), format_size(96_000_004), format_size(1234), format_size(0)
    ('64 MB', '96 MB', '1.23 KB', '0 B')
    """
    fitting = [unit for unit in ("B", "KB", "MB", "GB") if SIZES[unit] <= num_bytes]
    unit = fitting[-1] if fitting else "B"
    return f"{num_bytes / SIZES[unit]:.3g} {unit}"


def format_bandwidth(value: float) -> str:
    """About: three digits, in GB/s.

    >>> format_bandwidth(3.125e9), format_bandwidth(math.inf)
    ('3.12 GB/s', 'unlimited')
    """
    return f"{value / 1e9:.3g} GB/s" if value < math.inf else "unlimited"


def _parse(text: str, field: str, units: dict[str, float] | dict[str, int], remedy: str) -> float:
    found = re.fullmatch(r"([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([A-Za-z]*)", text.strip())
    if not found:
        raise InputError(field, text, "is not a number with a unit", remedy)
    number, unit = found.groups()
    named = {name.lower(): factor for name, factor in units.items()}
    if unit and unit.lower() not in named:
        raise InputError(field, text, f"has the unit {unit!r}, which is not known", remedy)
    value = float(number) * (named[unit.lower()] if unit else 1)
    if not math.isfinite(value):
        raise InputError(field, text, "is too large", remedy)
    return value
