"""The book's chapters: their own code cells, read from the file and run as they stand.

- `chapter.py` reads a chapter; `formats/` has a file for each format it may be written in
- `kernel.py` starts a Jupyter kernel in a framework's environment, `execution.py` runs one cell
- `gone_names.py` has names that today's versions lack, and their modern spellings
- `running.py` runs a chapter's cells of one tab; `chapter_page.py` and `notebook_file.py` write
  what came out, `show.py` prints it
- `matrix.py` runs many chapters, `side_by_side.py` compares the tabs of one

The names that the cells take from the package d2l are in the room `lockstep.d2l`. A chapter's file
is never changed, and no cell is edited.
"""
