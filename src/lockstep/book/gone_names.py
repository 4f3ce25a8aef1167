"""Names that a chapter's cell may use and the installed version no longer has.

Where another spelling means exactly the same, the cell is run with it, and the page says so; the
chapter's file, and the cell in the notebook, stay as they are. For the others, the error says which
version had the name and what is written today.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Gone:
    """A dotted name, a version that had it, and what is written today.

    `patch` says that `instead` can take its place as it stands.
    """

    name: str
    had: str
    instead: str
    patch: bool = False

    @property
    def module(self) -> str:
        return self.name.partition(".")[0]

    @property
    def pattern(self) -> re.Pattern[str]:
        """The name as cells write it, with the module's usual abbreviation."""
        rest = re.escape(self.name.partition(".")[2])
        return re.compile(rf"(?<![\w.])(?:{'|'.join(SPELLINGS[self.module])})\.{rest}(?!\w)")

    @property
    def words(self) -> str:
        return f"{self.module} {self.had} had {self.name}; today: {self.instead}"


SPELLINGS = {
    "numpy": ("np", "numpy"),
    "torch": ("torch",),
    "jax": ("jax",),
    "tensorflow": ("tf", "tensorflow"),
    "paddle": ("paddle",),
    "mindspore": ("ms", "mindspore"),
}
TABLE = (
    Gone("numpy.float", "1.19", "float", patch=True),
    Gone("numpy.int", "1.19", "int", patch=True),
    Gone("numpy.object", "1.19", "object", patch=True),
    Gone("numpy.product", "1.26", "np.prod", patch=True),
    Gone("numpy.in1d", "1.26", "np.isin", patch=True),
    Gone("numpy.NaN", "1.26", "np.nan", patch=True),
    Gone("numpy.Inf", "1.26", "np.inf", patch=True),
    Gone("numpy.float_", "1.26", "np.float64", patch=True),
    Gone("torch.rfft", "1.7", "torch.fft.rfft, whose results are complex numbers"),
    Gone("torch.irfft", "1.7", "torch.fft.irfft, which takes complex numbers"),
    Gone("torch._six", "1.13", "Python's own types: str, int, collections.abc"),
    Gone("jax.tree_map", "0.4.25", "jax.tree.map", patch=True),
    Gone("jax.ops.index_update", "0.3.1", "x.at[index].set(y)"),
    Gone("jax.ops.index_add", "0.3.1", "x.at[index].add(y)"),
    Gone("jax.experimental.stax", "0.3.15", "jax.example_libraries.stax", patch=True),
    Gone("jax.experimental.optimizers", "0.3.15", "jax.example_libraries.optimizers", patch=True),
    Gone("tensorflow.contrib", "1.15", "the packages that its parts have become"),
    Gone("tensorflow.Session", "1.15", "nothing: operations are carried out at once"),
    Gone("tensorflow.placeholder", "1.15", "the arguments of a Python function"),
    Gone("tensorflow.global_variables_initializer", "1.15", "nothing: a tf.Variable has its value"),
    Gone("tensorflow.set_random_seed", "1.15", "tf.random.set_seed", patch=True),
    Gone("paddle.fluid", "2.5", "paddle.nn, paddle.optimizer and paddle.static"),
    Gone("mindspore.ms_function", "2.3", "mindspore.jit", patch=True),
)


def patched(
    source: str, framework: str, is_there: Callable[[str], bool]
) -> tuple[str, tuple[str, ...]]:
    """A cell as it is to be run, and what was spelled otherwise, in words. `is_there` says whether
    the installed version has a name, and is asked only of names that occur.

    >>> patched("a = np.float(1)", "torch", lambda name: False)
    ('a = float(1)', ('np.float, which numpy 1.19 had, is run as float',))
    """
    said = []
    for gone in TABLE:
        found = gone.pattern.search(source) if gone.patch and _concerns(gone, framework) else None
        if found and not is_there(gone.name):
            source = gone.pattern.sub(gone.instead, source)
            said.append(f"{found[0]}, which {gone.module} {gone.had} had, is run as {gone.instead}")
    return source, tuple(said)


def explained(problem: str, source: str, framework: str) -> str:
    """The error's line; if the cell uses a name that is gone, followed by the version that had it
    and today's spelling.

    >>> line = "AttributeError: module 'paddle' has no attribute 'fluid'"
    >>> explained(line, "paddle.fluid.layers.fc(x, 2)", "paddle").partition(" (")[2]
    'paddle 2.5 had paddle.fluid; today: paddle.nn, paddle.optimizer and paddle.static)'
    """
    if not problem.startswith(("AttributeError", "ImportError", "ModuleNotFoundError")):
        return problem
    for gone in TABLE:
        first = gone.name.split(".")[1]
        named = re.search(rf"['.]{re.escape(first)}\b|'{re.escape(gone.name)}'", problem)
        if named and _concerns(gone, framework) and _uses(gone, source):
            return f"{problem} ({gone.words})"
    return problem


def _concerns(gone: Gone, framework: str) -> bool:
    return gone.module in ("numpy", framework)


def _uses(gone: Gone, source: str) -> bool:
    """Whether the cell has the name, imports it, or imports from it."""
    parent, _, last = gone.name.rpartition(".")
    name, above, last = map(re.escape, (gone.name, parent, last))
    imported = rf"from {name} import\b|from {above} import (?:\([^)]*|[^\n(]*)(?<!\w){last}\b"
    return bool(gone.pattern.search(source) or re.search(imported, source))
