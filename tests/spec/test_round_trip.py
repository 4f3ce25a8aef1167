"""A spec survives its text forms exactly, and its hash with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings

from lockstep import recipes
from lockstep.errors import InputError
from lockstep.spec import SGD, RunSpec

from .strategies import specs


@settings(max_examples=50)
@given(specs)
def test_toml_gives_the_same_spec(spec: RunSpec) -> None:
    again = RunSpec.from_dict(tomllib.loads(spec.to_toml()))
    assert again == spec
    assert again.hash == spec.hash


@settings(max_examples=50)
@given(specs)
def test_json_gives_the_same_spec(spec: RunSpec) -> None:
    again = RunSpec.from_dict(json.loads(json.dumps(spec.to_dict(), allow_nan=False)))
    assert again == spec
    assert again.hash == spec.hash
    assert hash(again) == hash(spec)


@pytest.mark.parametrize("name", recipes.RECIPES)
@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_every_recipe_loads_again_from_a_file(name: str, suffix: str, tmp_path: Path) -> None:
    spec = recipes.get(name)
    path = tmp_path / f"run.{suffix}"
    path.write_text(spec.to_toml() if suffix == "toml" else json.dumps(spec.to_dict()))
    assert RunSpec.from_file(path) == spec
    assert RunSpec.from_file(str(path)).hash == spec.hash


@pytest.mark.parametrize(
    "schedule",
    [
        "cosine(0.3, final=0.01, steps=15).warmup(5)",
        "multi_factor(0.5, factor=0.5, milestones=[15, 30])",
        "join([constant(0.1), cosine(0.3, steps=15).warmup(2)], boundaries=[5])",
        "plateau(0.1)",
    ],
)
def test_schedules_as_text_load_again_as_tables(schedule: str, tmp_path: Path) -> None:
    spec = recipes.fashion_lenet(schedule=schedule)
    path = tmp_path / "run.toml"
    path.write_text(spec.to_toml())
    assert RunSpec.from_file(path).schedule == spec.schedule
    # a person may write the text itself
    written = spec.to_dict() | {"schedule": schedule}
    assert RunSpec.from_dict(written) == spec


def test_a_short_file_takes_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "short.toml"
    path.write_text(
        'name = "short"\ndata = "airfoil"\nmodel = "linear"\noptimizer = "sgd"\nschedule = 0.05\n'
    )
    spec = RunSpec.from_file(path)
    full = recipes.airfoil_linear(name="short", batch_size=32, epochs=1, evaluate=())
    assert spec == full


def test_a_file_with_a_mark_at_its_start_and_other_line_ends_loads(tmp_path: Path) -> None:
    """As editors on Windows write them."""
    path = tmp_path / "run.toml"
    text = recipes.airfoil_linear().to_toml().replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert RunSpec.from_file(path) == recipes.airfoil_linear()


def test_whole_numbers_in_decimal_fields_are_the_same_run() -> None:
    one = recipes.airfoil_linear(optimizer=SGD(clip_norm=1))
    other = recipes.airfoil_linear(optimizer=SGD(clip_norm=1.0))
    assert one == other
    assert one.hash == other.hash == RunSpec.from_dict(one.to_dict()).hash


def test_lists_are_the_same_run_as_tuples() -> None:
    spec = recipes.airfoil_linear(evaluate=["train"])
    assert spec == recipes.airfoil_linear()
    assert hash(spec) == hash(recipes.airfoil_linear())


def test_the_hash_is_the_same_in_another_process() -> None:
    code = "from lockstep import recipes; print(recipes.timemachine_gru().hash)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == recipes.timemachine_gru().hash


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("absent.toml", None, "No such file"),
        ("torn.toml", b"name = ", "not valid toml"),
        ("torn.json", b"{", "not valid json"),
        ("list.json", b"[1, 2]", "table"),
        ("number.json", b"3", "table"),
        ("bytes.toml", b"name = '\xff'", "not text in UTF-8"),
        ("bare", b"name = ", "not valid toml"),
        ("deep.json", b"[" * 10_000 + b"]" * 10_000, "more than 50 tables or lists"),
        ("deep.json", b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "more than 50 tables or lists"),
        ("deep.json", b'{"a":' * 51 + b"1" + b"}" * 51, "more than 50 tables or lists"),
        ("deep.toml", b"a = " + b"[" * 10_000 + b"]" * 10_000, "more than 50 tables or lists"),
        ("digits.json", b'{"epochs": ' + b"9" * 10_000 + b"}", "not valid json"),
        ("nul.toml", b"\x00" * 10, "not valid toml"),
        ("large.json", b" " * 10_000_001, "larger than any description of a run"),
    ],
)
def test_files_that_cannot_be_read(
    name: str, content: bytes | None, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=problem) as caught:
        RunSpec.from_file(path)
    assert caught.value.field == "file"
    assert str(path) in str(caught.value)


def test_what_is_no_file(tmp_path: Path) -> None:
    """A folder, a pipe that nobody writes to, a link to itself, a path with a NUL."""
    (tmp_path / "folder.toml").mkdir()
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    wanted = {
        "folder.toml": "is not a file",
        "pipe.toml": "is not a file",
        "loop.toml": "Too many levels of symbolic links",
        "nul\x00.toml": "is not a path",
    }
    for name, problem in wanted.items():
        with pytest.raises(InputError, match=problem):
            RunSpec.from_file(tmp_path / name)
