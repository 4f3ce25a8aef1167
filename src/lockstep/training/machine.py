"""Facts about the machine and the versions a run is made with."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

import lockstep
from lockstep.frameworks.protocol import Framework
from lockstep.processes import threads


def machine_facts(framework: Framework | None = None) -> dict[str, Any]:
    """Plain values: system, processor, cores, Python, versions and the time."""
    facts: dict[str, Any] = {
        "lockstep": lockstep.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    if framework is not None:
        facts |= {"framework": framework.name, "version": framework.version}
        facts["devices"] = framework.devices()
        facts |= threads.facts()
    return facts


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
