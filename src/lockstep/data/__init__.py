"""Data: find it, fetch it, verify it, parse it, and plan which rows each update uses.

- `airfoil`, `fashion_mnist`, `timemachine`: a file for each data set, with where it comes from, how
  it is read, its generated stand-in and its shape; `recall`, which is always generated; `add` makes
  another one known
- `own_table`, `own_text`, `own_images`: a person's own files; `Encoding`: what reading one settled
- `find`, `fetch`, `read`, `verify`, `list_sources`: data sets by name, from places tried in turn
- `ExamplePlan`, `WindowPlan`: batches, pure and by direct access
- `generator`: the random numbers of a seed and a purpose

No framework is imported here, and no unverified byte is used.
"""

from __future__ import annotations

from lockstep.data import (
    airfoil,
    fashion_mnist,
    own_images,
    own_table,
    own_text,
    recall,
    timemachine,
)
from lockstep.data.characters import Text, Vocabulary
from lockstep.data.data_set import DataSet, Loaded, add, list_sources
from lockstep.data.encoding import Encoding
from lockstep.data.examples import Examples, Origin, origin_generated
from lockstep.data.fetch import Attempt, Contents, Found, fetch, find, read, verify
from lockstep.data.plans import ExamplePlan, WindowPlan
from lockstep.data.random import generator
from lockstep.data.source import Source
from lockstep.spec import (
    Airfoil,
    FashionMNIST,
    ImageFiles,
    Recall,
    Table,
    TextFile,
    TimeMachine,
)

add(Airfoil, airfoil.DATA_SET)
add(FashionMNIST, fashion_mnist.DATA_SET)
add(TimeMachine, timemachine.DATA_SET)
add(Recall, recall.DATA_SET)
add(Table, own_table.DATA_SET)
add(TextFile, own_text.DATA_SET)
add(ImageFiles, own_images.DATA_SET)

__all__ = [
    "Attempt",
    "Contents",
    "DataSet",
    "Encoding",
    "ExamplePlan",
    "Examples",
    "Found",
    "Loaded",
    "Origin",
    "Source",
    "Text",
    "Vocabulary",
    "WindowPlan",
    "add",
    "fetch",
    "find",
    "generator",
    "list_sources",
    "origin_generated",
    "read",
    "verify",
]
