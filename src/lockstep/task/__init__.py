"""A task is data, model, loss and metric, ready for any framework: from a spec, or a person's own.

- `assemble`, `model_of`: the task that a spec describes, or its model alone
- `own`: a person's arrays and model as a task; `own_files` keeps it in the folder of its run
- `load_encoding`: what a run knows of the file it learned from

No framework is imported here.
"""

from lockstep.task.data_record import load_encoding, refuse_other_file, save_data_record
from lockstep.task.from_spec import assemble, model_of
from lockstep.task.own_files import check_own, load_own, save_own
from lockstep.task.own_task import Own, OwnNet, check_net, own
from lockstep.task.task import Task

__all__ = [
    "Own",
    "OwnNet",
    "Task",
    "assemble",
    "check_net",
    "check_own",
    "load_encoding",
    "load_own",
    "model_of",
    "own",
    "refuse_other_file",
    "save_data_record",
    "save_own",
]
