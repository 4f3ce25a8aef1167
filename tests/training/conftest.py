"""Runs as small as they can be: few generated images, one thread, nothing compiled twice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import pytest

from lockstep.data import fashion_mnist
from lockstep.frameworks import registry

_drawn = cache(partial(fashion_mnist.generate, 120, 30))  # drawing the recipes' 12,000 takes long


@pytest.fixture(autouse=True)
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fashion_mnist, "generate", lambda seed=0: _drawn(seed=seed))


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """PyTorch's threads wait for each other actively: on a busy machine tiny runs take minutes."""
    if not registry.is_installed("torch"):
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="session")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """JAX keeps what it compiled for the next run of the same spec, as it may for any user."""
    if not registry.is_installed("jax"):
        yield
        return
    import jax

    names = {
        "jax_compilation_cache_dir": str(tmp_path_factory.mktemp("jax")),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in names}
    for name, value in names.items():
        jax.config.update(name, value)
    yield
    for name, value in before.items():
        jax.config.update(name, value)
