"""Arrays inside dicts, lists and tuples."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any


def mapped(function: Callable[[Any], Any], kind: type, tree: Any) -> Any:
    """The same tree with function(x) in the place of each x of that kind.

    >>> mapped(abs, int, {"a": (-1, "b"), "c": [-2]})
    {'a': (1, 'b'), 'c': [2]}
    """
    if isinstance(tree, dict):
        return {name: mapped(function, kind, part) for name, part in tree.items()}
    if isinstance(tree, tuple | list):
        parts = [mapped(function, kind, part) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return function(tree) if isinstance(tree, kind) else tree


def mapped_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same tree with function(x) in the place of everything in it.

    >>> mapped_leaves(abs, {"a": -1, "b": [-2.5]})
    {'a': 1, 'b': [2.5]}
    """
    return mapped(function, object, tree)


def detached(kind: type, tree: Any) -> Any:
    """The same tree with every array of that kind apart from its gradient."""
    return mapped(methodcaller("detach"), kind, tree)
