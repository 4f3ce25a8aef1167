"""NumPy: the oracle, with gradient rules of its own. The adapter is in adapter.py."""

LAYERS = ""  # none of its own: no concise style
