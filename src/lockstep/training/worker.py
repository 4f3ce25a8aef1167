"""A run in a process of its own: `python -m lockstep.training.worker '{"directory": ...}'`.

The run is the one described in DIRECTORY/spec.toml, which goes on under "spec" if that is given;
"event_steps" asks for an event at every multiple of it. Every event is told (parallel/child.py).
One of several processes of a run (parallel/ranks.py) tells and writes all if it is rank 0; the
others tell {} for each event, as a sign of life.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lockstep.parallel import ranks
from lockstep.parallel.child import Tell, serve


def work(job: dict[str, Any], tell: Tell) -> None:
    """Record the machine, then train (or go on, under a changed spec) and tell every event."""
    from lockstep.frameworks import registry
    from lockstep.spec import RunSpec
    from lockstep.training import group, resume
    from lockstep.training.directory import RunDirectory
    from lockstep.training.events import Event, to_message
    from lockstep.training.machine import machine_facts

    tell({})  # importing took its time
    directory, is_first = RunDirectory(Path(job["directory"])), ranks.is_first()

    def send(event: Event) -> None:
        tell(to_message(event) if is_first else {})

    changed = job.get("spec")
    spec = RunSpec.from_dict(changed) if changed else directory.spec
    group.join(spec)  # before the framework is asked for its devices, which starts it
    tell({})
    facts = machine_facts(registry.get(spec.framework))  # this interpreter's, not the parent's
    if is_first:
        directory.record_machine(facts)
    resume(
        directory.path,
        spec=spec,
        listeners=[send],
        event_steps=job.get("event_steps", 0),
        strict=job.get("strict", False),
    )
    if is_first:
        directory.record_machine(facts | {"peak_memory": peak_memory()})


def peak_memory() -> int | None:
    """The most memory that this process has held, in bytes; None where the system does not tell."""
    status = Path("/proc/self/status")  # getrusage would count what the parent held when it forked
    lines = status.read_text().splitlines() if status.exists() else []
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")]
    return found[0] if found else None


if __name__ == "__main__":
    serve(work)
