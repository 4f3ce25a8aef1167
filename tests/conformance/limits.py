"""What a framework itself cannot do, by case. docs/frameworks.md says the same; a test sees to it.

A case here must fail: once a framework can, its line goes.
"""

from __future__ import annotations

LIMITS = {
    ("mindspore", "float32", "tanh:wide"): "tanh in float32 is off by up to 1e-4 near |x| = 5",
}
