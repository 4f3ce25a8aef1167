"""Data: find it, fetch it, verify it, parse it, and plan which rows each update uses.

- `find`, `fetch`, `read`, `verify`, `list_sources`: data sets by name, from places tried in turn
- `airfoil`, `fashion_mnist`, `text`, `generated`: bytes (or chance) to arrays
- `ExamplePlan`, `WindowPlan`: batches, pure and by direct access
- `generator`: the random numbers of a seed and a purpose

No framework is imported here, no array is scaled for a model, and no unverified byte is used.
"""

from __future__ import annotations

from lockstep.data.examples import Examples, Origin
from lockstep.data.fetch import Attempt, Contents, Found, fetch, find, read, verify
from lockstep.data.plans import ExamplePlan, WindowPlan
from lockstep.data.random import generator
from lockstep.data.sources import Source, list_sources
from lockstep.data.text import Text, Vocabulary

__all__ = [
    "Attempt",
    "Contents",
    "ExamplePlan",
    "Examples",
    "Found",
    "Origin",
    "Source",
    "Text",
    "Vocabulary",
    "WindowPlan",
    "fetch",
    "find",
    "generator",
    "list_sources",
    "read",
    "verify",
]
