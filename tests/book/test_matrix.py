"""Which files of a folder are chapters, and what each is called."""

from __future__ import annotations

import json
from pathlib import Path

from tests.book.chapters import as_markdown, as_notebook

from lockstep.book import matrix

CELL = as_markdown([(("pytorch",), "1")])


def written(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(CELL)


def test_a_name_has_the_folders_that_tell_it_from_the_others(tmp_path: Path) -> None:
    written(tmp_path, "en/sums.md", "de/sums.md", "de/only.md", "de/two.md", "de/two.rst")
    found = matrix.names(matrix.find([str(tmp_path)]))
    assert [found[path] for path in sorted(found)] == [
        "only", "de-sums", "two.md", "two.rst", "en-sums",
    ]  # fmt: skip


def test_what_lies_in_a_folder_and_is_no_chapter_is_passed_over(tmp_path: Path) -> None:
    """A second check does not run the notebooks that the first has written."""
    written(tmp_path, "sums.md", ".hidden/sums.md")
    own = as_notebook([(("pytorch",), "1")])
    (tmp_path / "mine.ipynb").write_text(own)
    executed = json.loads(own) | {"metadata": {"lockstep": {"tab": "pytorch"}}}
    (tmp_path / "sums-pytorch.ipynb").write_text(json.dumps(executed))
    (tmp_path / "broken.ipynb").write_text("[1]")
    found = [chapter.path.name for chapter in matrix.find([str(tmp_path)])]
    assert found == ["mine.ipynb", "sums.md"]
