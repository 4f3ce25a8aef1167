"""What a framework itself cannot do, by case. docs/frameworks.md says the same; a test sees to it.

A case here must fail: once a framework can, its line goes.
"""

from __future__ import annotations

LIMITS = {
    ("tensorflow", "operator:**_0_at_0"): "the gradient of `x ** 0` at x = 0 is NaN",
}
