"""Workers are heard, named when they fail, and never outlive who started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockstep.processes import children
from lockstep.processes.children import Command, WorkerError, Workers, collect

pytestmark = pytest.mark.usefixtures("nothing_left")

MakeCommands = Callable[..., list[Command]]
LONG = 60.0  # seconds: a busy machine starts processes slowly


def told(commands: list[Command], folder: Path, silence: float = LONG) -> list[Any]:
    with Workers(commands, folder) as workers:
        return sorted(workers.messages(silence, LONG), key=lambda item: item[0])


def test_every_message_has_its_sender(make_commands: MakeCommands, tmp_path: Path) -> None:
    code = """
    def work(job, send):
        print("chatter of a library")
        send({"square": job["rank"] ** 2})
    """
    found = told(make_commands(code, 3), tmp_path)
    assert found == [(rank, {"square": rank**2}) for rank in range(3)]
    assert (tmp_path / "worker-0.log").read_text() == "chatter of a library\n"


def test_a_mistake_is_told_in_words(make_commands: MakeCommands) -> None:
    code = """
    def work(job, send):
        raise InputError("colour", "loud", "is no colour", "Give red.")
    """
    (command,) = make_commands(code)
    with pytest.raises(WorkerError, match=r"^colour = 'loud': is no colour\. Give red\.$"):
        collect(command, LONG)


def test_the_killed_one_is_named_and_not_those_it_took_along(
    make_commands: MakeCommands, tmp_path: Path
) -> None:
    code = """
    def work(job, send):
        if job["rank"] == 2:
            print("the last words", flush=True)
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("lost my neighbour")
    """
    (tmp_path / "worker-2.log").write_text("words of an earlier one\n")  # whose log it adds to
    expected = r"^rank 2 was ended by SIGKILL\.\n  the last words$"
    with pytest.raises(WorkerError, match=expected):
        told(make_commands(code, 3), tmp_path)


def test_an_exception_is_repeated_from_the_log(make_commands: MakeCommands, tmp_path: Path) -> None:
    code = """
    def work(job, send):
        raise RuntimeError("out of cheese")
    """
    with pytest.raises(WorkerError, match=r"rank 0 ended with exit code 1\.(.|\n)*out of cheese"):
        told(make_commands(code), tmp_path)


def test_the_one_that_is_stuck_is_named(make_commands: MakeCommands, tmp_path: Path) -> None:
    code = """
    def work(job, send):
        while True:
            if job["rank"] != 1:
                send({})
            time.sleep(0.1)
    """
    with pytest.raises(WorkerError, match=r"^rank 1 sent nothing for 3 s\.$"):
        told(make_commands(code, 3), tmp_path, silence=3.0)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_the_one_that_was_stopped_is_named_and_not_those_that_wait_for_it(
    make_commands: MakeCommands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are quiet, and the one at fault was heard of last."""
    monkeypatch.setattr(children, "GRACE", 0.5)
    code = """
    def work(job, send):
        send({})
        if job["rank"] == 1:
            time.sleep(0.5)
            send({})
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(600)
    """
    with pytest.raises(WorkerError, match=r"^rank 1 sent nothing for 2 s\.$"):
        told(make_commands(code, 3), tmp_path, silence=2.0)


def test_a_whole_that_takes_too_long(make_commands: MakeCommands, tmp_path: Path) -> None:
    code = """
    def work(job, send):
        while True:
            send({})
            time.sleep(0.05)
    """
    with (
        Workers(make_commands(code), tmp_path) as workers,
        pytest.raises(WorkerError, match=r"was not done after 1 s"),
    ):
        for _ in workers.messages(LONG, 1.0):
            pass


def test_who_stops_listening_ends_them(
    make_commands: MakeCommands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that ignores being asked."""
    monkeypatch.setattr(children, "GRACE", 0.5)
    code = """
    def work(job, send):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        send({})
        while True:
            time.sleep(1)
    """
    with Workers(make_commands(code, 2), tmp_path) as workers:
        next(workers.messages(LONG, LONG))
        pids = [process.pid for process in workers._processes]
        assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_they_end_when_their_parent_is_killed(
    make_commands: MakeCommands, tmp_path: Path, nothing_left: Callable[[], list[str]]
) -> None:
    code = """
    def work(job, send):
        send({})
        time.sleep(600)
    """
    commands = make_commands(code, 2)
    parent = f"""
from pathlib import Path
from lockstep.processes.children import *
with Workers({commands!r}, Path({str(tmp_path)!r})) as workers:
    messages = workers.messages(60, 60)
    next(messages), next(messages)
    print("both are here", flush=True)
    next(messages)
"""
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"both are here\n"
        assert sum("module_0" in command for command in nothing_left()) >= 2
        os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while nothing_left() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert nothing_left() == []


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    nowhere = Command("rank 0", str(tmp_path / "python"), "module", {})
    with pytest.raises(WorkerError, match=r"cannot be started \(No such file.*Check the path"):
        collect(nowhere, LONG)
