"""One run in a process of its own: `python -m lockstep.training.worker DIRECTORY [STEPS [SPEC]]`.

The run is the one described in DIRECTORY/spec.toml, which goes on under SPEC, in JSON, if that is
given; STEPS asks for an event at every multiple of it. Every event goes to stdout as one line of
JSON, and nothing else does: what a framework prints goes to stderr. A mistake that a person can
mend is the last line, {"error": ..., "kind": ..., "exit_code": ...}. The process ends when its
parent does.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from lockstep.errors import LockstepError
from lockstep.files import write_whole
from lockstep.parallel.child import end_with_parent, take_stdout

WORKER_VARIABLE = "LOCKSTEP_WORKER"  # set for a worker, which must not start workers of its own
INTERRUPTED = 130  # of one that SIGINT reached before its run had begun


def main(argv: Sequence[str]) -> int:
    """Carry out the run of the folder that `argv` names; returns the exit code."""
    stream = take_stdout()
    end_with_parent()
    steps = int(argv[1]) if len(argv) > 1 else 0
    try:
        carry_out(Path(argv[0]), stream, steps, argv[2] if len(argv) > 2 else "")
    except KeyboardInterrupt:
        return INTERRUPTED
    except LockstepError as error:
        last = {"error": str(error), "kind": type(error).__name__, "exit_code": error.exit_code}
        print(json.dumps(last), file=stream, flush=True)
        return error.exit_code
    finally:
        stream.close()
    return 0


def carry_out(folder: Path, stream: TextIO, event_steps: int = 0, changed: str = "") -> None:
    """Record the machine, then train (or go on, under a changed spec) and send every event."""
    from lockstep.frameworks import registry
    from lockstep.spec import RunSpec
    from lockstep.training import resume
    from lockstep.training.directory import RunDirectory
    from lockstep.training.events import Event, to_json
    from lockstep.training.machine import machine_facts

    def send(event: Event) -> None:
        print(to_json(event), file=stream, flush=True)

    spec = RunSpec.from_dict(json.loads(changed)) if changed else RunDirectory(folder).spec
    facts = machine_facts(registry.get(spec.framework))  # this interpreter's, not the parent's
    record(folder, facts)
    resume(folder, spec=spec, listeners=[send], event_steps=event_steps)
    record(folder, facts | {"peak_memory": peak_memory()})


def peak_memory() -> int | None:
    """The most memory that this process has held, in bytes; None where the system does not tell."""
    status = Path("/proc/self/status")  # getrusage would count what the parent held when it forked
    lines = status.read_text().splitlines() if status.exists() else []
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")]
    return found[0] if found else None


def record(folder: Path, facts: dict[str, Any]) -> None:
    """Write the machine's facts beside the run."""
    write_whole(folder / "machine.json", json.dumps(facts, indent=2, default=str).encode())


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # all is written; a framework's own clean-up may hang or crash
