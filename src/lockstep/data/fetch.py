"""Find, fetch and verify data: places are tried in turn, and no byte is used unverified.

Nothing here knows what the data mean; each data set parses the verified contents from `read`.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lockstep.data.data_set import source_named
from lockstep.data.examples import Origin
from lockstep.data.folders import cache_folder
from lockstep.data.source import AbsentError, Place, PlaceError, Progress, Source, Verified
from lockstep.errors import MissingError, unknown


@dataclass(frozen=True)
class Attempt:
    """A place that was tried, and why it could not give the data."""

    place: str
    reason: str
    absent: bool = False  # the place holds no copy at all, which is no fault

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True)
class Found:
    """Verified data on this machine. `digest` and `edition` belong in the record of a run."""

    name: str
    edition: str
    place: str
    paths: tuple[Path, ...]
    digest: str

    @property
    def origin(self) -> Origin:
        """The record of where a run's data came from."""
        return Origin(self.name, self.edition, self.place, self.digest)


@dataclass(frozen=True)
class Contents:
    """Verified data and its decompressed bytes, one entry per file of the source."""

    found: Found
    files: tuple[bytes, ...]


def find(name: str | Source) -> Found | None:
    """The data in the first local place that holds a good copy, or None. Opens no connection.

    >>> find("airfoil").digest
    'sha1:76e5be1548fd8222e5074cf0faae75edff8cf93f'
    """
    source = source_named(name)
    contents, _ = _try(source, _local(source), _silent)
    return contents.found if contents else None


def fetch(name: str | Source, progress: Progress | None = None, *, place: str = "") -> Found:
    """The data from the first place that has a good copy, local before remote. Before anything is
    fetched, `progress` (lines on stderr unless given) says how much, and from where.

    `place` names the one place to use instead, by its label (`pip`, `public host`, ...). What a
    remote place gives is kept in the cache. MissingError lists every place and its reason.

    >>> fetch("airfoil").edition
    'd2l'
    """
    source = source_named(name)
    places = source.places
    if place:
        places = tuple(each for each in places if each.label == place)
        if not places:
            raise unknown("place", place, [each.label for each in source.places])
    return _obtain(source, places, progress or _report).found


def read(name: str | Source, progress: Progress | None = None, *, remote: bool = True) -> Contents:
    """As `fetch`, with the verified contents; `remote=False` stays on this machine.

    >>> contents = read("airfoil")
    >>> contents.files[0].count(b"\\n"), contents.found.edition
    (1503, 'd2l')
    """
    source = source_named(name)
    places = source.places if remote else _local(source)
    return _obtain(source, places, progress or _report)


def verify(name: str | Source) -> tuple[Found | Attempt, ...]:
    """Read every local copy anew and compare its digest: one result per local place.

    >>> [result.edition for result in verify("airfoil") if result.place == "package"]
    ['d2l']
    """
    source = source_named(name)
    results: list[Found | Attempt] = []
    for place in _local(source):
        contents, attempts = _try(source, (place,), _silent)
        results += [contents.found] if contents else attempts
    return tuple(results)


def _silent(message: str) -> None:
    del message


def _report(message: str) -> None:
    """On stderr: nothing is fetched silently."""
    print(message, file=sys.stderr, flush=True)


def _local(source: Source) -> tuple[Place, ...]:
    return tuple(place for place in source.places if not place.remote)


def _obtain(source: Source, places: Iterable[Place], progress: Progress) -> Contents:
    contents, attempts = _try(source, places, progress)
    if contents:
        return contents
    tried = "".join(f"\n  {attempt}" for attempt in attempts)
    raise MissingError(
        f"data '{source.name}' ({source.title}) could not be had. Places tried:{tried}\n"
        "No place is left to try",
        f"Run `lockstep data fetch {source.name}` where there is a network, "
        "name a folder that has the files in LOCKSTEP_DATA=..., "
        "or use made-up data with `--data generated`.",
    )


def _try(
    source: Source, places: Iterable[Place], progress: Progress
) -> tuple[Contents | None, list[Attempt]]:
    attempts: list[Attempt] = []
    announced = False
    for place in places:
        if place.remote and not announced:
            announced = True
            progress(
                f"data: {source.title} is not on this machine. Fetching {source.first_remote} into "
                f"{cache_folder()} (or: --data generated, or LOCKSTEP_DATA=folder that has it)"
            )
        try:
            files = place.get(source.files, progress)
        except (PlaceError, OSError) as error:
            attempts.append(Attempt(place.label, str(error), isinstance(error, AbsentError)))
            if not attempts[-1].absent:
                progress(str(attempts[-1]))
            continue
        found = Found(
            source.name,
            files[0].edition.name,
            place.label,
            tuple(file.path for file in files),
            _digest(files),
        )
        return Contents(found, tuple(file.content for file in files)), attempts
    return None, attempts


def _digest(files: list[Verified]) -> str:
    """One file: its digest. Several: the sha256 of their digests, one per line, in order."""
    if len(files) == 1:
        return str(files[0].edition)
    lines = "".join(f"{file.edition}\n" for file in files)
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"
