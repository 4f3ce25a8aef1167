"""A run that has nothing left to do: its outcome from its folder, which is left as it is."""

from __future__ import annotations

from lockstep.assemble import assemble
from lockstep.own_task import Own
from lockstep.spec import RunSpec
from lockstep.training import checkpoints
from lockstep.training.directory import RunDirectory
from lockstep.training.events import RunStarted
from lockstep.training.own_arrays import check_own
from lockstep.training.result import Result


def completed_before(directory: RunDirectory, spec: RunSpec, own: Own | None) -> Result | None:
    """The outcome of a run that is completed as `spec` asks; None if there is something to do.

    It is completed when its last checkpoint, which is what can be gone on from, has all its steps.
    The result has the spec under which the run was carried out.
    """
    path = checkpoints.newest(directory.checkpoint_folder)
    if path is None or directory.status != "completed":
        return None
    started = [event for event in directory.events([]) if isinstance(event, RunStarted)]
    snapshot, facts = checkpoints.load(path)
    if not started or "epochs_ended" not in facts:
        return None
    outline = started[-1]
    total = spec.epochs * outline.steps_per_epoch
    wanted = min(total, spec.max_steps) if spec.max_steps else total
    if facts["epochs_ended"] * outline.steps_per_epoch < wanted or facts["step"] < wanted:
        return None
    before = directory.spec
    check_own(before, own, directory.path)
    task = assemble(before, own)
    history = directory.history()
    return Result(before, task, history, snapshot, "completed", directory.path, ran=False)
