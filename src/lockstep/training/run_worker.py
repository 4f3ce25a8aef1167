"""One process of a run: `python -m lockstep.training.run_worker '{"directory": ..., "spec": ...}'`.

It carries out the rest of the run that DIRECTORY holds. Rank 0, or the only process, reports every
event and writes the folder; the others send {} for each event, as a sign of life.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lockstep.processes import ranks
from lockstep.processes.child import Send, serve


def work(job: dict[str, Any], send: Send) -> None:
    """Carry out the run and report its events; the most memory that it took goes to its facts."""
    from lockstep.spec import RunSpec
    from lockstep.task import load_own
    from lockstep.training.audience import Audience
    from lockstep.training.carry_out import carry_out_here
    from lockstep.training.directory import RunDirectory
    from lockstep.training.events import Event, to_message

    is_first = ranks.is_first()
    # the workers of torchrun write to one pipe: only one of them may
    silent = not is_first and "TORCHELASTIC_RUN_ID" in os.environ

    def report(event: Event | None) -> None:
        if not silent:
            send(to_message(event) if is_first and event is not None else {})

    report(None)  # importing took its time
    spec, folder = RunSpec.from_dict(job["spec"]), Path(job["directory"])
    own = load_own(folder, spec)
    audience = Audience(listeners=[report], event_steps=job["event_steps"])
    carry_out_here(spec, own, folder if is_first else None, audience, strict=job["strict"])
    if is_first:
        directory = RunDirectory(folder)
        directory.record_machine(directory.machine | {"peak_memory": peak_memory()})


def peak_memory() -> int | None:
    """The most memory that this process has held, in bytes; None where the system does not say."""
    status = Path("/proc/self/status")  # getrusage would count what the parent held when it forked
    lines = status.read_text().splitlines() if status.exists() else []
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")]
    return found[0] if found else None


if __name__ == "__main__":
    serve(work)
