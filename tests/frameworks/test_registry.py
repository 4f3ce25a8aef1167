"""Which frameworks there are: every adapter by its folder, none imported by being listed."""

from __future__ import annotations

import importlib
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
    assert framework.version[0].isdigit()
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


def test_a_mere_folder_is_not_a_framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as that of its environment, for one who is where the environments are."""
    name = next((n for n in registry.names() if n not in registry.installed()), None)
    if name is None:
        pytest.skip("every framework is installed here")
    (tmp_path / name).mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not registry.is_installed(name)
    (tmp_path / name / "__init__.py").touch()
    importlib.invalidate_caches()
    assert registry.is_installed(name)


@pytest.mark.parametrize("name", ["", "nothing.such", "os", "torch.nn"])
def test_what_is_no_adapter_is_not_installed(name: str) -> None:
    assert not registry.is_installed(name)


@pytest.mark.parametrize("name", ["nothing.such", "os", "pytorch"])
def test_a_run_in_no_framework(name: str, tmp_path: Path) -> None:
    """Whatever else is asked of it; the name is looked at first."""
    spec = ls.recipes.airfoil_linear(framework=name)
    with pytest.raises(InputError, match=r"framework = .* is not known"):
        ls.train(spec, out=tmp_path / "run", callbacks=[lambda event, training: None])
    assert not (tmp_path / "run").exists()
    ls.train(ls.recipes.airfoil_linear(max_steps=1), out=tmp_path / "run")
    with pytest.raises(InputError, match=r"framework = .* is not known"):
        ls.resume(tmp_path / "run", spec=spec, callbacks=[lambda event, training: None])


@pytest.mark.skipif(not registry.is_installed("jax"), reason="needs jax")
def test_concise_jax_without_flax_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "lockstep.frameworks.jax.module", raising=False)
    monkeypatch.setitem(sys.modules, "flax", None)  # as if it were not installed
    with pytest.raises(MissingError, match=r"needs flax.*pip install .*\[jax\]"):
        ls.train(ls.recipes.airfoil_linear(framework="jax", style="concise"))
