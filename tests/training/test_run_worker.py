"""A run in a process of its own: the same run, a clean stream, and no process left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.processes.children import WorkerError, last_lines
from lockstep.training.directory import RunDirectory
from lockstep.training.events import Event, RunCompleted, RunStarted, StepsCompleted
from lockstep.training.history import History
from lockstep.training.in_processes import WORKER_VARIABLE, Launch
from lockstep.training.in_processes import follow as follow_run
from lockstep.training.machine import machine_facts

LONG = 100_000  # epochs: for minutes


def prepared(folder: Path, **fields: object) -> Path:
    RunDirectory.create(folder, ls.recipes.airfoil_linear(**fields), machine_facts())
    return folder


def follow(
    folder: Path, spec: ls.RunSpec | None = None, event_steps: int = 0, **limits: Any
) -> Generator[Event, None, None]:
    spec = spec or RunDirectory(folder).spec
    return follow_run(folder, spec, Launch(**limits), event_steps=event_steps)


def has_ended(pid: int) -> bool:
    """Whether a process is gone; one that only waits to be reaped by a strange parent is."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def wait_until_ended(pid: int, seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if has_ended(pid):
            return True
        time.sleep(0.05)
    return False


def test_it_is_the_same_run_bit_for_bit(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "run", max_steps=40)
    events = list(follow(folder, timeout=60))
    assert isinstance(events[0], RunStarted)
    assert sum(isinstance(event, RunCompleted) for event in events) == 1
    here = ls.train(ls.recipes.airfoil_linear(max_steps=40))
    there = History(events)
    for column in ("loss", "grad_norm", "lr"):
        np.testing.assert_array_equal(there[:, column], here.history[:, column])
    assert json.loads((folder / "machine.json").read_text())["framework"] == "numpy"
    assert RunDirectory(folder).status == "completed"


def test_events_come_at_every_multiple_asked_for(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "run", max_steps=40)
    steps = [e for e in follow(folder, timeout=60, event_steps=7) if isinstance(e, StepsCompleted)]
    ends = {event.step + len(event.loss) for event in steps}
    assert {7, 14, 21, 28, 35, 40} <= ends


def test_it_goes_on_under_another_spec(tmp_path: Path) -> None:
    """Which takes the old one's place once it can be carried out, and not before."""
    folder = prepared(tmp_path / "run", max_steps=10)
    list(follow(folder, timeout=60))
    longer, impossible = (
        ls.recipes.airfoil_linear(max_steps=25, style=style) for style in ("scratch", "concise")
    )
    with pytest.raises(WorkerError, match="style = 'concise'"):
        list(follow(folder, timeout=60, spec=impossible))
    assert RunDirectory(folder).spec.max_steps == 10
    events = list(follow(folder, timeout=60, spec=longer))
    assert events[0].step == 10
    assert RunDirectory(folder).spec == longer
    here = ls.train(longer)
    there = RunDirectory(folder).history()
    np.testing.assert_array_equal(there[:, "loss"], here.history[:, "loss"])


NOISY = """
import os
print("python noise")
os.system("echo shell noise")
os.write(1, b"raw noise")
def net(ops, w, x):
    print("noise of every step")
    return x @ w["w"]
"""


def test_what_a_model_prints_does_not_disturb_the_stream(tmp_path: Path) -> None:
    """Noise of Python, of a child process and of C code, which write to file descriptor 1."""
    source = tmp_path / "noisy.py"
    source.write_text(NOISY)
    space: dict = {}
    exec(compile(NOISY, str(source), "exec"), space)
    mine = ls.own(space["net"], np.eye(6), np.arange(6.0), weights={"w": np.zeros((6, 1))})
    from lockstep.task import save_own

    folder = tmp_path / "run"
    RunDirectory.create(folder, mine.run(batch_size=2, lr=0.5), machine_facts())
    save_own(folder, mine)
    events = list(follow(folder, timeout=60))
    assert isinstance(events[-1], RunCompleted) or isinstance(events[-2], RunCompleted)
    log = (folder / "worker.log").read_text()
    for words in ("python noise", "shell noise", "raw noise", "noise of every step"):
        assert words in log


def test_a_mistake_is_told_with_its_exit_code(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "run", batch_size=5000)
    with pytest.raises(WorkerError, match="batch_size") as caught:
        list(follow(folder, timeout=60))
    assert (caught.value.status, caught.value.exit_code) == ("failed", 2)


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "run")
    with pytest.raises(WorkerError, match="cannot be started") as caught:
        list(follow(folder, python=str(tmp_path / "no-python")))
    assert caught.value.status == "missing"


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """Its events never pause, so only the limit on the whole can end it."""
    folder = prepared(tmp_path / "run", epochs=LONG)
    with pytest.raises(WorkerError, match="not done after 2 s") as caught:
        list(follow(folder, timeout=2, silence=60))
    assert caught.value.status == "timed out"


def test_silence_is_ended(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "run")
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\necho still here >&2\nexec sleep 600\n")
    silent.chmod(0o755)
    with pytest.raises(WorkerError, match=r"sent nothing for 0\.5 s") as caught:
        list(follow(folder, python=str(silent), silence=0.5, timeout=60))
    assert caught.value.log == ("still here",)


def test_a_stream_cut_off_in_mid_line_is_a_crash(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "run")
    cut = tmp_path / "cut"
    cut.write_text("""#!/bin/sh\nprintf '{"event": "RunSt'\n""")
    cut.chmod(0o755)
    with pytest.raises(WorkerError, match="in the middle of a message") as caught:
        list(follow(folder, python=str(cut), timeout=60))
    assert caught.value.status == "crashed"


def test_leaving_the_loop_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def popen(*args: object, **kwargs: object) -> subprocess.Popen[bytes]:
        started.append(real(*args, **kwargs))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr("lockstep.processes.children.subprocess.Popen", popen)
    folder = prepared(tmp_path / "run", epochs=LONG)
    with closing(follow(folder, timeout=60)) as events:
        for event in events:
            if isinstance(event, StepsCompleted):
                break
    assert started[0].returncode is not None
    assert has_ended(started[0].pid)


PARENT = """
import sys
from pathlib import Path
from lockstep.processes import children
from lockstep.training import in_processes
from lockstep.training.directory import RunDirectory
real = children.subprocess.Popen
def popen(*args, **kwargs):
    process = real(*args, **kwargs)
    print(process.pid, flush=True)
    return process
children.subprocess.Popen = popen
folder = Path(sys.argv[1])
spec = RunDirectory(folder).spec
for event in in_processes.follow(folder, spec, in_processes.Launch()):
    print(type(event).__name__, flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda n: n.name)
def test_a_worker_ends_with_its_parent(tmp_path: Path, number: signal.Signals) -> None:
    folder = prepared(tmp_path / "run", epochs=LONG)
    command = [sys.executable, "-c", PARENT, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        while parent.stdout.readline().strip() != "StepsCompleted":
            assert parent.poll() is None
        parent.send_signal(number)
        parent.wait(10)
        assert wait_until_ended(pid)


def test_a_worker_ends_by_sigterm_and_can_be_resumed(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "run", epochs=8, checkpoint_steps=50)
    spec = RunDirectory(folder).spec.to_dict()
    job = json.dumps({"directory": str(folder), "spec": spec, "event_steps": 0, "strict": False})
    command = [sys.executable, "-m", "lockstep.training.run_worker", job]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        while b"CheckpointSaved" not in process.stdout.readline():
            assert process.poll() is None
        process.terminate()
        assert process.wait(10) in (-signal.SIGTERM, 0)
    result = ls.resume(folder)
    whole = ls.train(ls.recipes.airfoil_linear(epochs=8, checkpoint_steps=50))
    np.testing.assert_array_equal(result.history[:, "loss"], whole.history[:, "loss"])


def test_a_worker_starts_no_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that defines a model and compares it, unguarded, would start itself for ever."""
    monkeypatch.setitem(os.environ, WORKER_VARIABLE, "1")
    with pytest.raises(InputError, match="__main__"):
        list(follow(prepared(tmp_path / "run")))


def test_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    assert last_lines(log) == ()
    log.write_bytes(b"one\n\n \ntwo\xff\nthree\n")
    assert last_lines(log, 2) == ("two\N{REPLACEMENT CHARACTER}", "three")
