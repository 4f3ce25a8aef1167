"""The outputs of a cell, collected from a kernel's messages as a notebook keeps them."""

from __future__ import annotations

import re
from typing import Any

from lockstep.d2l.cell_progress import MIME
from lockstep.errors import MissingError

Output = dict[str, Any]
LONGEST = 1_000_000  # characters that a cell may print; what follows is counted and dropped
MOST_SHOWN = 50 * LONGEST  # characters of a cell's values and figures together
LONGEST_LINE = 500  # of an error in one line
CUT = "more characters were printed and not kept"  # ends what a cell printed too much of
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# a line of the log that C++ code of TensorFlow and Paddle keeps, F (the process ends) apart
_LOG = re.compile(
    r"^(WARNING: All log messages before absl::InitializeLog\(\)"
    r"|[IWE]\d{4,8} [\d:.]+ +\d+ \S+:\d+\]).*\n",
    re.MULTILINE,
)


class Outputs:
    """What one cell has shown so far, and how far it says it is (`share`, from 0 to 1)."""

    def __init__(self) -> None:
        self.items: list[Output] = []
        self.share = 0.0
        self.error = ""  # the last line of the error that ended the cell
        self._places: dict[str, int] = {}  # of displays that may be updated
        self._clear_next = False
        self._shown = self._dropped = 0  # characters of values and figures

    @property
    def whole(self) -> list[Output]:
        """Everything, and at the end how much was shown and not kept."""
        if not self._dropped:
            return self.items
        said = said_cut(self._dropped)
        return [*self.items, {"output_type": "stream", "name": "stderr", "text": said}]

    def add(self, message: dict[str, Any]) -> None:
        """Take in one message of the kernel's output channel."""
        kind, content = message["msg_type"], message["content"]
        match kind:
            case "stream":
                self._add_text(content["name"], content["text"])
            case "display_data" | "execute_result":
                self._add_display(kind, content)
            case "update_display_data":
                self._update(content)
            case "clear_output":
                self._clear_next = content.get("wait", False)
                if not self._clear_next:
                    self._clear()
            case "error":
                self.error = last_line(content["evalue"], content["ename"])
                lines = colourless("\n".join(content["traceback"]))
                self._append({"output_type": "error", "ename": content["ename"],
                              "evalue": cut(content["evalue"]),
                              "traceback": cut(lines).split("\n")})  # fmt: skip

    def _append(self, output: Output) -> None:
        if self._clear_next:
            self._clear()
        self.items.append(output)

    def _clear(self) -> None:
        self.items.clear()
        self._places.clear()
        self._clear_next = False
        self._shown = 0

    def _add_text(self, name: str, text: str) -> None:
        last = self.items[-1] if self.items and not self._clear_next else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            text = self.items.pop()["text"] + text
        text = overwritten(text)
        if kept := without_log(text) if name == "stderr" else text:
            self._append({"output_type": "stream", "name": name, "text": kept})

    def _add_display(self, kind: str, content: dict[str, Any]) -> None:
        output: Output = {
            "output_type": kind, "data": content["data"], "metadata": content["metadata"],
        }  # fmt: skip
        if kind == "execute_result":
            output["execution_count"] = content["execution_count"]
        if self._clear_next:
            self._clear()
        if not self._has_room(content["data"]):
            return
        self._append(output)
        identity = content.get("transient", {}).get("display_id")
        if identity:
            self._places[identity] = len(self.items) - 1

    def _update(self, content: dict[str, Any]) -> None:
        if MIME in content["data"]:
            self.share = float(content["data"][MIME]["share"])
            return
        place = self._places.get(content["transient"]["display_id"])
        if place is not None and self._has_room(content["data"], self.items[place]["data"]):
            self.items[place].update(data=content["data"], metadata=content["metadata"])

    def _has_room(self, data: dict[str, Any], instead: dict[str, Any] | None = None) -> bool:
        """Whether there is room for a value, which may take another's place; counts it."""
        size = _size(data)
        shown = self._shown - _size(instead or {}) + size
        if shown > MOST_SHOWN:
            self._dropped += size
            return False
        self._shown = shown
        return True


def _size(data: dict[str, Any]) -> int:
    """The characters of a value or a figure."""
    return sum(len(text) for text in data.values() if isinstance(text, str))


def overwritten(text: str) -> str:
    r"""Text as a terminal would show it where a line is written again after a carriage return.

    >>> overwritten("10 %\r20 %\rdone\nnext\r\n")
    'done\nnext\n'
    """
    if "\r" not in text:
        return text
    return re.sub(r"[^\n]*\r(?!\Z)", "", text.replace("\r\n", "\n"))


def without_log(text: str) -> str:
    r"""Text without the lines of a framework's C++ log, which are no output of a cell.

    >>> without_log("E0000 00:00:1795053824.37 15661 util.cc:131] oneDNN ...\nE0 is mine\n")
    'E0 is mine\n'
    """
    return _LOG.sub("", text)


def colourless(text: str) -> str:
    r"""Text without a terminal's colours.

    >>> colourless("\x1b[1m10/10\x1b[0m")
    '10/10'
    """
    return _COLOUR.sub("", text)


def cut(text: str) -> str:
    """The first LONGEST characters of a text, and how many more there were."""
    more = len(text) - LONGEST
    return text if more <= 0 else text[:LONGEST] + said_cut(more)


def said_cut(count: int) -> str:
    """What ends a text of which so many characters are left out."""
    return f"\n[{count:,} {CUT}]\n"


def last_line(text: str, name: str) -> str:
    r"""An error in one line, as Python ends a traceback with it. A MissingError begins with what is
    missing, and ends with what to do.

    >>> last_line("a\nb is missing\n", "ValueError"), last_line("", "KeyboardInterrupt")
    ('ValueError: b is missing', 'KeyboardInterrupt')
    """
    lines = [line.strip() for line in colourless(text).splitlines() if line.strip()]
    if not lines:
        return name
    said = lines[-1]
    if name == MissingError.__name__ and len(lines) > 1:
        said = f"{lines[0]} ... {said}"
    return f"{name}: {said if len(said) <= LONGEST_LINE else f'{said[:LONGEST_LINE]}...'}"
