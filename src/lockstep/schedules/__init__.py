"""Learning-rate schedules: pure functions step -> lr, with the standard library only. Nothing here
knows about optimizers or frameworks, and nothing keeps state. `add` makes another kind known.

A schedule is made by calling its kind; the classes behind them are in the modules and in `KINDS`.

>>> cosine(1.0, final=0.01, steps=50).warmup(5)(5)
1.0
"""

from lockstep.schedules.base import Schedule
from lockstep.schedules.combine import join
from lockstep.schedules.cycles import cosine_restarts, one_cycle, triangular
from lockstep.schedules.decays import exponential, factor, inverse_power, inverse_time, square_root
from lockstep.schedules.finite import constant, cosine, linear, multi_factor, polynomial
from lockstep.schedules.notation import (
    KINDS,
    AnySchedule,
    add,
    as_schedule,
    format_schedule,
    parse_schedule,
    schedule_from_dict,
    schedule_to_dict,
)
from lockstep.schedules.on_plateau import PlateauState, ReduceOnPlateau, plateau

__all__ = [
    "KINDS",
    "AnySchedule",
    "PlateauState",
    "ReduceOnPlateau",
    "Schedule",
    "add",
    "as_schedule",
    "constant",
    "cosine",
    "cosine_restarts",
    "exponential",
    "factor",
    "format_schedule",
    "inverse_power",
    "inverse_time",
    "join",
    "linear",
    "multi_factor",
    "one_cycle",
    "parse_schedule",
    "plateau",
    "polynomial",
    "schedule_from_dict",
    "schedule_to_dict",
    "square_root",
    "triangular",
]
