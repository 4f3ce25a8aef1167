"""JAX. The adapter is in adapter.py; nothing here imports the framework."""

LAYERS = "flax"
