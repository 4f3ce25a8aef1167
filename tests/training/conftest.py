"""Smaller generated images than the recipes': drawing ten thousand takes longer than training."""

from __future__ import annotations

from functools import cache, partial

import pytest

from lockstep.data import generated

_drawn = cache(partial(generated.images, 120, 30))


@pytest.fixture(autouse=True)
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "images", lambda seed=0: _drawn(seed=seed))
