"""One framework's version and devices: `python -m lockstep.parallel.device_facts '{...}'`."""

from __future__ import annotations

import sys
from typing import Any

from lockstep.frameworks import registry
from lockstep.parallel.child import Tell, serve


def work(job: dict[str, Any], tell: Tell) -> None:
    """Import the framework and tell {"python", "version", "devices", "several"}."""
    framework = registry.get(job["framework"])
    facts = {"version": framework.version(), "devices": framework.devices()}
    tell({"python": sys.executable, "several": framework.several, **facts})


if __name__ == "__main__":
    serve(work)
