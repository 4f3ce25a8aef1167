"""`download` gives verified files, and says when they are not the book's own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockstep.d2l import downloads, options, text
from lockstep.data import Contents, Found, list_sources
from lockstep.data.source import DataFile, Edition, Source
from lockstep.errors import MissingError

NOTE = "The Time Machine, H. G. Wells: another edition than the book's, gutenberg"


@pytest.fixture(autouse=True)
def no_notes() -> Iterator[None]:
    yield
    options.current().notes.clear()


def test_another_edition_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Found("timemachine", "gutenberg", "pip", (Path("timemachine.txt"),), "sha256:0")
    monkeypatch.setattr(downloads, "fetch", lambda source: found)
    assert downloads.download("time_machine") == "timemachine.txt"
    assert options.current().notes == [NOTE]
    options.current().notes.clear()
    monkeypatch.setattr(text, "read", lambda name: Contents(found, (b"The Time\r\n",)))
    assert text.read_time_machine() == ["the time"]
    assert options.current().notes == [NOTE]


def test_the_file_that_is_asked_for_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = [hashlib.sha1(name).hexdigest() for name in (b"a", b"b")]
    files = [DataFile((name,), (Edition("d2l", "sha1", digest),))
             for name, digest in zip("ab", digests, strict=True)]  # fmt: skip
    source = Source("pair", "A pair", tuple(files), (), "")
    found = Found("pair", "d2l", "here", (Path("a"), Path("b")), "sha256:0")
    monkeypatch.setattr(downloads, "list_sources", lambda: [*list_sources(), source])
    monkeypatch.setattr(downloads, "fetch", lambda source: found)
    monkeypatch.setitem(downloads.DATA_HUB, "second", ("http://host/b", digests[1]))
    assert downloads.download("second") == "b"
    assert options.current().notes == []


def test_a_file_that_cannot_be_had_may_be_put_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "http://127.0.0.1:9/own.txt"  # nothing listens there
    monkeypatch.setitem(downloads.DATA_HUB, "own", (address, hashlib.sha1(b"mine").hexdigest()))
    remedy = f"Fetch {address} yourself and put it at {tmp_path / 'own.txt'}."
    with pytest.raises(MissingError) as failure:
        downloads.download("own", str(tmp_path))
    assert failure.value.remedy == remedy
    (tmp_path / "own.txt").write_bytes(b"mine")
    assert downloads.download("own", str(tmp_path)) == str(tmp_path / "own.txt")
