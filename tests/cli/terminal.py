"""The real command in a real terminal of some width: a pseudo-terminal of the system."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lockstep as ls

SOURCE = Path(ls.__file__).resolve().parents[1]
LIMIT = 60.0  # seconds that a command may take on a busy machine
# makes stdin the terminal that the process belongs to, as fish wants it; in the new process, for
# with a preexec_fn Python forks the test's own, whose threads (of jax) may not be forked
OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A process in a terminal; what it prints is read as it comes."""

    def __init__(
        self,
        argv: Sequence[str],
        columns: int = 80,
        folder: Path | None = None,
        variables: Mapping[str, str] = {},
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
        env = {**kept, "PYTHONPATH": str(SOURCE), "TERM": "xterm-256color", **variables}
        io: dict[str, Any] = {"stdin": slave, "stdout": slave, "stderr": slave}
        words = [sys.executable, "-ISc", OWN_TERMINAL, *argv]
        self.process = subprocess.Popen(words, cwd=folder, env=env, start_new_session=True, **io)
        os.close(slave)
        self.text = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *stop: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def hang_up(self) -> None:
        """Close the terminal, as its window does; the process goes on."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, self._master)  # the last way to the terminal is gone
        os.close(nowhere)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def read_until(self, text: str = "") -> str:
        """What is printed until `text` appears; to the end if there is none."""
        begin, end = len(self.text), time.monotonic() + LIMIT
        while not text or text not in self.text[begin:]:
            if not select.select([self._master], [], [], max(0.0, end - time.monotonic()))[0]:
                raise AssertionError(f"{text!r} did not appear: {self.text[begin:]!r}")
            try:
                content = os.read(self._master, 1 << 16)
            except OSError:  # Linux says so when the last writer has gone
                content = b""
            if not content:
                assert not text, f"{text!r} did not appear: {self.text[begin:]!r}"
                break
            self.text += content.decode("utf-8", "replace").replace("\r\n", "\n")
        return self.text[begin:]


def in_terminal(
    *words: str,
    columns: int = 80,
    folder: Path | None = None,
    variables: Mapping[str, str] = {},
) -> str:
    """All that `lockstep WORDS` prints in a terminal."""
    argv = [sys.executable, "-m", "lockstep", *words]
    with Terminal(argv, columns, folder, variables) as terminal:
        text = terminal.read_until()
        assert terminal.process.wait(LIMIT) == 0, text
    return text
