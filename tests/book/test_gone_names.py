"""Names that are gone: which version had them, and what is run in their place."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.book import chapter, running, show
from lockstep.book.gone_names import TABLE, Gone, explained, patched
from lockstep.frameworks import registry

HERE = [gone for gone in TABLE if gone.module == "numpy" or registry.is_installed(gone.module)]


def is_there(name: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy says of some that they may return
            return pkgutil.resolve_name(name) is not None
    except (AttributeError, ImportError):
        return False


@pytest.mark.parametrize("gone", HERE, ids=lambda gone: gone.name)
def test_the_table_tells_the_truth_of_what_is_installed(gone: Gone) -> None:
    module = importlib.import_module(gone.module)
    installed = tuple(int(part) for part in module.__version__.split("+")[0].split(".")[:2])
    assert installed > tuple(int(part) for part in gone.had.split(".")[:2])
    assert not is_there(gone.name)
    if gone.patch:
        full = gone.instead.replace("np.", "numpy.")
        assert is_there(full if "." in full else f"builtins:{full}")


def test_only_whole_names_that_are_gone_are_replaced() -> None:
    source = "x.np.float, np.float32, np.float_, numpy.int(2), mynp.int"
    found, said = patched(source, "torch", lambda name: False)
    assert found == "x.np.float, np.float32, np.float64, int(2), mynp.int"
    assert len(said) == 2
    assert patched(source, "torch", lambda name: True) == (source, ())


def test_another_framework_is_left_alone() -> None:
    source = "jax.tree_map(f, x)"
    assert patched(source, "torch", lambda name: False) == (source, ())
    error = "AttributeError: module 'jax' has no attribute 'tree_map'"
    assert explained(error, source, "torch") == error


def test_an_error_of_another_kind_is_left_as_it_is() -> None:
    assert explained("ValueError: 'fluid'", "paddle.fluid.x", "paddle") == "ValueError: 'fluid'"
    other = "AttributeError: module 'paddle' has no attribute 'flood'"
    assert explained(other, "paddle.fluid, paddle.flood", "paddle") == other


def test_an_import_is_explained_too() -> None:
    error = "ModuleNotFoundError: No module named 'torch._six'"
    found = explained(error, "from torch._six import string_classes", "torch")
    assert found.startswith(error)
    assert "torch 1.13 had torch._six" in found


@pytest.mark.parametrize(
    ("source", "error", "name"),
    [
        ("from torch import nn, _six", "cannot import name '_six' from 'torch' (...)", "_six"),
        ("from paddle import (nn,\n  fluid)", "cannot import name 'fluid' from 'paddle'", "fluid"),
        (
            "from jax.experimental import stax",
            "cannot import name 'stax' from 'jax.experimental'",
            "experimental.stax",
        ),
    ],
)
def test_a_name_that_is_imported_is_explained(source: str, error: str, name: str) -> None:
    framework = source.split()[1].partition(".")[0]
    found = explained(f"ImportError: {error}", source, framework)
    assert f" had {framework}.{name}; today: " in found
    other = source.replace(name.rpartition(".")[2], "other")
    assert explained(f"ImportError: {error}", other, framework) == f"ImportError: {error}"


def test_a_kernel_that_gives_no_answer_has_every_name() -> None:
    """So the cell is run as it stands."""

    def execute(*words: object, **options: object) -> None:
        raise TimeoutError

    kernel: Any = SimpleNamespace(client=SimpleNamespace(execute=execute))
    assert running._has_name(kernel, "numpy.float")


def test_in_a_chapter(tmp_path: Path) -> None:
    path = tmp_path / "old.md"
    codes = ("import numpy as np, torch\nnp.float(3)", "torch.rfft(torch.ones(4), 1)")
    cells = "\n".join(f"```{{.python .input}}\n#@tab pytorch\n{code}\n```\n" for code in codes)
    path.write_text(f"# Old\n{cells}")
    found = chapter.read(path)
    done = running.run(found, running.settings_for(found, "pytorch"), tmp_path)
    first, second = (item.executed for item in done.cells)
    assert first.problem == ""
    assert first.outputs[0]["data"]["text/plain"] == "3.0"
    assert second.problem.endswith(
        "(torch 1.7 had torch.rfft; today: torch.fft.rfft, whose results are complex numbers)"
    )
    notebook, page = show.write(done, tmp_path)
    assert "np.float(3)" in notebook.read_text()  # the cell as the chapter has it
    assert "cell 1: np.float, which numpy 1.19 had, is run as float" in page.read_text()
    assert "unchanged but for" in page.read_text()
    assert done.to_dict()["patches"] == list(done.patches)
    assert path.read_text() == f"# Old\n{cells}"
