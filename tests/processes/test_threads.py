"""How many threads a run computes with, and how they wait: what is set, respected and recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.frameworks import registry
from lockstep.processes import interpreters, threads
from lockstep.processes.threads import available, count, share, spin_briefly, variables

# how many threads the framework itself says that it has, asked in a process of its own
QUESTIONS = {
    "numpy": "import numpy; a = numpy.ones((2000, 2000)); a @ a; print(pool('python'))",
    "torch": "import torch; print(torch.get_num_threads())",
    "jax": "import jax.numpy as n; n.ones((9, 9)).block_until_ready(); print(pool('tf_XLAEigen'))",
}
POOL = """
from pathlib import Path
def pool(name):
    tasks = Path("/proc/self/task").iterdir()
    return sum((t / "comm").read_text().startswith(name) for t in tasks)
"""


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_framework_started_with_the_variables_has_so_many_threads(name: str, number: int) -> None:
    if not registry.is_installed(name):
        pytest.skip(f"{name} is not installed here")
    environment = interpreters.variables(sys.executable) | variables(number)
    command = [sys.executable, "-c", POOL + QUESTIONS[name]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    # OpenBLAS and MKL have no more threads than cores
    expected = number if name == "jax" else min(number, available())
    assert int(done.stdout) == expected, done.stderr


def test_a_run_that_asks_for_threads_records_them_and_has_them(tmp_path: Path) -> None:
    spec = ls.recipes.airfoil_linear(max_steps=3, threads=1)
    result = ls.train(spec, out=tmp_path / "run")
    facts = json.loads((tmp_path / "run" / "machine.json").read_text())
    assert (result.status, facts["threads"]) == ("completed", 1)
    # other threads, the same numbers
    assert result.history[:, "loss"].tolist() == pytest.approx(
        ls.train(ls.recipes.airfoil_linear(max_steps=3)).history[:, "loss"].tolist(), rel=1e-6
    )


def test_threads_are_refused_where_the_processes_were_started_with_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    spec = ls.recipes.airfoil_linear(max_steps=3, devices=2, framework="torch", threads=2)
    with pytest.raises(InputError, match=r"threads = 2: .*OMP_NUM_THREADS=1"):
        ls.train(spec)


def test_processes_of_one_machine_share_its_cores_unless_the_person_says_otherwise() -> None:
    assert share(0, 2, {}) == variables(max(1, available() // 2))
    assert share(0, 2, {"OMP_NUM_THREADS": "7"}) == {}
    assert share(5, 2, {"OMP_NUM_THREADS": "7"}) == variables(5)


def test_idle_threads_sleep_soon_unless_the_person_says_how_they_wait() -> None:
    environment: dict[str, str] = {}
    spin_briefly("a package that is not loaded", environment)
    assert environment == threads.SHORT_SPIN

    environment = {"GOMP_SPINCOUNT": "5"}
    spin_briefly("a package that is not loaded", environment)
    assert environment["GOMP_SPINCOUNT"] == "5"

    environment = {"OMP_WAIT_POLICY": "active"}
    spin_briefly("a package that is not loaded", environment)
    assert environment == {"OMP_WAIT_POLICY": "active"}

    environment = {}
    spin_briefly("json", environment)  # loaded: what it would read, it has read
    assert environment == {}


def test_a_run_records_how_its_threads_wait(tmp_path: Path) -> None:
    if not registry.is_installed("torch"):
        pytest.skip("torch is not installed here")
    command = [sys.executable, "-m", "lockstep", "train", "airfoil-linear", "--framework", "torch"]
    command += ["--max-steps", "3", "--out", str(tmp_path / "run")]
    environment = interpreters.variables(sys.executable)
    environment = {k: v for k, v in environment.items() if k not in threads.SHORT_SPIN}
    environment.pop("OMP_NUM_THREADS", None)
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
    facts = json.loads((tmp_path / "run" / "machine.json").read_text())
    assert facts["waiting"] == threads.SHORT_SPIN
    assert facts["threads"] == available()


@pytest.mark.parametrize("text", ["", "0", "many"])
def test_a_number_of_threads_that_is_none_counts_the_cores(text: str) -> None:
    assert count({"OMP_NUM_THREADS": text}) == available()


@pytest.mark.parametrize("number", [-1, 1.5, "two"])
def test_a_spec_refuses_what_is_no_number_of_threads(number: object) -> None:
    with pytest.raises(InputError, match="threads"):
        ls.recipes.airfoil_linear(threads=number)
