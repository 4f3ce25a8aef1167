"""Apache MXNet. The adapter is in adapter.py; nothing here imports the framework."""

NEWEST_PYTHON = (3, 11)  # its last release was built for no newer one
