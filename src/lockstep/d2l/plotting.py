"""The chapters' figures: plot, Animator, images. Drawn by matplotlib wherever the code runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from lockstep.d2l import cell_progress, drawing
from lockstep.d2l.numbers import curve, curves, to_numpy
from lockstep.errors import MissingError
from lockstep.report.figures import new_figure
from lockstep.showing import in_kernel, ipython

FORMATS = ("-", "m--", "g-.", "r:")
FIGSIZE = (3.5, 2.5)  # inches

Limits = Sequence[float] | None


def pyplot() -> Any:
    """matplotlib.pyplot, which opens no window where figures are drawn as text or into files."""
    new_figure(1, 1)  # raises a MissingError where matplotlib is not installed
    if "matplotlib.pyplot" not in sys.modules and not in_kernel():
        import matplotlib as mpl

        mpl.use("agg")
    from matplotlib import pyplot as plt

    return plt


def use_svg_display() -> None:
    """Let a notebook show figures as SVG, and say what they show instead of their size."""
    if not in_kernel():
        return
    try:
        from matplotlib.figure import Figure
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        what = "matplotlib, which draws figures, is not installed"
        raise MissingError(what, "Install it with: pip install 'lockstep-train[book]'") from None
    set_matplotlib_formats("svg")
    formatter = ipython().display_formatter.formatters["text/plain"]
    formatter.for_type(Figure, lambda figure, printer, cycle: printer.text(
        drawing.described(figure)))  # fmt: skip


_asked_size: list[Sequence[float]] = []  # by a cell, for its next plot


def set_figsize(figsize: Sequence[float] = FIGSIZE) -> None:
    """The size of the next figure, in inches."""
    use_svg_display()
    pyplot().rcParams["figure.figsize"] = tuple(figsize)
    _asked_size[:] = [figsize]


def set_axes(
    axes: Any, xlabel: str | None, ylabel: str | None, xlim: Limits, ylim: Limits,
    xscale: str, yscale: str, legend: Sequence[str] | None,
) -> None:  # fmt: skip
    """Names, limits and scales of matplotlib's axes, and a grid."""
    axes.set_xlabel(xlabel or "")
    axes.set_ylabel(ylabel or "")
    axes.set_xscale(xscale)
    axes.set_yscale(yscale)
    if xlim is not None and xlim[0] != xlim[1]:
        axes.set_xlim(*xlim)
    if ylim is not None and ylim[0] != ylim[1]:
        axes.set_ylim(*ylim)
    if legend:
        axes.legend(legend)
    axes.grid()


class _Plotted:
    """A figure of pyplot: cells may go on changing it after `plot`."""

    def __init__(self, figure: Any) -> None:
        self._figure = figure

    def draw(self) -> Any:
        return self._figure

    def last(self) -> dict[str, float]:
        return {}  # it does not grow

    def close(self) -> None:
        pyplot().close(self._figure)


def plot(
    X: Any, Y: Any = None, xlabel: str | None = None, ylabel: str | None = None,
    legend: Sequence[str] = (), xlim: Limits = None, ylim: Limits = None,
    xscale: str = "linear", yscale: str = "linear", fmts: Sequence[str] = FORMATS,
    figsize: Sequence[float] | None = None, axes: Any = None,
) -> None:  # fmt: skip
    """Draw curves: one or several Y over one X or as many; with Y alone, over 0, 1, 2 ...

    The figure has the size given, or else the one that `set_figsize` was called with just before.
    """
    set_figsize(figsize or (_asked_size.pop() if _asked_size else FIGSIZE))
    _asked_size.clear()
    own = axes is None
    if own and not in_kernel():
        drawing.finish()
    axes = axes or pyplot().gca()
    axes.cla()
    ys = curves(X if Y is None else Y)
    xs: list[Any] = [range(len(y)) for y in ys] if Y is None else curves(X)
    xs = xs * len(ys) if len(xs) == 1 else xs
    for place, (x, y) in enumerate(zip(xs, ys, strict=False)):
        axes.plot(curve(list(x)), curve(y), fmts[place % len(fmts)])
    set_axes(axes, xlabel, ylabel, xlim, ylim, xscale, yscale, legend)
    if own and not in_kernel():  # a notebook shows pyplot's figures by itself
        drawing.begin(_Plotted(axes.figure)).changed()


class Animator:
    """Curves that grow while something is trained. X and Y hold the points of each curve."""

    def __init__(
        self, xlabel: str | None = None, ylabel: str | None = None,
        legend: Sequence[str] | None = None, xlim: Limits = None, ylim: Limits = None,
        xscale: str = "linear", yscale: str = "linear", fmts: Sequence[str] = FORMATS,
        nrows: int = 1, ncols: int = 1, figsize: Sequence[float] = FIGSIZE,
    ) -> None:  # fmt: skip
        self.X: list[list[Any]] = []
        self.Y: list[list[Any]] = []
        self.fmts = fmts
        self._names = (xlabel, ylabel, xlim, ylim, xscale, yscale, legend)
        self._xlim, self._xlabel, self._legend = xlim, xlabel, legend or [ylabel or ""]
        self.fig = new_figure(figsize[0], figsize[1])
        found = self.fig.subplots(nrows, ncols, squeeze=False)
        self.axes = list(found.flat)
        self._growing = drawing.begin(self)

    def add(self, x: Any, y: Any) -> None:
        """Add a point to each curve; None adds none."""
        ys = list(y) if hasattr(y, "__len__") else [y]
        xs = list(x) if hasattr(x, "__len__") else [x] * len(ys)
        while len(self.X) < len(ys):
            self.X.append([])
            self.Y.append([])
        for place, (a, b) in enumerate(zip(xs, ys, strict=False)):
            if a is not None and b is not None:
                self.X[place].append(a)
                self.Y[place].append(b)
        if self._xlim is not None and xs and xs[0] is not None and self._xlim[1] > 0:
            cell_progress.report(float(xs[0]) / float(self._xlim[1]))
        self._growing.changed(self._status())

    def draw(self) -> Any:
        """The figure with the points so far."""
        axes = self.axes[0]
        axes.cla()
        for place, (x, y) in enumerate(zip(self.X, self.Y, strict=True)):
            axes.plot(curve(x), curve(y), self.fmts[place % len(self.fmts)])
        set_axes(axes, *self._names)
        return self.fig

    def close(self) -> None:
        """Nothing to give back: the figure is not pyplot's."""

    def last(self) -> dict[str, float]:
        """The newest value of each curve, by its name in the legend."""
        return {name: float(y[-1]) for name, y in zip(self._legend, self.Y, strict=False) if y}

    def _status(self) -> str:
        last = [f"{name} {value:.4g}" for name, value in self.last().items()]
        places = [float(x[-1]) for x in self.X if x]
        return f"{self._xlabel or 'x'} {max(places, default=0.0):.4g}: {', '.join(last)}"


def show_images(
    imgs: Any, num_rows: int, num_cols: int, titles: Sequence[str] | None = None, scale: float = 1.5
) -> Any:
    """Images in rows and columns; matplotlib's axes of each."""
    use_svg_display()
    plt = pyplot()
    figure, found = plt.subplots(num_rows, num_cols, figsize=(num_cols * scale, num_rows * scale))
    places = to_numpy(found).reshape(-1)
    for place, (axes, image) in enumerate(zip(places, imgs, strict=False)):
        axes.imshow(to_numpy(image))
        axes.axis("off")
        if titles is not None:
            axes.set_title(titles[place])
    if not in_kernel():
        drawing.begin(_Plotted(figure)).changed()
    return places


def annotate(text: str, xy: Sequence[float], xytext: Sequence[float]) -> None:
    """Text at `xytext` of the current figure, with an arrow to `xy`."""
    pyplot().gca().annotate(text, xy=xy, xytext=xytext, arrowprops={"arrowstyle": "->"})


def __getattr__(name: str) -> Any:
    if name == "plt":  # imported when it is first used
        return pyplot()
    raise AttributeError(f"lockstep.d2l.plotting has no name {name!r}")
