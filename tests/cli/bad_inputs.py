"""Bad command lines and files by the thousand, each from a seed and a number.

A case is a folder's files and an argument list. Most are wrong; the few that are right by luck
train a step or two. Nothing here reaches a network, makes an environment or starts a process.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from lockstep import recipes
from lockstep.schedules import KINDS
from lockstep.spec import RunSpec
from lockstep.spec.convert import PARTS, flatten

VALUES = (
    "", " ", "-", "--", "-1", "0", "1", "2.5", "1e999", "-1e999", "nan", "inf", "-inf", "1e-400",
    "9" * 5000, "1" * 400, "1_0", "0x10", "٣", "½", "☃", "é" * 50, "\x00", "a\x00b", "\udcff",
    "\n", "a\nb", "x" * 3000, "None", "null", "true", "yes", "no", "[]", "{}", "[[[[", "()", "{}{}",
    "1,2,3", ",,,", "1,", "../..", "/", ".", "/dev/null", "~", "$HOME", "%s%n", "{0}", "'; --",
    "gru", "sgd", "real", "generated", "numpy", "pytorch", "float32", "train,test", "scratch",
    "cosine(0.3", "constant(0.1)", "join([1, 2], boundaries=[1])", "lambda: 0", "__import__('os')",
    "1" + "0" * 30, "-0.0", "1e308", "4097", "1000000000", "1000000001", "9223372036854775808",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2.5, 1e308, 1e-320, 10**400, -(10**30), True, 2**63)
LETTERS = "abcdefghijklmnopqrstuvwxyz(),.=[]{}0123456789-+*/ \"'\\\n\x00☃"
COMMANDS = (
    "train", "resume", "compare", "runs", "show", "generate", "convert", "recipes", "schedule",
    "data", "env", "doctor", "devices", "bench", "scale", "experiment",
)  # fmt: skip
SMALL = ["airfoil-linear", "--framework", "numpy", "--max-steps", "1", "--quiet"]


@dataclass
class Case:
    """What is written before, what is called, and whether it must be refused."""

    argv: list[str]
    write: Callable[[Path], None] = lambda folder: None
    surely: bool = False


def case(number: int, seed: int = 0) -> Case:
    """The case of that number."""
    rng = np.random.default_rng([seed, number])
    return FAMILIES[number % len(FAMILIES)](rng)


def pick(rng: np.random.Generator, options: Any) -> Any:
    return list(options)[int(rng.integers(len(options)))]


# --- values of options ----------------------------------------------------------------------------


def fields() -> list[str]:
    """Every field of a spec by its dotted name, whatever the kind."""
    found = [item.name for item in dataclasses.fields(RunSpec)] + ["lr", "scale-batch"]
    for part, kinds in {**PARTS, "schedule": KINDS}.items():
        found.append(f"{part}.kind")
        found += [f"{part}.{f.name}" for cls in kinds.values() for f in dataclasses.fields(cls)]
    return list(dict.fromkeys(found))


FIELDS = fields()


def option_value(rng: np.random.Generator) -> Case:
    name, value = pick(rng, FIELDS), pick(rng, VALUES)
    words = [f"--{name}={value}"] if rng.random() < 0.7 else [f"--{name}", value]
    if rng.random() < 0.3:
        words += [f"--{pick(rng, FIELDS)}={pick(rng, VALUES)}"]
    return Case(["train", *SMALL, "--out", "run", *words])


def misspelt_option(rng: np.random.Generator) -> Case:
    name = list(pick(rng, FIELDS))
    name.insert(int(rng.integers(len(name) + 1)), pick(rng, "qxz_.-"))
    words = [f"--{''.join(name)}", pick(rng, VALUES)]
    place = int(rng.integers(2))
    argv = [*SMALL, "--out", "run"]
    return Case(["train", *(words + argv if place else argv + words)])


def other_option(rng: np.random.Generator) -> Case:
    """Options of other commands, beside something that keeps them from beginning."""
    value = pick(rng, VALUES)
    argv = pick(
        rng,
        [
            ["schedule", "0.1", f"--steps={value}"],
            ["schedule", "0.1", "--no-plot", f"--at={value}"],
            ["schedule", "0.1", "--no-plot", f"--figure={value}"],
            ["generate", value, f"--num={pick(rng, VALUES)}"],
            ["show", value, f"--against={pick(rng, VALUES)}"],
            ["show", "no-run", f"--figure={value}"],
            ["resume", value, f"--epochs={pick(rng, VALUES)}"],
            ["runs", f"--root={value}"],
            ["recipes", value],
            ["convert", value, "--to", pick(rng, VALUES), "--out", "out.safetensors"],
            ["convert", "a.safetensors", "--from", value, "--to", "torch", "--out", "o.safetensors",
             "--model", pick(rng, VALUES)],
            ["data", "fetch", f"no-{value}"],
            ["data", "verify", f"no-{value}"],
            ["data", "fetch", "airfoil", f"--from={value}"],
            ["env", "create", f"no-{value}"],
            ["env", "remove", f"no-{value}"],
            ["env", "check", f"no-{value}"],
            ["bench", "allreduce", "--repeats=0", f"--size={value}"],
            ["bench", "allreduce", "--repeats=0", f"--devices={value}"],
            ["bench", "allreduce", "--repeats=0", f"--bandwidth={value}"],
            ["bench", "allreduce", f"--algorithms=no-{value}"],
            ["scale", "no-recipe", f"--bandwidth={value}", f"--latency={pick(rng, VALUES)}"],
            ["scale", "no-recipe", f"--devices={value}", f"--per-host={pick(rng, VALUES)}"],
            ["scale", "airfoil-linear", "--no-check", "--threads=0", f"--bucket={value}"],
            ["experiment", "ways-to-split", "--devices=0", f"--ways={value}"],
            ["experiment", "ways-to-split", "--steps=0", f"--batch-size={value}"],
            ["experiment", "scaled-batch", "no-recipe", f"--rules={value}"],
            ["compare", *SMALL[:1], "--steps=0", f"--tolerance={value}"],
            ["compare", *SMALL[:1], "--steps=0", f"--frameworks={value}"],
            ["compare", *SMALL[:1], "--steps=0", f"--timeout={value}"],
            ["train", *SMALL, f"--start={value}", "--out", "run"],
            ["train", *SMALL, f"--out={value}/no-{value}"],
            ["train", *SMALL, "--launch=torchrun", f"--nodes={value}", "--out", "run"],
        ],
    )  # fmt: skip
    return Case(argv)


def words(rng: np.random.Generator) -> Case:
    """Words in any order; none that would make or remove an environment, fetch, or start."""
    pool = ["--json", "--help=1", "--quiet", "--list", "-x", "--", "=", "--=", "-", *VALUES]
    count = int(rng.integers(0, 5))
    command = pick(rng, [c for c in COMMANDS if c not in ("devices", "doctor")])
    return Case([command, *(str(pick(rng, pool)) for _ in range(count))])


def schedule_text(rng: np.random.Generator) -> Case:
    text = list(pick(rng, [cls.example for cls in KINDS.values()]))
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(text) + 1))
        if rng.random() < 0.5 and at < len(text):
            del text[at]
        else:
            text.insert(at, pick(rng, LETTERS))
    if rng.random() < 0.05:
        text = ["(" * int(rng.integers(1, 5000)), *text]
    return Case(["schedule", f" {''.join(text)}", "--no-plot", "--at", "0,1,5"])


# --- files ----------------------------------------------------------------------------------------


def base(rng: np.random.Generator) -> dict[str, Any]:
    name = pick(rng, ["airfoil-linear", "timemachine-gru", "fashion-mlp"])
    spec = recipes.get(name, framework="numpy", max_steps=1, evaluate=())
    small = {"data.source": "generated"}
    if name == "timemachine-gru":
        small |= {"data.max_tokens": "500", "data.window": "5", "model.num_hiddens": "4"}
    return spec.with_fields(small | {"batch_size": 4}).to_dict()


def nested(depth: int, inner: Any = 0) -> Any:
    value = inner
    for _ in range(depth):
        value = [value] if depth % 2 else {"schedule": value}
    return value


def odd(rng: np.random.Generator) -> Any:
    return pick(
        rng,
        [*NUMBERS, *VALUES, [], {}, [1], {"kind": "gru"}, {"kind": []}, {"kind": None}, [[[]]],
         {"": 0}, {"kind": "cosine", "base": 1, "steps": "x"}, nested(30), nested(31)],
    )  # fmt: skip


def spec_file(rng: np.random.Generator) -> Case:
    """A description with some of its fields dropped, replaced, renamed or added."""
    values = base(rng)
    for _ in range(int(rng.integers(1, 4))):
        name = pick(rng, [*flatten(values), *values])
        *path, last = str(name).split(".")
        table: Any = values
        for step in path:
            table = table.get(step) if isinstance(table, dict) else None
        if not isinstance(table, dict):
            continue
        way = rng.random()
        if way < 0.2:
            table.pop(last, None)
        elif way < 0.3:
            table[pick(rng, VALUES)] = table.pop(last, 0)
        else:
            table[last] = odd(rng)
    toml = rng.random() < 0.5

    def write(folder: Path) -> None:
        text = _toml(values) if toml else json.dumps(values)
        (folder / ("spec.toml" if toml else "spec.json")).write_bytes(
            text.encode("utf-8", "surrogatepass")
        )

    name = "spec.toml" if toml else "spec.json"
    return Case(["train", name, "--max-steps", "1", "--quiet", "--out", "run"], write)


def _toml(values: dict[str, Any]) -> str:
    try:
        return tomli_w.dumps(values)
    except (TypeError, ValueError, OverflowError):  # TOML lacks null: something else that is wrong
        return json.dumps(values)


def damaged_file(rng: np.random.Generator) -> Case:
    """The bytes of a description, changed, cut or doubled."""
    values, toml = base(rng), rng.random() < 0.5
    content = bytearray((tomli_w.dumps(values) if toml else json.dumps(values)).encode())
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(content) or 1))
        way = rng.random()
        if way < 0.4 and content:
            content[at] = int(rng.integers(256))
        elif way < 0.6:
            del content[at : at + int(rng.integers(1, 40))]
        elif way < 0.8:
            content[at:at] = bytes(rng.integers(0, 256, size=3, dtype=np.uint8))
        else:
            content = content[: max(1, at)]
    name = "spec.toml" if toml else "spec.json"
    return Case(
        ["train", name, "--max-steps", "1", "--quiet", "--out", "run"],
        lambda folder: _write(folder / name, bytes(content)),
    )


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def not_a_file(rng: np.random.Generator) -> Case:
    """What stands where a file should: a folder, a loop of links, a pipe, a heap of brackets."""
    suffix = pick(rng, ["toml", "json"])
    path = f"odd.{suffix}"
    depth = int(rng.integers(60, 20000))
    open_, close = pick(rng, [("[", "]"), ('{"a":', "}"), ("[{", "}]")])
    ways: list[Callable[[Path], None]] = [
        lambda folder: (folder / path).mkdir(),
        lambda folder: (folder / path).symlink_to(folder / path),
        lambda folder: os.mkfifo(folder / path),
        lambda folder: _write(folder / path, b""),
        lambda folder: _write(folder / path, b"\x00" * 100),
        lambda folder: _write(folder / path, b"\xff\xfe" * 50),
        lambda folder: _write(folder / path, (open_ * depth + close * depth).encode()),
        lambda folder: _write(folder / path, f"a = {'[' * depth}{']' * depth}".encode()),
        lambda folder: _write(folder / path, f'{{"epochs": {"9" * depth}}}'.encode()),
        lambda folder: _write(folder / path, f'{{"name": "{"x" * depth}"}}'.encode()),
        lambda folder: _write(folder / path, b"name = " + b"9" * depth),
        lambda folder: _write(folder / path, b'"just text"'),
        lambda folder: None,
    ]
    argv = pick(
        rng,
        [
            ["train", path, "--quiet", "--out", "run"],
            ["compare", path, "--frameworks", "numpy", "--quiet", "--out", "compared"],
            ["scale", path, "--no-check"],
            ["convert", "a.safetensors", "--from", "torch", "--model", path, "--to", "lockstep",
             "--out", "b.safetensors"],
            ["train", f"nul\x00{path}", "--quiet", "--out", "run"],
            ["train", f"{path}/{path}", "--quiet", "--out", "run"],
            ["train", *SMALL, "--start", path, "--out", "run"],
            ["train", *SMALL, "--out", f"{path}/run"],
        ],
    )  # fmt: skip
    write = pick(rng, ways)
    # the last way writes nothing, so that --out below it is a good folder
    return Case(argv, write, surely=argv[-1] != f"{path}/run")


def odd_run(rng: np.random.Generator) -> Case:
    """A run's folder with one of its files made into something else."""
    file = pick(rng, ["spec.toml", "events.jsonl", "machine.json", "checkpoints"])
    content = pick(rng, [b"", b"\x00", b"\xff\xfe", b"{}", b"[]", b"null\n", b"[" * 9999, b"1\n"])
    folder_instead = rng.random() < 0.2

    def write(folder: Path) -> None:
        run = folder / "runs" / "one"
        run.mkdir(parents=True)
        spec = recipes.airfoil_linear(max_steps=1)
        (run / "spec.toml").write_text(spec.to_toml())
        (run / file).unlink(missing_ok=True)
        if folder_instead:
            (run / file).mkdir()
        else:
            (run / file).write_bytes(content)

    argv = pick(
        rng,
        [["show", "one"], ["runs"], ["resume", "one", "--quiet"], ["generate", "one"],
         ["show", "one", "--against", "one"], ["show", "one", "--json"],
         ["show", "one", "--report"],
         ["convert", "one", "--to", "torch", "--out", "o.safetensors"]],
    )  # fmt: skip
    return Case(argv, write)


FAMILIES: tuple[Callable[[np.random.Generator], Case], ...] = (
    option_value, spec_file, damaged_file, other_option, schedule_text, misspelt_option,
    option_value, spec_file, not_a_file, words, odd_run,
)  # fmt: skip
