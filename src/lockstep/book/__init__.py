"""The book's chapters: their own code cells, read from the file and run as they stand.

- `chapter.py` reads a chapter; `formats/` has a file for each format it may be written in
- `kernel.py` starts a Jupyter kernel in a framework's environment, `execution.py` runs one cell
- `run.py` runs a chapter's cells of one tab; `page.py` and `notebook_file.py` write what came out

The names that the cells take from the package d2l are in the room `lockstep.d2l`. A chapter's file
is never changed, and no cell is edited.
"""
