"""The tabs of a chapter beside each other, from runs that no kernel has made."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from tests.book.chapters import as_markdown

from lockstep.book import chapter, side_by_side
from lockstep.book.execution import Executed
from lockstep.book.kernel import Settings
from lockstep.book.running import CellRun, ChapterRun
from lockstep.d2l.drawing import METADATA


def run_with(metadata: dict[str, Any], problem: str = "") -> ChapterRun:
    found = chapter.parse(as_markdown([(("pytorch",), "1")]), Path("own.md"))
    (cell,) = found.cells("pytorch")
    output = {"output_type": "display_data", "data": {}, "metadata": metadata}
    executed = Executed([output], 2.0, problem)
    settings = Settings("torch", "pytorch")
    return ChapterRun(found, "pytorch", settings, (CellRun(1, cell, executed),), 2.0)


def test_values_that_are_no_finite_numbers() -> None:
    """JSON has none: in a notebook's output they are texts."""
    run = run_with({METADATA: {"loss": "nan", "train acc": "inf", "test acc": 0.5}})
    _, rows = side_by_side.value_table([run])
    assert [row[1] for row in rows] == ["nan", "inf", "0.5", "2.0 s"]
    assert math.isnan(side_by_side.to_dict([run])["pytorch"]["figures"][0]["values"]["loss"])


def test_a_cell_that_failed_is_remarked_upon() -> None:
    assert side_by_side.remarks([run_with({})]) == []
    (remark,) = side_by_side.remarks([run_with({}), run_with({}, "ValueError: no")])
    assert remark.startswith("pytorch: not every cell ran")
