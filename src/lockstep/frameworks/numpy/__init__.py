"""NumPy: the oracle, with gradient rules of its own. The adapter is in adapter.py."""
