"""Damaged run folders: a damaged file is named, and what is there is used or refused."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lockstep as ls
from lockstep.cli import main
from lockstep.errors import RunDirectoryError
from lockstep.training import Result, checkpoints
from lockstep.training.directory import RunDirectory
from lockstep.training.events import CheckpointSkipped, SpecChanged

from .running import assert_same_run, assert_same_snapshot, at_step, small

SPEC = small("airfoil", "numpy", "momentum").with_fields({"epochs": 2, "checkpoint_steps": 5})


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run stopped at step 12, with checkpoints of steps 10 and 12."""
    folder = tmp_path_factory.mktemp("damage") / "run"
    ls.train(SPEC, out=folder, callbacks=[at_step(12)], event_steps=1)
    return folder


@pytest.fixture(scope="module")
def whole() -> Result:
    return ls.train(SPEC)


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << (bit % 8)
    path.write_bytes(content)


# --- checkpoints ----------------------------------------------------------------------------------


@given(st.data())
def test_any_flipped_bit_is_noticed(stopped: Path, data: st.DataObject) -> None:
    """In the arrays, the header, its length and the digest itself."""
    newest = checkpoints.newest(stopped / "checkpoints")
    assert newest is not None
    copy = stopped.parent / "flipped.safetensors"
    shutil.copy(newest, copy)
    flip(copy, data.draw(st.integers(0, 8 * newest.stat().st_size - 1)))
    with pytest.raises(RunDirectoryError, match="cannot be read"):
        checkpoints.load(copy)


@pytest.mark.slow
def test_every_flipped_bit_is_noticed(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newest = checkpoints.newest(stopped / "checkpoints")
    assert newest is not None
    copy, bits = stopped.parent / "flipped.safetensors", 8 * newest.stat().st_size
    for bit in range(bits):
        shutil.copy(newest, copy)
        flip(copy, bit)
        with pytest.raises(RunDirectoryError, match="cannot be read"):
            checkpoints.load(copy)
    with capsys.disabled():
        print(f"\nflipped bits of a checkpoint: {bits} of {bits} noticed")


@pytest.mark.parametrize("content", [b"", b"garbage", None])
def test_the_run_goes_on_from_the_one_before(
    content: bytes | None, stopped: Path, whole: Result, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    newest = folder / "checkpoints" / "step-000000012.safetensors"
    if content is None:
        flip(newest, 8 * (newest.stat().st_size - 3))  # in an array: safetensors takes it
    else:
        newest.write_bytes(content)
    with pytest.raises(RunDirectoryError, match=rf"{newest.name}.*cannot be read"):
        ls.resume(folder, strict=True)
    events: list[object] = []
    result = ls.resume(folder, listeners=[events.append])
    assert_same_run(whole, result)
    (said,) = [e for e in events if isinstance(e, CheckpointSkipped)]
    assert (said.path, said.step) == (newest.name, 10)
    assert said in list(RunDirectory(folder).events())
    assert newest.name in result.history.damage[0]


def test_where_all_are_damaged_it_says_what_to_do(stopped: Path, tmp_path: Path) -> None:
    """The run may have begun from weights of its own, which the seed does not give."""
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    for path in (folder / "checkpoints").iterdir():
        path.write_bytes(b"")
    with pytest.raises(RunDirectoryError, match=r"none of its checkpoints.*Remove them"):
        ls.resume(folder)


def test_the_commands_say_it_and_strict_refuses(
    stopped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    name = "step-000000012.safetensors"
    flip(folder / "checkpoints" / name, 9999)
    words = ["convert", str(folder), "--to", "lockstep", "--out", str(tmp_path / "w.safetensors")]
    assert main([*words, "--strict"]) == 2
    assert name in capsys.readouterr().err
    assert main(words) == 0
    said = capsys.readouterr().err
    assert f"{name} is damaged" in said
    assert "after 10 steps" in said
    assert main(["show", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert name in shown
    assert "the state after 10 steps" in shown
    assert main(["resume", str(folder), "--strict", "--quiet"]) == 2
    assert main(["resume", str(folder)]) == 0
    assert f"checkpoint {name} is damaged" in capsys.readouterr().err


# --- the log and the rest -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe\x00", b"not json", b'"text"', b'{"event": "Unheard"}', b"[" * 100_000,
     b'{"event": "RunStarted", "step": "x", "num_steps": [], "steps_per_epoch": 1, "facts": {}}',
     b'{"event": []}'],
)  # fmt: skip
def test_a_damaged_line_is_named_and_left_out(
    line: bytes, stopped: Path, whole: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    log = folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    lines[2] = line + b"\n"
    log.write_bytes(b"".join(lines))
    assert main(["show", str(folder)]) == 0
    assert "line 3 cannot be read" in " ".join(capsys.readouterr().out.split())
    result = ls.resume(folder)
    assert_same_snapshot(whole.snapshot, result.snapshot)
    assert result.history.damage[0].startswith("events.jsonl: is not as it was")


def test_a_spec_that_says_something_else_than_the_checkpoint(stopped: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    text = (folder / "spec.toml").read_text()
    (folder / "spec.toml").write_text(text.replace("seed = 0", "seed = 4"))
    with pytest.raises(RunDirectoryError, match="cannot be continued with another seed"):
        ls.resume(folder)
    (folder / "spec.toml").write_text(
        text.replace("base = 0.01", "base = 0.03").replace("base = 0.1", "base = 0.3")
    )
    events: list[object] = []
    ls.resume(folder, listeners=[events.append])
    (said,) = [e for e in events if isinstance(e, SpecChanged)]
    assert "schedule.base" in said.changes[0]


# --- the campaign ---------------------------------------------------------------------------------


def damage(folder: Path, chance: random.Random) -> str:
    """Damage a file of the folder in some way; what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    path = chance.choice(files)
    content = path.read_bytes()
    way = chance.choice(["flip", "flips", "cut", "rubbish", "zeros", "append", "text", "remove"])
    at = chance.randrange(len(content))
    if way == "flip":
        flip(path, chance.randrange(8 * len(content)))
    elif way == "flips":
        for _ in range(20):
            flip(path, chance.randrange(8 * len(content)))
    elif way == "cut":
        os.truncate(path, at)
    elif way == "remove":
        path.unlink()
    else:
        some = {"rubbish": chance.randbytes(50), "zeros": bytes(50), "text": b"\n}{ 9999999 [",
                "append": chance.randbytes(99)}[way]  # fmt: skip
        path.write_bytes(
            content + some if way == "append" else content[:at] + some + content[at + len(some) :]
        )
    return f"{way} {path.name}"


def campaign(
    count: int, stopped: Path, whole: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, int]:
    """Every command of a damaged folder ends with 0 or 2 and a line; a run that goes on ends where
    an undisturbed one does, or says in what it was changed."""
    found: dict[str, int] = {}
    for number in range(count):
        chance = random.Random(number)
        folder = Path(shutil.copytree(stopped, tmp_path / "runs" / "run"))
        done = damage(folder, chance)
        out = str(tmp_path / "w.safetensors")
        said = ""
        for words in (
            ["show", str(folder)],
            ["show", str(folder), "--json"],
            ["runs", "--root", str(tmp_path / "runs")],
            ["convert", str(folder), "--to", "lockstep", "--out", out],
        ):
            code = main(words)
            text = capsys.readouterr()
            assert code in (0, 2), (done, words)
            assert code == 0 or "lockstep: " in text.err.splitlines()[-1], (done, words)
            said += text.out + text.err
        code = main(["resume", str(folder)])
        text = capsys.readouterr()
        said += text.out + text.err
        if code == 2:
            assert text.err.splitlines()[-1].startswith("lockstep: "), done
            outcome = "refused"
        else:
            assert code == 0, done
            newest = checkpoints.newest(folder / "checkpoints")
            assert newest is not None
            state = checkpoints.load(newest)[0]
            same = all(
                value.tobytes() == whole.weights[name].tobytes()
                for name, value in state.weights.items()
            )
            outcome = "the same end" if same else "changed, and said so"
            assert same or "changed: " in said, done
            history = RunDirectory(folder).history()
            lost = history[:, "loss"].tolist() != whole.history[:, "loss"].tolist()
            if same and lost:
                outcome = "the same end, steps lost and named"
                assert history.damage, done
        found[outcome] = found.get(outcome, 0) + 1
        shutil.rmtree(tmp_path / "runs")
        Path(out).unlink(missing_ok=True)
    return found


def test_some_damaged_folders(
    stopped: Path, whole: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sum(campaign(30, stopped, whole, tmp_path, capsys).values()) == 30


@pytest.mark.slow
def test_300_damaged_folders(
    stopped: Path, whole: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = campaign(300, stopped, whole, tmp_path, capsys)
    with capsys.disabled():
        print(f"\n300 damaged folders: {found}")
    assert sum(found.values()) == 300
