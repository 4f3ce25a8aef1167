"""The five chapters that this project is about, where they are beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


@pytest.fixture(scope="session")
def seeds() -> list[Path]:
    found = sorted(SEEDS.glob("*.txt"))
    if not found:
        pytest.skip(f"no chapters in {SEEDS}")
    return found
