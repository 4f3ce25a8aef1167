"""Text that a language model writes while it is trained, kept in the run's folder.

`keep_texts(folder)` listens to a run. Whenever a checkpoint is saved it continues PREFIX with the
weights in it and adds a line to `texts.jsonl`: {"step": 80, "text": "time traveller ..."}. It reads
the run's files only, so it works wherever the run is carried out, also in another environment.
"""

from __future__ import annotations

import json
from pathlib import Path

from lockstep.errors import RunDirectoryError
from lockstep.files import write_whole
from lockstep.report.curves import LoggedRun
from lockstep.task import Task, assemble
from lockstep.training import checkpoints
from lockstep.training.audience import Listener
from lockstep.training.directory import RunDirectory
from lockstep.training.events import CheckpointSaved, Event, RunStarted
from lockstep.training.generate import generate
from lockstep.training.weights import trained

PREFIX = "time traveller"
NUM = 50  # symbols that are added
FILE = "texts.jsonl"


def keep_texts(folder: Path) -> Listener:
    """A listener that keeps a continuation of PREFIX for every checkpoint of the run."""
    texts: dict[int, str] = {}
    task: Task | None = None

    def listen(event: Event) -> None:
        nonlocal task
        if isinstance(event, RunStarted):
            # texts of steps that a resumed run does again are written again
            known = read_texts(folder)
            texts.update({step: known[step] for step in known if step <= event.step})
        elif isinstance(event, CheckpointSaved):
            directory = RunDirectory(folder)
            try:
                snapshot, _ = checkpoints.load(directory.checkpoint_folder / event.path)
            except RunDirectoryError:
                return  # another process has saved two more since, and removed it
            task = task or assemble(directory.spec)  # the data is read once
            texts[event.step] = generate(task, snapshot.weights, PREFIX, NUM)
            lines = [json.dumps({"step": step, "text": texts[step]}) for step in sorted(texts)]
            write_whole(folder / FILE, "\n".join([*lines, ""]).encode())

    return listen


def read_texts(folder: Path) -> dict[int, str]:
    """The texts that were kept of a run, by the step after which they were written."""
    try:
        lines = (folder / FILE).read_text().splitlines()
    except FileNotFoundError:
        return {}
    return {entry["step"]: entry["text"] for entry in map(json.loads, lines)}


def final_text(run: LoggedRun) -> str:
    """A continuation of PREFIX by the weights that a run ended with."""
    assert run.path is not None
    return generate(assemble(run.spec), trained(run.path).weights, PREFIX, NUM)
