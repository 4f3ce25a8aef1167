"""Every framework that is installed, in both precisions, with and without its faster equals."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.frameworks import registry


@pytest.fixture(scope="module", params=registry.installed())
def framework(request: pytest.FixtureRequest) -> Any:
    return registry.get(request.param)


@pytest.fixture(scope="module", params=["float32", "float64"])
def precision(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module", params=[True, False], ids=["fused", "plain"])
def ops(request: pytest.FixtureRequest, framework: Any, precision: str) -> Any:
    return framework.ops(precision, fused=request.param)
