"""Any valid spec: every kind of data, model, optimizer and schedule, with any of their values."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import strategies as st

from lockstep.schedules import KINDS, constant, parse_schedule
from lockstep.schedules.combine import Warmup
from lockstep.spec import ImageFiles, Recall, RunSpec, Table, TextFile
from lockstep.spec.data_parts import (
    HEADERS,
    LOADINGS,
    LOSSES,
    MISSING_VALUES,
    ORDERS,
    SAMPLINGS,
    SEPARATORS,
    SOURCES,
    STANDARDIZED,
    SYMBOLS,
    TARGETS,
)
from lockstep.spec.parts import DATA, GATES, MODELS, OPTIMIZERS, POOLINGS, RESETS
from lockstep.spec.run import PRECISIONS, SPLITS, STYLES, UNITS

sizes = st.integers(1, 10**6)
fractions = st.floats(0, 1, exclude_max=True)
amounts = st.floats(0, 1e6)
texts = st.text(max_size=20)

# by name of the field, in whichever part it stands
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "source": st.sampled_from(SOURCES),
    "order": st.sampled_from(ORDERS),
    "loading": st.sampled_from(LOADINGS),
    "sampling": st.sampled_from(SAMPLINGS),
    "loss": st.sampled_from(LOSSES),
    "pooling": st.sampled_from(POOLINGS),
    "reset": st.sampled_from(RESETS),
    "gate": st.sampled_from(GATES),
    "drop_last": st.booleans(),
    "file": st.sampled_from(["", "/data/words.txt", "/data/数.csv"]),  # relative ones become whole
    "target": texts,
    **dict.fromkeys(("columns", "without"), st.lists(st.text(min_size=1)).map(tuple)),
    "header": st.sampled_from(HEADERS),
    "separator": st.sampled_from(SEPARATORS),
    "target_is": st.sampled_from(TARGETS),
    "standardize": st.sampled_from(STANDARDIZED),
    "missing": st.sampled_from(MISSING_VALUES),
    "symbols": st.sampled_from(SYMBOLS),
    "keep_case": st.just(False),  # True is refused beside letters
    **dict.fromkeys(("held_out", "validation"), fractions),
    "hiddens": st.lists(sizes, max_size=3).map(tuple),
    "digest": texts,
    "functions": st.just(()),
    "structure": texts,
    "weights": texts,
    "reference": texts,
    **dict.fromkeys(
        (
            "max_examples",
            "copies",
            "window",
            "max_tokens",
            "num_hiddens",
            "num_symbols",
            "num_sequences",
        ),
        sizes,
    ),
    **dict.fromkeys(("momentum", "decay", "beta1", "beta2"), fractions),
    **dict.fromkeys(("weight_decay", "clip_norm", "clip_value", "eps", "temperature"), amounts),
}


def part(cls: type[Any]) -> st.SearchStrategy[Any]:
    """Any value of one kind of data, model or optimizer."""
    given = {item.name: _FIELDS[item.name] for item in fields(cls)}
    if cls in (Recall, Table, TextFile, ImageFiles):  # always generated, or always a file
        del given["source"]
    return st.builds(cls, **given)


def any_of(kinds: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.one_of([part(cls) for cls in kinds.values()])


examples = st.sampled_from([parse_schedule(kind.example) for kind in KINDS.values()])
schedules = st.one_of(
    examples,
    st.builds(constant, amounts),
    st.builds(Warmup, st.builds(constant, amounts), sizes, start=amounts),
)

specs = st.builds(
    RunSpec,
    name=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
    data=any_of(DATA),
    model=any_of(MODELS),
    optimizer=any_of(OPTIMIZERS),
    schedule=schedules,
    schedule_per=st.sampled_from(UNITS),
    batch_size=sizes,
    epochs=sizes,
    max_steps=st.integers(0, 10**6),
    seed=st.integers(0, 2**63 - 1),
    framework=st.sampled_from(["numpy", "torch", "jax"]),
    style=st.sampled_from(STYLES),
    precision=st.sampled_from(PRECISIONS),
    fused=st.booleans(),
    evaluate=st.lists(st.sampled_from(SPLITS), unique=True).map(tuple),
    evaluate_epochs=sizes,
    checkpoint_steps=st.integers(0, 10**6),
)
