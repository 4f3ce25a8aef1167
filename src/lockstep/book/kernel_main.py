"""What runs as the kernel: `python -m lockstep.book.kernel_main SETTINGS -f CONNECTION`.

It answers the chapters' imports from d2l, keeps a cell from printing without end, and is an
ordinary Jupyter kernel in everything else.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from lockstep import d2l
from lockstep.book.outputs import LONGEST, cut, said_cut
from lockstep.d2l import options
from lockstep.frameworks import registry
from lockstep.processes import freed_memory


class Tab:
    """What the book's newer chapters ask which tab is being run."""

    def __init__(self, name: str) -> None:
        self.name = name

    def selected(self, *names: str) -> bool:
        """Whether the tab is one of those named.

        >>> Tab("pytorch").selected("mxnet", "pytorch")
        True
        """
        return self.name in names


class Limit:
    """Passes on the first LONGEST characters of a cell to a stream's own `write`."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._write = stream, stream.write
        self._count = 0
        stream.write = self

    def __call__(self, text: str) -> int:
        room = LONGEST - self._count
        self._count += len(text)
        if room > 0:
            self._write(text[:room])
        return len(text)

    def end(self) -> None:
        """Say how much was dropped, and give the stream its own `write` back."""
        if self._count > LONGEST:
            self._write(said_cut(self._count - LONGEST))
        self._stream.write = self._write


def limit_streams(*event: object) -> None:
    """At the beginning of a cell: IPython has put a `write` of its own before the stream's, which
    remembers every text; this one must lie before that."""
    for stream in (sys.stdout, sys.stderr):
        Limit(stream)


def release_streams(*event: object) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream.write, Limit):  # an empty cell ends, too, and has not begun
            stream.write.end()


class CutValues:
    """Passes on what a formatter makes of a value, its texts cut as what is printed is."""

    def __init__(self, format: Any) -> None:
        self._format = format

    def __call__(self, value: Any, *args: Any, **options: Any) -> Any:
        data, metadata = self._format(value, *args, **options)
        return {kind: _cut(kind, content) for kind, content in data.items()}, metadata


def _cut(kind: str, content: Any) -> Any:
    return cut(content) if kind.startswith("text/") and isinstance(content, str) else content


def main() -> None:
    settings = json.loads(sys.argv.pop(1))
    from ipykernel.kernelapp import IPKernelApp

    d2l.prepare(settings["framework"])
    registry.prepare(settings["framework"])
    freed_memory.keep()
    options.set(quick=settings["quick"], live=settings["live"])
    d2l.install(replace=True)
    if settings["num_devices"]:
        d2l.virtual_devices(settings["framework"], settings["num_devices"])
    app: Any = IPKernelApp.instance()
    app.initialize(sys.argv[1:])
    app.shell.user_ns["tab"] = Tab(settings["tab"])
    app.shell.events.register("pre_run_cell", limit_streams)
    app.shell.events.register("post_run_cell", release_streams)
    formatter = app.shell.display_formatter
    formatter.format = CutValues(formatter.format)
    app.start()


if __name__ == "__main__":
    main()
