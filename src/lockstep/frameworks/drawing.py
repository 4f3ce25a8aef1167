"""One run at a time may draw from a framework's generator.

Layers such as Dropout draw from a generator that the whole process shares. A run whose module may
draw seeds it for each step, and holds this lock until the step's gradient is there: runs in several
threads each draw what they draw alone.
"""

from __future__ import annotations

import threading

# held by the thread that has seeded a generator; a module may be called within a module
GENERATOR = threading.RLock()
EVALUATION_SEED = 0  # of what a module draws while it is evaluated, or tried
