"""What a data source is: files with the digests of their known editions, and places to try.

Nothing here looks for a file or opens a connection; it verifies bytes that another module found.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

Progress = Callable[[str], None]


class PlaceError(Exception):
    """Why one place cannot give a file; the next place is tried, and the reason is kept."""


class AbsentError(PlaceError):
    """The place holds no copy at all, which is no fault."""


@dataclass(frozen=True)
class Edition:
    """One accepted content of a file. `d2l` is the chapters' own bytes."""

    name: str
    algorithm: str
    digest: str

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.digest}"


@dataclass(frozen=True)
class DataFile:
    """A file by the names it may have below a data folder; the first name is the one we write.

    A name ending in `.gz` is gzipped, and the digests are always of the decompressed content,
    because to compress anew changes the compressed bytes and not the data.
    """

    names: tuple[str, ...]
    editions: tuple[Edition, ...]

    @property
    def base_name(self) -> str:
        """The name without folders, as a public host knows it."""
        return self.names[0].rpartition("/")[2]


@dataclass(frozen=True)
class Verified:
    """A file whose decompressed `content` has the digest of `edition`."""

    path: Path
    edition: Edition
    content: bytes


class Place(Protocol):
    """Somewhere data may be had. `get` returns every file verified or raises PlaceError."""

    @property
    def label(self) -> str: ...

    @property
    def remote(self) -> bool: ...

    def get(self, files: Sequence[DataFile], progress: Progress) -> list[Verified]: ...


@dataclass(frozen=True)
class Source:
    """Where a named data set comes from: its files, the places to try in order, its citation."""

    name: str
    title: str
    files: tuple[DataFile, ...]
    places: tuple[Place, ...]
    citation: str
    size: int = 0  # bytes that a remote place sends, about

    @property
    def first_remote(self) -> str:
        """What a fetch would be from, and how much; "" where nothing is remote.

        >>> from lockstep.data import fashion_mnist
        >>> fashion_mnist.SOURCE.first_remote
        '31 MB from fashion-mnist.s3-website.eu-central-1.amazonaws.com'
        """
        remote = next((place for place in self.places if place.remote), None)
        if remote is None:
            return ""
        address = getattr(remote, "address", "")
        return f"{megabytes(self.size)} from {urlsplit(address).hostname or remote.label}"


def megabytes(size: int) -> str:
    """
    >>> megabytes(30_878_551), megabytes(178_979)
    ('31 MB', '0.2 MB')
    """
    return f"{size / 1e6:.0f} MB" if size >= 10**6 else f"{size / 1e6:.1f} MB"


def check(file: DataFile, name: str, raw: bytes) -> tuple[Edition, bytes]:
    """Which edition `raw` is, and its decompressed content; PlaceError if it is none.

    >>> from lockstep.data.source import DataFile, Edition, check
    >>> known = Edition("d2l", "sha1", "a9993e364706816aba3e25717850c26c9cd0d89d")
    >>> edition, content = check(DataFile(("abc.txt",), (known,)), "abc.txt", b"abc")
    >>> edition.name, content
    ('d2l', b'abc')
    >>> check(DataFile(("abc.txt",), (known,)), "abc.txt", b"ab")
    Traceback (most recent call last):
        ...
    lockstep.data.source.PlaceError: abc.txt (2 bytes) has sha1 da23614e..., wanted a9993e36...
    """
    content = _decompress(name, raw) if name.endswith(".gz") else raw
    actual = {
        algorithm: hashlib.new(algorithm, content).hexdigest()
        for algorithm in dict.fromkeys(edition.algorithm for edition in file.editions)
    }
    for edition in file.editions:
        if actual[edition.algorithm] == edition.digest:
            return edition, content
    wanted = " or ".join(f"{edition.digest[:8]}..." for edition in file.editions)
    seen = ", ".join(f"{algorithm} {digest[:8]}..." for algorithm, digest in actual.items())
    raise PlaceError(f"{name} ({len(raw):,} bytes) has {seen}, wanted {wanted}")


def _decompress(name: str, raw: bytes) -> bytes:
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise PlaceError(f"{name} ({len(raw):,} bytes) is not a whole gzip file: {error}") from None
