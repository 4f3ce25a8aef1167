"""PyTorch. The adapter is in adapter.py; nothing here imports the framework."""

DEVICES_ARE_PROCESSES = True  # PyTorch has one CPU device in a process
