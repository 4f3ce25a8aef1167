"""Which frameworks there are: every adapter by its folder, none imported by being listed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.errors import InputError, MissingError
from lockstep.frameworks import registry


def test_every_adapter_is_found_and_the_oracle_comes_first() -> None:
    folder = Path(registry.__file__).parent
    adapters = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert set(registry.names()) == adapters
    assert registry.names()[0] == "numpy"
    assert {"numpy", "torch", "jax"} <= adapters


@pytest.mark.parametrize("name", registry.installed())
def test_an_adapter_is_what_the_contract_says(name: str) -> None:
    framework = registry.get(name)
    assert framework.name == name
    assert framework.version()[0].isdigit()
    assert framework.devices()
    assert "cpu" in framework.devices()[0].lower()
    for precision in ("float32", "float64"):
        assert framework.ops(precision).precision == precision


def test_an_unknown_framework_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match=r"framework = 'jacks'.*Did you mean 'jax'"):
        registry.get("jacks")


@pytest.mark.parametrize("name", ["", "..", "registry", "protocol", "os"])
def test_what_is_no_adapter_is_unknown(name: str) -> None:
    with pytest.raises(InputError, match="is not known"):
        registry.get(name)


def test_a_framework_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert registry.installed() == []
    with pytest.raises(MissingError, match=r"'jax': is not installed.*pip install .*\[jax\]"):
        registry.get("jax")


@pytest.mark.skipif(not registry.is_installed("jax"), reason="needs jax")
def test_concise_jax_without_flax_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "lockstep.frameworks.jax.module", raising=False)
    monkeypatch.setitem(sys.modules, "flax", None)  # as if it were not installed
    with pytest.raises(MissingError, match=r"needs flax.*pip install .*\[jax\]"):
        ls.train(ls.recipes.airfoil_linear(framework="jax", style="concise"))
