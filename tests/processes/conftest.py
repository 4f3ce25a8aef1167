"""Workers for the tests: small modules written into the test's folder, found by PYTHONPATH."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from lockstep.processes.children import Command, WorkerError, Workers

HEADER = """
import os, signal, sys, time
from lockstep.errors import InputError
from lockstep.processes.child import serve

"""

MakeCommands = Callable[..., list[Command]]


@pytest.fixture
def make_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeCommands:
    """`make_commands("def work(job, send): ...", 3)`: a command for each of three ranks.

    Every argument names the test's folder, so that `nothing_left` knows its processes.
    """
    paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in paths if path))

    def make(code: str, world_size: int = 1, **values: Any) -> list[Command]:
        name = f"module_{len(list(tmp_path.glob('module_*.py')))}"
        footer = '\nif __name__ == "__main__":\n    serve(work)\n'
        (tmp_path / f"{name}.py").write_text(HEADER + dedent(code) + footer)
        shared = {"world_size": world_size, "folder": str(tmp_path), **values}
        return [
            Command(f"rank {rank}", sys.executable, name, {"rank": rank, **shared})
            for rank in range(world_size)
        ]

    return make


def assert_killed_rank_is_named(commands: list[Command], folder: Path, seconds: float) -> None:
    """Two ranks that tell something in every step; the second is killed once both have."""
    with Workers(commands, folder) as workers:
        messages = workers.messages(seconds, seconds)
        alive: set[int] = set()
        while alive != {0, 1}:
            rank, message = next(messages)
            alive |= {rank} if message else set()
        os.kill(workers._processes[1].pid, signal.SIGKILL)
        with pytest.raises(WorkerError, match="rank 1 was ended by SIGKILL"):
            for _ in messages:
                pass
