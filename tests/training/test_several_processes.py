"""A run in several torch processes: the path of one, and what happens when one of them is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.data import find
from lockstep.errors import InputError, LockstepError
from lockstep.frameworks import registry
from lockstep.processes.ranks import PATIENCE, Rank, free_address
from lockstep.spec import RunSpec
from lockstep.training import checkpoints
from lockstep.training.directory import RunDirectory

from .running import ended, started, wait_until

pytestmark = [
    pytest.mark.skipif(not registry.is_installed("torch"), reason="needs torch"),
    pytest.mark.usefixtures("nothing_left"),
]
needs_images = pytest.mark.skipif(
    find("fashion-mnist") is None, reason="needs Fashion-MNIST: LOCKSTEP_DATA"
)
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
LIMIT = 120.0  # seconds: three processes import torch on a busy machine


def lenet(**fields: object) -> RunSpec:
    """Three batches of 20 and one of 7 an epoch."""
    small = {"data.max_examples": 67, "evaluate": ()}
    spec = ls.recipes.get("fashion-lenet", framework="torch", batch_size=20, epochs=2)
    return spec.with_fields({"precision": "float64", **small, **fields}).with_lr(0.1)


def gru(**fields: object) -> RunSpec:
    """Five sequences whose state is carried on: two and three of them, or two, two and one."""
    small = {"data.source": "generated", "data.max_tokens": 1000, "model.num_hiddens": 8}
    spec = ls.recipes.get("timemachine-gru", framework="torch", batch_size=5, max_steps=12)
    return spec.with_fields({"precision": "float64", "evaluate": (), **small, **fields})


def recall(**fields: object) -> RunSpec:
    """Five sequences whose labels are at every step: two and three, or two, two and one."""
    small = {"data.num_sequences": 43, "data.window": 6, "model.num_hiddens": 8}
    spec = ls.recipes.get("recall-gru", framework="torch", batch_size=5, max_steps=12, lr=0.02)
    return spec.with_fields({"precision": "float64", "evaluate": ("test",), **small, **fields})


def airfoil(**fields: object) -> RunSpec:
    spec = ls.recipes.airfoil_linear(framework="torch", epochs=3, checkpoint_steps=20)
    return spec.with_fields({"devices": 2, **fields})


def deviation(one: ls.Result, other: ls.Result) -> float:
    """The largest relative difference of losses, gradient norms and weights."""
    pairs = [(one.history[:, name], other.history[:, name]) for name in ("loss", "grad_norm")]
    pairs += [(one.snapshot.weights[n], w) for n, w in other.snapshot.weights.items()]
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(a))) for a, b in pairs)


PATHS = {
    "lenet": lenet(**{"model.pooling": "avg", "optimizer.kind": "momentum"}),
    "lenet concise": lenet(style="concise", evaluate=("train",), **{"data.max_examples": 41}),
    "gru": gru(),
    "gru concise": gru(style="concise", **{"model.reset": "after", "optimizer.kind": "adam"}),
    "gru with noise": gru(**{"optimizer.kind": "sgld", "optimizer.temperature": 1e-5}),
    "recall": recall(),
}
SOON = {("lenet", 2), ("lenet concise", 2), ("gru", 3), ("gru concise", 2), ("recall", 3)}


def path(name: str, num_devices: int) -> object:
    marks = [needs_images] if name.startswith("lenet") else []
    marks += [] if (name, num_devices) in SOON else [pytest.mark.slow]
    return pytest.param(PATHS[name], num_devices, id=f"{name}-{num_devices}", marks=marks)


@pytest.mark.parametrize(
    ("spec", "num_devices"), [path(name, number) for name in PATHS for number in (2, 3)]
)
def test_the_path_of_one(spec: RunSpec, num_devices: int) -> None:
    """Only the order of sums differs: some 1e-16 a step. 41 examples leave one for the last batch:
    one process has nothing to do."""
    alone, together = (ls.train(spec.with_fields({"devices": k})) for k in (1, num_devices))
    assert np.ptp(alone.history[:, "loss"]) > 1e-3
    assert deviation(alone, together) < 1e-10
    for one, other in zip(alone.history.epochs, together.history.epochs, strict=True):
        assert other.metrics == pytest.approx(one.metrics, rel=1e-10)


@pytest.mark.skipif(not registry.is_installed("jax"), reason="needs jax")
def test_jax_in_processes() -> None:
    """By jax.distributed, each process with one device; and on to another number of them."""
    spec = gru(framework="jax", evaluate=("train",))
    alone = ls.train(gru(framework="numpy", evaluate=("train",)))
    together = ls.train(spec.with_fields({"devices": 2}), launch="processes")
    assert together.history.notes[-1] == "2 processes: jax.distributed"
    assert deviation(alone, together) < 1e-10
    assert together.metrics == pytest.approx(alone.metrics, rel=1e-10)


@needs_images
def test_float32_and_again_the_same_bits() -> None:
    spec = lenet(precision="float32", devices=2)
    alone, first, again = (ls.train(s) for s in (spec.with_fields({"devices": 1}), spec, spec))
    assert deviation(alone, first) < 1e-5
    assert deviation(first, again) == 0.0


def test_it_is_handed_on_to_other_numbers_of_devices(tmp_path: Path) -> None:
    spec = gru(max_steps=4)
    ls.train(spec.with_fields({"devices": 3}), out=tmp_path / "run")
    for steps, num_devices, framework in ((8, 1, "numpy"), (12, 2, "torch")):
        changes = {"max_steps": steps, "devices": num_devices, "framework": framework}
        result = ls.resume(tmp_path / "run", spec=spec.with_fields(changes))
    assert deviation(ls.train(gru()), result) < 1e-10
    assert len(result.history) == 12


# --- when one is lost -----------------------------------------------------------------------------


def rank_pid(folder: Path, rank: int) -> int | None:
    """The process of a rank that works on a folder."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode()
            variables = (entry / "environ").read_bytes().decode().split("\0")
        except OSError:  # it has just ended
            continue
        if str(folder) in words and f"RANK={rank}" in variables:
            return int(entry.name)
    return None


def start(spec: RunSpec, folder: Path, *words: str) -> subprocess.Popen[str]:
    """`lockstep train` of a spec, as a person would start it."""
    file = folder.with_suffix(".toml")
    file.write_text(spec.to_toml())
    return started("train", file, "--out", folder, *words, cwd=folder.parent)


def saved_step(folder: Path) -> int:
    path = checkpoints.newest(folder / "checkpoints")
    return int(path.stem.partition("-")[2]) if path else -1


def strike(spec: RunSpec, folder: Path, number: signal.Signals, rank: int, step: int) -> str:
    """Start a run, send a signal to a rank once a step is saved, and return what was told."""
    process = start(spec, folder)
    with ended(process):
        wait_until(process, lambda: saved_step(folder) >= step)
        pid = rank_pid(folder, rank)
        assert pid is not None
        os.kill(pid, number)
        _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode != 0
    return errors


def assert_goes_on(spec: RunSpec, folder: Path) -> None:
    """The run ends with the bits of one that was never disturbed."""
    result = ls.resume(folder)
    whole = ls.train(spec)
    assert result.status == "completed"
    for group in ("weights", "slots", "carry"):
        mine, theirs = getattr(result.snapshot, group), getattr(whole.snapshot, group)
        assert mine.keys() == theirs.keys()
        for name, value in mine.items():
            np.testing.assert_array_equal(value, theirs[name])
    np.testing.assert_array_equal(result.history[:, "loss"], whole.history[:, "loss"])


@needs_proc
def test_one_that_is_killed_is_named_and_the_run_goes_on(tmp_path: Path) -> None:
    spec, folder = airfoil(epochs=8), tmp_path / "run"
    errors = strike(spec, folder, signal.SIGKILL, rank=1, step=40)
    assert "rank 1 of 2 was ended by SIGKILL; see " in errors
    assert "Traceback" not in errors.partition("worker-1.log")[0]
    assert 40 <= saved_step(folder) < 1200
    assert_goes_on(spec, folder)


@needs_proc
def test_the_first_that_is_killed(tmp_path: Path) -> None:
    spec, folder = airfoil(epochs=8), tmp_path / "run"
    errors = strike(spec, folder, signal.SIGKILL, rank=0, step=40)
    assert "rank 0 of 2 was ended by SIGKILL; see " in errors
    assert_goes_on(spec, folder)


@needs_proc
def test_one_that_is_stuck_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others wait for LOCKSTEP_PATIENCE seconds, and what they had is saved."""
    monkeypatch.setenv(PATIENCE, "5")
    spec, folder = airfoil(epochs=8), tmp_path / "run"
    begin = time.monotonic()
    errors = strike(spec, folder, signal.SIGSTOP, rank=1, step=40)
    assert "rank 1 of 2 kept the others waiting; see " in errors
    assert time.monotonic() - begin < LIMIT
    assert_goes_on(spec, folder)


@needs_proc
def test_ctrl_c_reaches_all(tmp_path: Path) -> None:
    spec, folder = airfoil(epochs=200), tmp_path / "run"
    process = start(spec, folder)
    with ended(process):
        wait_until(process, lambda: saved_step(folder) >= 40)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, errors
    assert "lockstep resume" in errors
    assert RunDirectory(folder).status == "interrupted"
    shorter = spec.with_fields({"epochs": saved_step(folder) // 150 + 1})
    RunDirectory(folder).replace_spec(shorter)
    assert_goes_on(shorter, folder)


@needs_proc
@pytest.mark.parametrize("rank", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_torchrun_starts_all_anew(tmp_path: Path, rank: int) -> None:
    """At a step that nobody chose, and to the end of an undisturbed run, bit for bit."""
    spec, folder = airfoil(epochs=8), tmp_path / "run"
    process = start(spec, folder, "--launch", "torchrun", "--max-restarts", "2", "--quiet")
    with ended(process):
        wait_until(process, lambda: saved_step(folder) >= 20)
        time.sleep(float(np.random.default_rng().uniform(0, 0.2)))
        pid = rank_pid(folder, rank)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, errors
    assert RunDirectory(folder).status == "completed"
    assert_goes_on(spec, folder)


def test_torchrun_goes_on_with_a_run(tmp_path: Path) -> None:
    """`resume --launch torchrun`, of a run that ended too early for us."""
    spec, folder = airfoil(epochs=1), tmp_path / "run"
    process = start(spec, folder, "--quiet")
    with ended(process):
        process.communicate(timeout=LIMIT)
    command = [sys.executable, "-m", "lockstep", "resume", str(folder), "--epochs", "2", "--quiet"]
    done = subprocess.run(
        [*command, "--launch", "torchrun"], capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr
    assert RunDirectory(folder).spec.epochs == 2
    assert RunDirectory(folder).status == "completed"


def test_two_machines(tmp_path: Path) -> None:
    """Both are this one, with a torchrun for each; the run is where rank 0 is."""
    spec, address = airfoil(), free_address()
    shared = ("--launch", "torchrun", "--nodes", "2", "--rendezvous", address, "--quiet")
    other = start(spec, tmp_path / "other", *shared, "--node-rank", "1")
    with ended(other):
        process = start(spec, tmp_path / "run", *shared, "--node-rank", "0")
        with ended(process):
            _, errors = process.communicate(timeout=LIMIT)
        _, others = other.communicate(timeout=LIMIT)
    assert (process.returncode, other.returncode) == (0, 0), errors + others
    assert not (tmp_path / "other").exists()
    assert RunDirectory(tmp_path / "run").status == "completed"
    assert_goes_on(spec, tmp_path / "run")


RATE_AND_END = """
import json, os, pathlib, sys
import lockstep as ls
from lockstep.processes.ranks import is_first
from lockstep.training.events import StepsCompleted

def callback(event, run):
    if is_first() and isinstance(event, StepsCompleted):
        if run.step == 5:
            run.set_lr(0.02)
        if run.step == 9:
            run.stop()

spec = ls.RunSpec.from_dict(json.loads(sys.argv[1]))
lrs = ls.train(spec, callbacks=[callback], event_steps=1).history[:, "lr"]
pathlib.Path(sys.argv[2], os.environ["RANK"]).write_text(json.dumps(lrs.tolist()))
"""


def test_the_first_sets_the_rate_and_ends_the_run_for_all(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(RATE_AND_END)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    torchrun += ["--master-addr", "127.0.0.1", "--master-port", free_address().split(":")[1]]
    command = [*torchrun, str(script), json.dumps(airfoil().with_lr(0.1).to_dict()), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    for rank in "01":
        assert json.loads((tmp_path / rank).read_text()) == [0.1] * 5 + [0.02] * 4


# --- mistakes -------------------------------------------------------------------------------------


def test_other_processes_than_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in Rank(0, 3, 0, 3, store="/nowhere").variables().items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=r"devices = 2: there are 3 processes.*--devices 3"):
        ls.train(airfoil())
    with pytest.raises(InputError, match=r"framework = 'numpy': cannot be one of several"):
        ls.train(airfoil(framework="numpy", devices=3))


def test_a_callback_cannot_reach_into_them() -> None:
    with pytest.raises(InputError, match="listeners"):
        ls.train(airfoil(), callbacks=[lambda event, run: None])


def test_a_mistake_is_told_as_in_one_process(tmp_path: Path) -> None:
    with pytest.raises(LockstepError, match="batch_size = 5000: is larger than the data"):
        ls.train(airfoil(batch_size=5000), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


# --- at full length -------------------------------------------------------------------------------


def chapter(**fields: object) -> RunSpec:
    """The chapter's LeNet and rate on Fashion-MNIST."""
    spec = ls.recipes.get("fashion-lenet", framework="torch", epochs=10).with_lr(0.2)
    return spec.with_fields({"model.pooling": "avg", **fields})


@pytest.mark.slow
@pytest.mark.timeout(3600)
@needs_images
@pytest.mark.parametrize(
    ("precision", "tolerance", "pooling", "lr"),
    [("float64", 1e-10, "avg", 0.2), ("float64", 1e-10, "max", 0.1), ("float32", 1e-5, "avg", 0.2)],
)
def test_a_hundred_steps_on_any_number_of_devices(
    precision: str, tolerance: float, pooling: str, lr: float
) -> None:
    """250 is divided by none of 3, 4 and 8; every fourth batch has 50. From the chapter's small
    weights the avg form takes longer than this to leave its plateau; max falls at once, but in
    float32 near-ties of its pooling part any two orders of sums (docs/conventions.md)."""
    fields = {"max_steps": 100, "batch_size": 250, "data.max_examples": 800, "evaluate": ()}
    spec = chapter(precision=precision, epochs=25, **{**fields, "model.pooling": pooling})
    spec = spec.with_lr(lr)
    alone = ls.train(spec)
    assert np.ptp(alone.history[:, "loss"]) > (0.3 if pooling == "max" else 1e-4)
    for num_devices in (2, 3, 4, 8):
        together = ls.train(spec.with_fields({"devices": num_devices}))
        losses = [result.history[:, "loss"] for result in (alone, together)]
        print(num_devices, np.max(np.abs(losses[0] - losses[1]) / losses[0]))
        np.testing.assert_allclose(losses[1], losses[0], rtol=tolerance)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@needs_images
def test_the_accuracy_of_one_device() -> None:
    """In float64: at this rate the accuracy of an epoch differs from the next one's by a point, and
    in float32 rounding alone moves it by as much within ten epochs."""
    runs = [ls.train(chapter(devices=number, precision="float64")) for number in (1, 2)]
    found = [run.metrics["test_accuracy"] for run in runs]
    print(found)
    assert found[1] == pytest.approx(found[0], abs=0.005)
    assert found[0] > 0.8
