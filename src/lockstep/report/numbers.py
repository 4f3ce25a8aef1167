"""Numbers, rates and times as people read them. No colour, no layout."""

from __future__ import annotations

import math
from collections.abc import Mapping


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
