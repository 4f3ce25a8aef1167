"""What all figures have in common: one look, curves that are smoothed and thinned, and how a figure
becomes a file or a part of a page.

The palette is safe for colour-blind eyes, and a framework has the same colour in every figure.
Figures are explicit; pyplot is never touched.
"""

from __future__ import annotations

import html
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.errors import InputError, MissingError
from lockstep.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f2933"
MUTED = "#6b7580"
GRID = "#dfe4e8"
PAPER = "#fefefe"
# Okabe and Ito's, in an order that also differs in lightness
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d46")
FRAMEWORKS = {
    "oracle": "#3d4852",
    "numpy": "#7f8791",
    "torch": "#d55e00",
    "jax": "#0072b2",
    "tensorflow": "#e69f00",
    "paddle": "#56b4e9",
    "mindspore": "#cc79a7",
    "mxnet": "#009e73",
}
FONT = 10
FORMATS = (".png", ".svg")
MAX_POINTS = 2000  # of a curve: more than a page can show
LARGEST = 1e30


def colour(framework: str) -> str:
    """The colour of a framework, in every figure; another name has a colour of its own too.

    >>> colour("torch")
    '#d55e00'
    """
    return FRAMEWORKS.get(framework) or SERIES[sum(framework.encode()) % len(SERIES)]


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """An empty figure, in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingError(
            "matplotlib, which draws figures, is not installed",
            "Install it with: pip install 'lockstep-train[figures]'",
        ) from None
    figure = Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)  # type: ignore[union-attr, call-arg]
    if title:
        figure.suptitle(
            _plain(title), fontsize=FONT + 3, color=INK, weight="bold", x=0.01, ha="left"
        )
    return figure


def style(axes: Axes, title: str, x: str, y: str) -> None:
    """Labels with units, a light grid, no box."""
    axes.set_facecolor(PAPER)
    axes.set_title(_plain(title), fontsize=FONT + 1, color=INK, loc="left", pad=8)
    axes.set_xlabel(x, fontsize=FONT, color=MUTED)
    axes.set_ylabel(y, fontsize=FONT, color=MUTED)
    axes.tick_params(which="both", colors=MUTED, labelsize=FONT - 1, length=0)
    axes.grid(True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("bottom", "left"))
        spine.set_color(GRID)
    axes.margins(x=0.01)


def legend(axes: Axes, **options: Any) -> None:
    """Names of the curves, without a frame, where they hide least."""
    options = {"loc": "best", "frameon": False, "fontsize": FONT - 1, "labelcolor": INK} | options
    axes.legend(**options)


def _plain(text: str) -> str:
    """Text that matplotlib shows as it stands: dollar signs would start a formula."""
    return text.replace("$", r"\$")


# --- curves ---------------------------------------------------------------------------------------


def smoothing_window(values: np.ndarray) -> int:
    """1 for a curve that is smooth; for a noisy one, a twentieth of its length.

    Noisy: the typical jump between neighbours exceeds 4 % of the curve's range.

    >>> smoothing_window(np.linspace(3, 1, 200)), smoothing_window(np.tile([1.0, 2.0], 100))
    (1, 10)
    """
    finite = values[np.isfinite(values)]
    if len(finite) < 20:
        return 1
    low, high = np.percentile(finite, [2, 98])
    jump = float(np.median(np.abs(np.diff(finite))))
    return max(3, len(values) // 20) if jump > 0.04 * max(high - low, 1e-300) else 1


def smoothed(values: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray]:
    """The places that are drawn of a curve, and there the mean of the `window` values around each,
    of fewer at the ends. At every place it would take minutes where many are.

    >>> smoothed(np.array([1.0, 2.0, 3.0, 4.0]), 3)[1].tolist()
    [1.5, 2.0, 3.0, 3.5]
    """
    places = _chosen(len(values))
    if window <= 1 or not len(values):
        return places, values[places]
    before, after = window // 2, (window - 1) // 2
    means = [values[max(0, i - before) : i + after + 1].mean() for i in places.tolist()]
    return places, np.array(means)


def _chosen(count: int) -> np.ndarray:
    """The places of at most MAX_POINTS of `count` points, evenly spread, both ends among them."""
    if count <= MAX_POINTS:
        return np.arange(count)
    return np.linspace(0, count - 1, MAX_POINTS).round().astype(int)


def thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most MAX_POINTS of a curve, evenly chosen, both ends among them.

    Values beyond LARGEST, which axes cannot hold, are drawn there; those not finite not at all.
    """
    y = np.clip(np.where(np.isfinite(y), y, np.nan), -LARGEST, LARGEST)
    places = _chosen(len(x))
    return x[places], y[places]


def log_if_wide(axes: Axes, values: np.ndarray) -> None:
    """A logarithmic scale where positive values span more than a factor of thirty."""
    finite = values[np.isfinite(values)]
    if finite.size and finite.min() > 0 and finite.max() > 30 * finite.min():
        axes.set_yscale("log")


# --- out ------------------------------------------------------------------------------------------


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure as PNG or SVG, by the suffix of its name; as a whole or not at all."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError("figure", str(path), "is neither PNG nor SVG", "Name it .png or .svg.")
    write_whole(path, _rendered(figure, path.suffix.lower()[1:]))
    return path


def figure_svg(figure: Figure, prefix: str, label: str) -> str:
    """A figure as an <svg> element for a page: text stays text, and colours follow the page.

    `prefix` keeps the ids of several figures apart; `label` says what it shows, for those who
    cannot see it.
    """
    svg = _rendered(figure, "svg").decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'id="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = re.sub(r'xlink:href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    for name, value in page_colours().items():
        svg = svg.replace(value, f"var(--{name}, {value})")
    head = f'<svg role="img" aria-label="{html.escape(label)}"'
    svg = re.sub(r'<svg(.*?) width="[^"]*"', rf"{head}\1", svg, count=1, flags=re.DOTALL)
    return re.sub(r' height="[\d.]+pt"', "", svg, count=1).strip()


def page_colours() -> dict[str, str]:
    """The colours that a page may replace, by the name of their CSS variable."""
    named = {"ink": INK, "muted": MUTED, "grid": GRID, "paper": PAPER}
    return named | {f"f-{name}": value for name, value in FRAMEWORKS.items()}


def _rendered(figure: Figure, kind: str) -> bytes:
    import matplotlib

    # text as text and the same ids every time; only while this figure is written
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "lockstep"}
    with matplotlib.rc_context(settings), io.BytesIO() as content:
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(content, format=kind, dpi=160, metadata=metadata)
        return content.getvalue()
