"""What the system says a process is doing."""

from __future__ import annotations

from pathlib import Path


def process_state(pid: int) -> str:
    """The letter of its state: R running, S or D waiting, T or t stopped, Z or X ended; "" if it is
    gone, or the system does not tell.

    >>> import os
    >>> process_state(os.getpid()) in ("R", "")
    True
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
