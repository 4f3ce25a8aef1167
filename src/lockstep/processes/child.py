"""A worker's side of the pipes between it and the process that started it.

stdout carries one line of JSON for each message and nothing else: what a library prints goes to
stderr. A mistake that a person can correct is the last message, {"error", "kind", "exit_code"}. The
worker ends when its parent does.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from collections.abc import Callable
from typing import Any, TextIO

from lockstep.errors import LockstepError

INTERRUPTED = 130  # exit code of a worker that SIGINT reached
ORPHANED = 70  # exit code of a worker whose parent is gone

WAITED = 71  # exit code of a worker that waited for another without an answer


class WaitedError(Exception):
    """Another worker sent nothing for longer than this one waits (`ranks.patience`)."""


Send = Callable[[dict[str, Any]], None]


def serve(work: Callable[[dict[str, Any], Send], None]) -> None:
    """Do `work` with the JSON object of the command line; never returns."""
    stream = take_stdout()
    end_with_parent()

    def send(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=stream, flush=True)

    code = 0
    try:
        work(json.loads(sys.argv[1]), send)
    except LockstepError as error:
        code = error.exit_code
        send({"error": str(error), "kind": type(error).__name__, "exit_code": code})
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException as error:
        import traceback

        traceback.print_exc()
        code = WAITED if isinstance(error, WaitedError) else 1
    sys.stderr.flush()
    os._exit(code)  # all is written; a library's own clean-up may hang or crash


def take_stdout() -> TextIO:
    """The real stdout for messages alone; whatever else is printed goes to stderr."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(own, "w", encoding="utf-8", newline="\n")


def end_with_parent() -> None:
    """Watch stdin, a pipe that the parent holds open: once it closes, the parent is gone."""
    if not stat.S_ISFIFO(os.fstat(0).st_mode):
        return  # started by hand
    pipe = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # whatever the worker starts must not read it, nor hold it
    os.close(nothing)

    def watch() -> None:
        while os.read(pipe, 1):
            pass
        os._exit(ORPHANED)  # from a thread, nothing else ends the main one in mid-call

    threading.Thread(target=watch, daemon=True, name="parent watch").start()
