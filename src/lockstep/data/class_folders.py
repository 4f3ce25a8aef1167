"""A folder of pictures by class: which picture belongs to which part, and which to none."""

from __future__ import annotations

from pathlib import Path

from lockstep.data.given_file import refuse, visible
from lockstep.data.own_pictures import is_picture

LAYOUT = "CLASS/picture.png, or train/CLASS/... and test/CLASS/..."


def pictures_by_part(path: Path) -> tuple[dict[str, list[Path]], list[Path]]:
    """The pictures of path/CLASS/ as the part "train", or those of path/train/CLASS/ and
    path/test/CLASS/; and the pictures beside these two folders, which are not read.

    A folder `train` with pictures in it is a class. Pictures elsewhere are refused.
    """
    files = [file for file in visible(path) if is_picture(file)]
    roots = {"train": path}
    if (path / "train").is_dir() and not any(file.parent == path / "train" for file in files):
        roots = {part: path / part for part in ("train", "test") if (path / part).is_dir()}
    parts = {part: [f for f in files if f.parent.parent == r] for part, r in roots.items()}
    for part, found in parts.items():
        if not found:
            raise refuse(roots[part], "has no pictures in folders by class", f"Give {LAYOUT}.")
    outside = [file for file in files if file.parent.parent not in roots.values()]
    unread = [f for f in outside if not any(f.is_relative_to(root) for root in roots.values())]
    if wrong := sorted(set(outside) - set(unread)):
        problem = f"has {len(wrong):,} of its pictures outside the folders of classes"
        remedy = f"Move {wrong[0].relative_to(path)} into one, or away: {LAYOUT}."
        raise refuse(path, problem, remedy)
    return parts, unread
