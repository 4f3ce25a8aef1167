"""The text and table forms: what is accepted, what is refused and how the refusal helps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lockstep.errors import InputError
from lockstep.schedules import (
    KINDS,
    as_schedule,
    constant,
    cosine,
    format_schedule,
    join,
    multi_factor,
    parse_schedule,
    plateau,
    schedule_from_dict,
    schedule_to_dict,
    triangular,
)

READS = [
    ("0.3", constant(0.3)),
    (" 1 ", constant(1.0)),
    ("0.3.warmup(5)", constant(0.3).warmup(5)),
    ("cosine(0.3, final=0.01, steps=20)", cosine(0.3, final=0.01, steps=20)),
    ("cosine(base=0.3, steps=20)", cosine(0.3, steps=20)),
    ("cosine(0.3, steps=15).warmup(steps=5, start=1e-3)", cosine(0.3, steps=15).warmup(5, 0.001)),
    ("constant(1).warmup(5, mode=constant)", constant(1).warmup(5, mode="constant")),
    ('constant(1).warmup(5, mode="constant")', constant(1).warmup(5, mode="constant")),
    ("warmup(0.3, 5)", constant(0.3).warmup(5)),
    (
        "multi_factor(0.5, milestones=(15, 30), factor=0.5)",
        multi_factor(0.5, milestones=[15, 30], factor=0.5),
    ),
    (
        "join([0.1, cosine(0.3, steps=15).warmup(2)], boundaries=[5]).warmup(3)",
        join([constant(0.1), cosine(0.3, steps=15).warmup(2)], boundaries=[5]).warmup(3),
    ),
    ("plateau(0.3, patience=3)", plateau(0.3, patience=3)),
]

REFUSED = [
    ("cosin(0.3, steps=20)", "Did you mean 'cosine'?"),
    ("cosine", "lacks its values. Write it as in cosine(0.3, final=0.01, steps=20)"),
    ("cosine(0.3)", "needs steps. Write it as in cosine("),
    ("cosine(0.3, stesp=20)", "Did you mean 'steps'?"),
    ("cosine(0.3, 0.01, steps=20)", "takes only base without a name"),
    ("cosine(0.3, base=0.3, steps=20)", "schedule.base = 0.3: is given twice"),
    ("cosine(0.3, steps=20, steps=30)", "'steps=30': is given twice"),
    ("cosine(0.3, steps=20", "'(' was never closed"),
    ("cosine(0.3, steps=20).warmpu(5)", "Did you mean 'warmup'?"),
    ("cosine(0.3, steps=-20)", "schedule.steps = -20: must be at least 1"),
    ("cosine(lr, steps=20)", "schedule.base = 'lr': is not a number"),
    ("0.1 + 0.2", "is not part of a schedule's text"),
    ("cosine(**x)", "is not part of a schedule's text"),
    ("[0.1, 0.2]", "is not a schedule"),
    ("__import__('os').getcwd()", "schedule method = 'getcwd': is not known"),
    ("(lambda: 0.1)()", "is not part of a schedule's text"),
    ("plateau(0.1).warmup(5)", "is not a schedule of the step alone"),
    ("(" * 5000, "schedule = '((("),
    ("-" * 5000 + "1", "schedule = '---"),
    ("", "cannot be read at character 0"),
]


@pytest.mark.parametrize(("text", "schedule"), READS)
def test_text_is_read(text: str, schedule: object) -> None:
    assert parse_schedule(text) == schedule


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=lambda text: text[:30])
def test_bad_text_is_refused_with_help(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_schedule(text)
    assert message in str(caught.value)


def test_the_written_text_is_what_one_types_in_python() -> None:
    schedule = cosine(0.3, final=0.01, steps=15).warmup(5)
    assert format_schedule(schedule) == "cosine(0.3, final=0.01, steps=15).warmup(5)"
    both = join(
        [constant(0.1), triangular(0.1, peak=0.5, up=3, mode="triangular2")], boundaries=[4]
    )
    assert format_schedule(both) == (
        'join([constant(0.1), triangular(0.1, peak=0.5, up=3, mode="triangular2")], boundaries=[4])'
    )


def test_tables_hold_every_field_and_no_null() -> None:
    assert schedule_to_dict(triangular(0.1, peak=0.5, up=3).warmup(2)) == {
        "kind": "warmup",
        "schedule": {
            "kind": "triangular",
            "base": 0.1,
            "peak": 0.5,
            "up": 3,
            "mode": "triangular",
            "gamma": 1.0,
        },
        "steps": 2,
        "start": 0.0,
        "mode": "linear",
    }


def test_bad_tables_are_refused_with_help() -> None:
    with pytest.raises(InputError, match=r"does not say its kind\. Add kind = one of constant"):
        schedule_from_dict({"base": 0.3})
    with pytest.raises(InputError, match="Did you mean 'linear'"):
        schedule_from_dict({"kind": "liner", "base": 0.3})
    with pytest.raises(InputError, match="schedule = 3: is not known"):
        schedule_from_dict({"kind": 3})
    with pytest.raises(InputError, match=r"schedule.linear field = 'length': is not known"):
        schedule_from_dict({"kind": "linear", "base": 0.3, "steps": 3, "length": 3})


def test_as_schedule_takes_every_form() -> None:
    wanted = constant(0.3)
    for form in (wanted, 0.3, "0.3", {"kind": "constant", "base": 0.3}):
        assert as_schedule(form) == wanted
    assert as_schedule(1) == constant(1.0)
    for wrong in (None, True, [0.3]):
        with pytest.raises(InputError, match="is not a schedule"):
            as_schedule(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_working_example_and_a_row_in_the_docs(kind: str) -> None:
    cls = KINDS[kind]
    assert cls.kind == kind
    assert isinstance(parse_schedule(cls.example), cls)
    docs = (Path(__file__).parents[2] / "docs" / "schedules.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `{kind}` \|", docs, re.MULTILINE)
    assert cls.formula.replace("|", r"\|") in docs
