"""Settings that every test and doctest shares."""

from __future__ import annotations

import os
import signal

# Test processes run side by side. Threads that wait by spinning, one set per process, would slow
# each other down a hundredfold, so every process computes with one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell starts background jobs with SIGINT ignored, and their children inherit that: the tests of
# Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import settings

from lockstep.frameworks import registry

settings.register_profile("lockstep", deadline=None)  # a busy machine is not a failure
settings.load_profile("lockstep")

# doctests are looked for by importing; an adapter can be imported beside its framework only
collect_ignore_glob = [
    pattern
    for name in registry.names()
    if not registry.is_installed(name)
    for pattern in (
        f"src/lockstep/frameworks/{name}/*",
        f"src/lockstep/d2l/{name}/*",
        f"tests/conversion/in_{name}.py",
        f"tests/d2l/builders_of/{name}.py",
    )
]
# an extension that is imported changes what every other test of the process sees
collect_ignore_glob += ["tests/extension/*", "tests/frameworks/outside/*"]
