"""What runs as the kernel: `python -m lockstep.book.kernel_main SETTINGS -f CONNECTION`.

It answers the chapters' imports from d2l, keeps a cell from printing without end, and is an
ordinary Jupyter kernel in everything else.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from lockstep import d2l
from lockstep.book.outputs import CUT, LONGEST, cut
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

    def __init__(self, write: Any) -> None:
        self._write = write
        self.count = 0

    def __call__(self, text: str) -> int:
        room = LONGEST - self.count
        self.count += len(text)
        if room > 0:
            self._write(text[:room])
        return len(text)

    def end_cell(self, *event: object) -> None:
        """Say how much was dropped, and begin anew."""
        if self.count > LONGEST:
            self._write(f"\n[{self.count - LONGEST:,} {CUT}]\n")
        self.count = 0


class CutValues:
    """Passes on what a formatter makes of a value, its text cut as what is printed is."""

    def __init__(self, format: Any) -> None:
        self._format = format

    def __call__(self, value: Any, *args: Any, **options: Any) -> Any:
        data, metadata = self._format(value, *args, **options)
        if "text/plain" in data:
            data["text/plain"] = cut(data["text/plain"])
        return data, metadata


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
    for stream in (sys.stdout, sys.stderr):
        limit = Limit(stream.write)
        stream.write = limit  # type: ignore[method-assign]
        app.shell.events.register("post_run_cell", limit.end_cell)
    formatter = app.shell.display_formatter
    formatter.format = CutValues(formatter.format)
    app.start()


if __name__ == "__main__":
    main()
