"""Sizes and bandwidths as people write them, and what they cannot mean."""

from __future__ import annotations

import pytest

from lockstep.errors import InputError
from lockstep.report.quantities import format_size, parse_bandwidth, parse_size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64MB", 64 * 10**6), ("1mib", 2**20), ("2 GiB", 2**31), ("12", 12), ("0.5KB", 500),
        (" 3B ", 3), ("1e3KB", 10**6),
    ],
)  # fmt: skip
def test_sizes(text: str, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("25Gbit", 25e9 / 8), ("100mbit", 12.5e6), ("1.5GB", 1.5e9)]
)
def test_bandwidths(text: str, expected: float) -> None:
    assert parse_bandwidth(text) == expected


@pytest.mark.parametrize(
    "text", ["64XB", "", "MB", "-1MB", "1..2MB", "1.5B", "1e400", "nan", "inf"]
)
def test_no_size(text: str) -> None:
    with pytest.raises(InputError, match=r"^size = .* such as 64MB\.$"):
        parse_size(text)


@pytest.mark.parametrize("text", ["10Gb it", "0Gbit", "fast"])
def test_no_bandwidth(text: str) -> None:
    with pytest.raises(InputError, match=r"^bandwidth = .* such as 10Gbit\.$"):
        parse_bandwidth(text)


def test_units_grow_with_the_number() -> None:
    shown = [format_size(n) for n in (1, 999, 1000, 1_500_000, 2_000_000_000)]
    assert shown == ["1 B", "999 B", "1 KB", "1.5 MB", "2 GB"]
