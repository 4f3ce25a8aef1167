"""The d2l names in JAX: `from lockstep.d2l import jax as d2l`."""

from __future__ import annotations

from typing import Any

from lockstep.d2l import names


def __getattr__(name: str) -> Any:
    return names.find(__name__, name)


def __dir__() -> list[str]:
    return names.known(__name__)
