"""Many runs at once: one run over a grid of settings.

`grid.py` reads the grid, `sweep.py` carries it out: settings that one program can train together in
a group (`group.py`), others in processes (`in_workers.py`). Nothing here draws or prints.
"""

from lockstep.sweeps.grid import Grid, parse_grid
from lockstep.sweeps.sweep import sweep
from lockstep.sweeps.trials import Sweep, Trial

__all__ = ["Grid", "Sweep", "Trial", "parse_grid", "sweep"]
