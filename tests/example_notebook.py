"""Executes the worked notebook of examples/ anew and writes it with what its cells show:
`PYTHONPATH=src python -m tests.example_notebook`. Its text and code are edited in Jupyter."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "examples" / "notebook.ipynb"


def executed(folder: Path) -> Any:
    """The notebook after its cells were run, in a kernel that works in `folder`."""
    import nbclient
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    return nbclient.NotebookClient(notebook, timeout=120, resources=where).execute()


def main() -> None:
    import nbformat

    with tempfile.TemporaryDirectory() as folder:
        notebook = executed(Path(folder))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when each cell was run
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
