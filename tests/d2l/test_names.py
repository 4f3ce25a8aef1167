"""Every d2l name that the chapters call is there, in the framework that calls it.

The names are read from the files; test_frameworks.py imports them in each framework.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lockstep.book import chapter
from lockstep.d2l import names

ROOM = Path(names.__file__).parent
SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"
# what readers of other chapters need too
RELATIVES = """
    Timer Accumulator Animator plot set_figsize use_svg_display set_axes synthetic_data
    linreg squared_loss sgd load_array load_data_fashion_mnist get_fashion_mnist_labels
    get_dataloader_workers show_images accuracy evaluate_accuracy evaluate_accuracy_gpu
    evaluate_accuracy_gpus evaluate_loss train_epoch_ch3 train_ch3 predict_ch3 train_ch6
    train_ch8 train_epoch_ch8 predict_ch8 grad_clipping RNNModelScratch RNNModel Vocab
    tokenize count_corpus read_time_machine load_corpus_time_machine seq_data_iter_random
    seq_data_iter_sequential SeqDataLoader load_data_time_machine get_data_ch11 train_ch11
    train_concise_ch11 train_2d show_trace_2d annotate split_batch resnet18 train_batch_ch13
    train_ch13 try_gpu try_all_gpus download download_extract DATA_HUB DATA_URL zeros ones
    arange normal randn tensor reshape numpy reduce_sum argmax astype plt
""".split()  # noqa: SIM905 (a list of strings would fill the page)
# what the books of frameworks that compute on one device lack
ONE_DEVICE = ("split_batch", "resnet18", "train_batch_ch13", "train_ch13", "evaluate_accuracy_gpus")
# the book's chapters in JAX train with classes of their own
JAX_LACKS = (
    "train_epoch_ch3", "train_ch3", "train_ch6", "train_concise_ch11", "RNNModel",
)  # fmt: skip


def called(source: str) -> set[str]:
    """The attributes of `d2l` in a cell."""
    code = "\n".join(line for line in source.split("\n") if not line.startswith("%"))
    return {
        node.attr
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "d2l"
    }


def tabs() -> list[tuple[Path, str]]:
    found = [(path, tab) for path in sorted(SEEDS.glob("*.txt")) for tab in chapter.read(path).tabs]
    return found or [(Path("no chapters"), "pytorch")]


def defined(framework: str) -> set[str]:
    """The names that a framework's package has, read from its files: it need not be installed."""
    found = {name for group in names.SHARED.values() for name in group}
    found |= {name for group in names.OVER.values() for name in group}
    package = ROOM / framework
    if "update=" not in (package / "primitives.py").read_text():
        found -= {"train_ch3", "train_epoch_ch3"}
    aliases = ast.parse((package / f"{names.ALIASES}.py").read_text())
    for node in aliases.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                found |= set(ast.literal_eval(value))
    for file, group in names.OWN.items():
        path = package / f"{file}.py"
        if path.exists():
            body = ast.parse(path.read_text()).body
            kinds = (ast.FunctionDef, ast.ClassDef)
            found |= {node.name for node in body if isinstance(node, kinds)} & set(group)
            imported = [node for node in body if isinstance(node, ast.ImportFrom)]
            found |= {alias.name for node in imported for alias in node.names} & set(group)
    return found


@pytest.mark.parametrize(("path", "tab"), tabs(), ids=lambda item: str(getattr(item, "stem", item)))
def test_no_name_of_the_chapters_is_missing(path: Path, tab: str) -> None:
    if not path.exists():
        pytest.skip("no chapters beside this checkout")
    wanted = {name for cell in chapter.read(path).cells(tab) for name in called(cell.source)}
    assert wanted
    assert wanted - defined(chapter.TABS[tab]) == set()


def test_an_unknown_name_has_a_near_one() -> None:
    from lockstep.d2l import torch as d2l

    with pytest.raises(AttributeError, match="Did you mean 'Animator'"):
        _ = d2l.Animater


def test_a_name_that_another_framework_has() -> None:
    from lockstep.d2l import torch as d2l

    with pytest.raises(AttributeError, match=r"'TrainCallback': is not known.* Known: .*train_ch8"):
        _ = d2l.TrainCallback


def test_python_may_ask_for_its_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without importing the framework for a message that nobody reads."""
    from lockstep.d2l import jax as d2l

    monkeypatch.setattr(names, "known", lambda package: pytest.fail("it lists every name"))
    assert not hasattr(d2l, "__wrapped__")


def test_the_table_has_each_name_once() -> None:
    found = [name for table in (names.SHARED, names.OVER, names.OWN) for group in table.values()
             for name in group]  # fmt: skip
    assert len(found) == len(set(found))
