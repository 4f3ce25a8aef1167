"""The tests that every framework must pass, run by the interpreter of each that has its own.

`python -m tests.in_environments [FRAMEWORK ...]` needs the environments (`lockstep env create`).
pytest is installed into them, at the versions of constraints.txt.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lockstep.frameworks import environments, registry

ROOT = Path(__file__).resolve().parent.parent
SUITES = ("tests/parity", "tests/comparison/test_faults.py")  # the long ones first
SUITES += ("tests/conversion", "tests/conformance")
BOOK = "tests/d2l/test_frameworks.py"  # on its own: TensorFlow's chapters need Keras 2
TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis")
SECONDS = 1800


def main(names: list[str]) -> int:
    """Run every framework's tests; how many frameworks failed."""
    failed = []
    with tempfile.TemporaryDirectory() as oracle:
        for name in names or elsewhere():
            begin = time.monotonic()
            python = environments.interpreter(name)
            install_tools(python)
            code = run_tests(name, python, oracle)
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
    if tools_of(python) == wanted_tools():  # pip takes many seconds to say so
        return
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", "constraints.txt", *TOOLS], cwd=ROOT, check=True, timeout=600)


def tools_of(python: str) -> list[str]:
    """Their versions in that interpreter; none if one is missing."""
    code = f"from importlib.metadata import version; print(*map(version, {TOOLS}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60)
    return done.stdout.split()


def wanted_tools() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    return [pins[name] for name in TOOLS]


def run_tests(name: str, python: str, oracle: str) -> int:
    """The losses of the oracle's long runs are kept in the folder `oracle`."""
    print(f"--- {name}", flush=True)
    variables = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "LOCKSTEP_TESTED": name,
        "LOCKSTEP_ORACLE_LOSSES": oracle,
        "OMP_NUM_THREADS": "1",  # two workers: more threads than cores wait for each other
    }
    command = [python, "-m", "pytest", "-q", "-m", "not slow"]
    # who is done first takes some of the other's
    suites = ([*SUITES, "-n", "2", "--dist", "worksteal"], [BOOK])
    codes = [
        subprocess.run([*command, *suite], cwd=ROOT, env=variables, timeout=SECONDS).returncode
        for suite in suites
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
