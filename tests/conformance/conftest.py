"""Every framework that is installed (or the one that LOCKSTEP_TESTED names), in both precisions.

float32 comes first for the whole session: JAX can allow float64, but not forbid it again.
"""

from __future__ import annotations

import itertools
import os
from typing import Any

import pytest

from lockstep.frameworks import registry

TESTED = (
    [os.environ["LOCKSTEP_TESTED"]] if "LOCKSTEP_TESTED" in os.environ else registry.installed()
)
SETTINGS = list(itertools.product(TESTED, ["float32", "float64"]))


@pytest.fixture(scope="session", params=SETTINGS, ids="-".join)
def setting(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture
def framework(setting: tuple[str, str]) -> Any:
    return registry.get(setting[0])


@pytest.fixture
def precision(setting: tuple[str, str]) -> str:
    return setting[1]


@pytest.fixture
def ops(framework: Any, precision: str) -> Any:
    """What a person's net is written over."""
    return framework.ops(precision)


@pytest.fixture
def kernels(framework: Any, precision: str) -> Any:
    """The framework's own, which our models are written over. No operation may ask for faster
    implementations of model parts: here there is no such table."""
    kernels = framework.kernels(precision)
    kernels.fused = None
    return kernels
