"""One look for every figure: a palette safe for colour-blind eyes, labelled axes, a light grid.

A framework has the same colour in every figure. Figures are explicit; pyplot is never touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockstep.errors import MissingError

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
