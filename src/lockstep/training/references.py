"""The functions of a person's own run, and the files that they are found in again."""

from __future__ import annotations

from lockstep.spec import OwnModel, RunSpec


def references(spec: RunSpec) -> dict[str, str]:
    """`file.py:name` of an own model, loss and metrics, by what they are; "" where there is none.

    >>> from lockstep import recipes
    >>> references(recipes.airfoil_linear())
    {}
    """
    found = {}
    if isinstance(spec.model, OwnModel):
        found["model"] = spec.model.reference
    for text in getattr(spec.data, "functions", ()):
        name, _, reference = text.partition("=")
        found[name] = reference
    return found
