"""One run at a time may draw from a framework's generator.

Layers such as Dropout draw from a generator that the whole process shares. A run whose module may
draw seeds it for each step, and holds a lock until the step's gradient is there: runs in several
threads each draw what they draw alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

# held by the thread that has seeded a generator; a module may be called within a module
_GENERATOR = threading.RLock()
EVALUATION_SEED = 0  # of what a module draws while it is evaluated, or tried


@contextmanager
def drawing(
    seeded: Callable[[int], AbstractContextManager[object]], seed: int | None
) -> Iterator[None]:
    """Within it, what a module draws follows from the seed; None: the module draws nothing.

    `seeded(seed)` seeds the framework's generator, and gives it back as it was where it can."""
    if seed is None:
        yield
        return
    with _GENERATOR, seeded(seed):
        yield
