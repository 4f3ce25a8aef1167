"""The tests that every framework must pass, run by the interpreter of each that has its own.

`python -m tests.in_environments [FRAMEWORK ...]` needs the environments (`lockstep env create`).
pytest is installed into them, at the versions of constraints.txt.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from lockstep.frameworks import environments, registry

ROOT = Path(__file__).resolve().parent.parent
SUITES = ("tests/conformance", "tests/parity")
SUITES += ("tests/conversion", "tests/comparison/test_faults.py")
TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis")
SECONDS = 1800


def main(names: list[str]) -> int:
    """Run every framework's tests; how many frameworks failed."""
    failed = []
    for name in names or elsewhere():
        begin = time.monotonic()
        python = environments.interpreter(name)
        install_tools(python)
        code = run_tests(name, python)
        if code:
            failed.append(name)
        print(f"{name}: {'failed' if code else 'passed'} in {time.monotonic() - begin:.0f} s")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return len(failed)


def elsewhere() -> list[str]:
    """The frameworks that this interpreter cannot import."""
    return [name for name in registry.names() if not registry.is_installed(name)]


def install_tools(python: str) -> None:
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", "constraints.txt", *TOOLS], cwd=ROOT, check=True, timeout=600)


def run_tests(name: str, python: str) -> int:
    print(f"--- {name}", flush=True)
    variables = os.environ | {"PYTHONPATH": str(ROOT / "src"), "LOCKSTEP_TESTED": name}
    command = [python, "-m", "pytest", "-q", "-n", "2", "-m", "not slow", *SUITES]
    return subprocess.run(command, cwd=ROOT, env=variables, timeout=SECONDS).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
