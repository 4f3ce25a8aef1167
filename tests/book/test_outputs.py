"""What is kept of a kernel's messages as the outputs of a cell."""

from __future__ import annotations

from typing import Any

from lockstep.book.execution import Executed
from lockstep.book.outputs import LONGEST, Outputs, cut

NOTICE = (
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
    "I0000 00:00:1795053767.725381   15425 port.cc:153] oneDNN custom operations are on.\n"
)
FALLBACK = "E0000 00:00:1795053824.373189   15661 util.cc:131] oneDNN supports DT_INT32 only ...\n"
GLOG = "W20261119 01:02:03.456789 15661 gpu_resources.cc:119] Please NOTE\n"
FATAL = "F0000 00:00:1795053824.373189   15661 util.cc:131] Check failed\n"


def stream(text: str, name: str = "stderr") -> dict[str, Any]:
    return {"msg_type": "stream", "content": {"name": name, "text": text}}


def kept(*texts: str, name: str = "stderr") -> list[str]:
    outputs = Outputs()
    for text in texts:
        outputs.add(stream(text, name))
    return [item["text"] for item in outputs.items]


def test_a_frameworks_log_is_no_output() -> None:
    assert kept(NOTICE) == []
    assert kept("mine\n", NOTICE, FALLBACK, "mine too\n", GLOG) == ["mine\nmine too\n"]


def test_a_line_that_comes_in_pieces_is_known_when_it_is_whole() -> None:
    assert kept(FALLBACK[:9], FALLBACK[9:40], f"{FALLBACK[40:]}mine\n") == ["mine\n"]


def test_what_looks_like_it_stays_where_it_is_a_cells_own() -> None:
    assert kept(FATAL) == [FATAL]
    assert kept("E0000 is a part number\n") == ["E0000 is a part number\n"]
    assert kept(NOTICE, name="stdout") == [NOTICE]


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    assert cut("x" * LONGEST) == "x" * LONGEST
    assert cut("x" * (LONGEST + 2_000)).endswith(
        "x\n[2,000 more characters were printed and not kept]\n"
    )


def test_a_long_error_is_cut() -> None:
    outputs = Outputs()
    long = "x" * 3 * LONGEST
    content = {"ename": "ValueError", "evalue": long, "traceback": ["in line 1", long]}
    outputs.add({"msg_type": "error", "content": content})
    (kept,) = outputs.items
    assert len(kept["evalue"]) + sum(map(len, kept["traceback"])) < 2 * LONGEST + 200
    assert outputs.error.startswith("ValueError: xxx")
    assert len(outputs.error) < 1000  # it is a line in the terminal


def shown(text: str, kind: str = "display_data") -> dict[str, Any]:
    content = {"data": {"text/plain": text}, "metadata": {}, "transient": {"display_id": "one"}}
    return {"msg_type": kind, "content": content}


def test_values_without_end_are_not_kept() -> None:
    """Fifty million characters of them are; one that replaces another takes its room."""
    text = "x" * LONGEST
    outputs = Outputs()
    for _ in range(48):
        outputs.add(shown(text))
    for _ in range(10):
        outputs.add(shown(2 * text, "update_display_data"))
    assert outputs.whole == outputs.items
    for _ in range(7):
        outputs.add(shown(text))
    assert len(outputs.items) == 49
    assert outputs.items[47]["data"]["text/plain"] == 2 * text
    assert outputs.whole[-1]["text"] == "\n[6,000,000 more characters were printed and not kept]\n"
    assert Executed(outputs.whole).is_cut


def test_the_error_of_missing_data_in_one_line_says_what_is_missing() -> None:
    """Not its last line alone, which follows the places that were tried."""
    outputs = Outputs()
    said = "data 'a' could not be had. Places tried:\n  cache: is empty\nFetch it where ... .\n"
    content = {"ename": "MissingError", "evalue": said, "traceback": []}
    outputs.add({"msg_type": "error", "content": content})
    wanted = "MissingError: data 'a' could not be had. Places tried: ... Fetch it where ... ."
    assert outputs.error == wanted
