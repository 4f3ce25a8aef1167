"""`PYTHONPATH=src python -m tests.golden` writes the golden losses again: review the diff."""

from .runs import RUNS, write

for name in RUNS:
    print(write(name))
