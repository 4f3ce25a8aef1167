"""Quantities as people read and write them: numbers, times, sizes, lists. No colour, no layout."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from statistics import quantiles

from lockstep.errors import InputError
from lockstep.processes.splitting import check_num_devices

SIZES = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
}  # fmt: skip
BANDWIDTHS = {
    "bit": 1 / 8, "Kbit": 1e3 / 8, "Mbit": 1e6 / 8, "Gbit": 1e9 / 8,
    "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9,
}  # fmt: skip
DURATIONS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def number(value: float | None) -> str:
    """Four significant digits; nothing for None.

    >>> number(0.243411), number(12.0), number(1.5e-7), number(None), number(math.nan)
    ('0.2434', '12.00', '1.500e-07', '', 'nan')
    """
    return "" if value is None else f"{value:#.4g}".rstrip(".")


def lr(value: float) -> str:
    """A learning rate as a person would write it.

    >>> lr(0.05), lr(0.123456)
    ('0.05', '0.1235')
    """
    return f"{value:.4g}"


def deviation(value: float | None) -> str:
    """
    >>> deviation(3.14e-16), deviation(0.0), deviation(math.inf), deviation(None)
    ('3.1e-16', '0', 'infinite', '')
    """
    if value is None:
        return ""
    if not math.isfinite(value):
        return "infinite"
    return f"{value:.1e}" if value else "0"


def rate(value: float | None) -> str:
    """Per second, three significant digits, thousands apart.

    >>> rate(273563.1), rate(7.891), rate(None)
    ('274,000', '7.89', '')
    """
    if value is None:
        return ""
    if value >= 1000 and math.isfinite(value):
        digits = int(math.log10(value)) - 2
        return f"{round(value / 10**digits) * 10**digits:,}"
    return f"{value:.3g}"


def duration(seconds: float | None) -> str:
    """
    >>> duration(0.0012), duration(2.5), duration(3), duration(75), duration(7300)
    ('1.2 ms', '2.5 s', '3 s', '1 min 15 s', '2 h 01 min')
    """
    if seconds is None:
        return ""
    if 0 < seconds < 1:
        return f"{seconds * 1e3:.2g} ms" if seconds < 0.0995 else f"{seconds * 1e3:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if isinstance(seconds, float) else f"{seconds} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def milliseconds(seconds: float) -> str:
    """
    >>> milliseconds(0.0123456), milliseconds(2.5), milliseconds(3e-6)
    ('12.3 ms', '2.5 s', '0.003 ms')
    """
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def metric(name: str, value: float) -> str:
    """A metric's value with its unit.

    >>> metric("test_accuracy", 0.8954), metric("train_loss", 0.25)
    ('89.54 %', '0.2500')
    """
    return f"{100 * value:.2f} %" if name.endswith("accuracy") else number(value)


def metric_name(name: str) -> str:
    """What a metric is called where people read it: which loss, over what.

    >>> [metric_name(n) for n in ("loss", "train_loss", "final_train_loss", "test_accuracy")]
    ["last batch's loss", 'train loss (epoch mean)', 'train loss (whole set)', 'test accuracy']
    """
    if name == "loss":
        return "last batch's loss"
    if name.startswith("final_train_"):  # of the weights at the end, over every example
        return f"{words(name.removeprefix('final_'))} (whole set)"
    # of an epoch's batches, each with the weights it met
    return f"{words(name)} (epoch mean)" if name.startswith("train_") else words(name)


def metrics_line(metrics: Mapping[str, float]) -> str:
    """
    >>> metrics_line({"train_loss": 0.5, "test_accuracy": 0.9})
    'train loss (epoch mean) 0.5000, test accuracy 90.00 %'
    """
    return ", ".join(
        f"{metric_name(name)} {metric(name, value)}" for name, value in metrics.items()
    )


def words(name: str) -> str:
    """
    >>> words("steps_per_second")
    'steps per second'
    """
    return name.replace("_", " ")


def middle_half(times: Sequence[float]) -> tuple[float, float]:
    """The bounds of the middle half of the times.

    >>> middle_half((1.0, 2.0, 3.0, 4.0, 5.0)), middle_half((2.5,))
    ((2.0, 4.0), (2.5, 2.5))
    """
    if len(times) < 2:
        return times[0], times[0]
    low, _, high = quantiles(times, n=4, method="inclusive")
    return low, high


def percent(share: float) -> str:
    """
    >>> percent(0.9351), percent(0.00021)
    ('93.5 %', '0.021 %')
    """
    return f"{100 * share:.1f} %" if share >= 0.01 else f"{100 * share:.2g} %"


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


# --- what people write ----------------------------------------------------------------------------


def parse_list(text: str, field: str) -> tuple[str, ...]:
    """The words of a list, each once.

    >>> parse_list("none, linear,none", "rules")
    ('none', 'linear')
    """
    found = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not found:
        raise InputError(field, text, "has no entry", "Give one or more, separated by commas.")
    return found


def parse_device_counts(text: str) -> tuple[int, ...]:
    """Numbers of devices, each once.

    >>> parse_device_counts("1,2,4,2")
    (1, 2, 4)
    """
    found = []
    for word in parse_list(text, "devices"):
        try:
            found.append(int(word))
        except ValueError:
            remedy = "Give counts separated by commas, such as 2,4,8."
            raise InputError("devices", word, "is not a whole number", remedy) from None
        check_num_devices(found[-1])
    return tuple(dict.fromkeys(found))


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
