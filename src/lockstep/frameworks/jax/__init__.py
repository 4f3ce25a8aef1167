"""JAX. The adapter is in adapter.py; nothing here imports the framework."""

LAYERS = "flax"
TRAINS_MANY = True  # many settings in one program: many.py
