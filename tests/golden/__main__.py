"""`PYTHONPATH=src python -m tests.golden` writes the kept losses anew. Look at the difference!"""

from .runs import RUNS, write

for name in RUNS:
    print(write(name))
