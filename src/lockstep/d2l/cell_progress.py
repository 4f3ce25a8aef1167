"""How far a long cell is, told to whoever runs it: a message that every notebook ignores."""

from __future__ import annotations

import time

from lockstep.showing import in_kernel

MIME = "application/x-lockstep-progress+json"
SECONDS = 0.5  # between two messages

_sent = 0.0


def report(share: float) -> None:
    """Say which share of the work is done, from 0 to 1; outside a kernel nothing happens."""
    global _sent
    now = time.monotonic()
    if now - _sent < SECONDS or not in_kernel():
        return
    _sent = now
    from IPython.display import publish_display_data

    transient = {"display_id": "lockstep-progress"}  # of no display: nothing is shown
    publish_display_data({MIME: {"share": share}}, transient=transient, update=True)
