"""How results show themselves: `result.plot()`, `comparison.show()`.

The drawing is in report/, a room to the right of those whose objects are shown. The package itself
connects the two (`lockstep/__init__.py`), so that no room imports from its right. Nothing here
draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Presenter = Callable[..., Any]

_find: list[Callable[[str], Presenter]] = []


def connect(find: Callable[[str], Presenter]) -> None:
    """Let `find(name)` give the function that presents something, imported when it is asked for."""
    _find[:] = [find]


def present(name: str, *arguments: Any) -> Any:
    """Call the presenter of that name: a function of report/presenters.py."""
    return _find[0](name)(*arguments)
