"""XLA's flags, which it reads once, when it starts."""

from __future__ import annotations

import os

# XLA runs a loop whose arrays have at most so many bytes as one kernel, operation by operation
# otherwise. Its own limit is 1024; at this one an epoch of linear regression takes a third.
SMALL_LOOP = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=65536"


def set_flags() -> None:
    """Add ours; a person's own extra options are left alone."""
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_extra_options" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {SMALL_LOOP}".strip()


set_flags()
