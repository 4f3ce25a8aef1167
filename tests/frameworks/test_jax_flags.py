"""The flags that XLA starts with."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("jax", reason="jax is not installed here")
from lockstep.frameworks.jax.startup import SMALL_LOOP, set_flags


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", SMALL_LOOP),
        ("--xla_cpu_multi_thread_eigen=false", f"--xla_cpu_multi_thread_eigen=false {SMALL_LOOP}"),
        (SMALL_LOOP, SMALL_LOOP),
        ("--xla_backend_extra_options=a=1", "--xla_backend_extra_options=a=1"),
    ],
)
def test_ours_come_after_a_persons_own_and_never_over_them(
    before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", before)
    set_flags()
    assert os.environ["XLA_FLAGS"] == after
