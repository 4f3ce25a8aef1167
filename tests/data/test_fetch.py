"""Places in turn: order, verification, and what is said when none has the data."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.data import Attempt, Found, Source, fetch, find, list_sources, read, verify
from lockstep.data.folders import CACHE, NAMED
from lockstep.data.host import PublicHost
from lockstep.data.package_index import DebianPackage, PipArchive
from lockstep.data.source import DataFile, Edition
from lockstep.errors import InputError, MissingError

GOOD = b"good content\n" * 100


def source_of(*contents: bytes, places: tuple = (NAMED, CACHE)) -> Source:
    files = tuple(
        DataFile(
            (f"part-{at}.bin.gz", f"part-{at}.bin"),
            (Edition("d2l", "sha256", hashlib.sha256(content).hexdigest()),),
        )
        for at, content in enumerate(contents)
    )
    return Source("parts", "Parts", files, places, "")


def test_a_named_folder_comes_before_the_cache(cache, tmp_path, monkeypatch):
    named = tmp_path / "named"
    for folder in (named, cache):
        folder.mkdir()
        (folder / "part-0.bin").write_bytes(GOOD)
    assert find(source_of(GOOD)).place == "cache"
    monkeypatch.setenv("LOCKSTEP_DATA", str(named))
    found = find(source_of(GOOD))
    assert (found.place, found.paths) == ("LOCKSTEP_DATA", (named / "part-0.bin",))
    assert found.digest == f"sha256:{hashlib.sha256(GOOD).hexdigest()}"


def test_a_bad_copy_is_passed_over_and_the_reason_is_told(cache, tmp_path, monkeypatch):
    named = tmp_path / "named"
    for folder, content in ((named, GOOD[:-1]), (cache, GOOD)):
        folder.mkdir()
        (folder / "part-0.bin").write_bytes(content)
    monkeypatch.setenv("LOCKSTEP_DATA", str(named))
    told: list[str] = []
    found = fetch(source_of(GOOD), told.append)
    assert found.place == "cache"
    assert told[0].startswith("LOCKSTEP_DATA: ")
    assert hashlib.sha256(GOOD[:-1]).hexdigest()[:8] in told[0]


def test_the_decompressed_bytes_are_verified(cache):
    cache.mkdir()
    (cache / "part-0.bin.gz").write_bytes(gzip.compress(GOOD, compresslevel=1))
    assert read(source_of(GOOD)).files == (GOOD,)
    (cache / "part-0.bin.gz").write_bytes(gzip.compress(GOOD, compresslevel=9)[:-9])
    assert find(source_of(GOOD)) is None
    (result,) = [each for each in verify(source_of(GOOD)) if each.place == "cache"]
    assert isinstance(result, Attempt)
    assert not result.absent
    assert "not a whole gzip file" in result.reason


def test_one_missing_file_of_several_is_not_found(cache):
    cache.mkdir()
    (cache / "part-0.bin").write_bytes(GOOD)
    source = source_of(GOOD, b"second")
    assert find(source) is None
    (cache / "part-1.bin").write_bytes(b"second")
    found = find(source)
    digests = [hashlib.sha256(content).hexdigest() for content in (GOOD, b"second")]
    lines = "".join(f"sha256:{digest}\n" for digest in digests)
    assert found.digest == f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"


def test_when_all_fail_every_place_its_reason_and_the_remedy_are_told(cache):
    with pytest.raises(MissingError) as failure:
        fetch(source_of(GOOD))
    message = str(failure.value)
    for part in (
        "LOCKSTEP_DATA: is not set",
        f"cache: the folder {cache} does not exist",
        "lockstep data fetch parts",
        "LOCKSTEP_DATA=...",
        "--data generated",
    ):
        assert part in message


def test_remote_false_stays_on_this_machine(cache):
    class Forbidden:
        label, remote = "far away", True

        def get(self, files, progress):
            raise AssertionError("asked a remote place")

    with pytest.raises(MissingError) as failure:
        read(source_of(GOOD, places=(CACHE, Forbidden())), remote=False)
    assert "far away" not in str(failure.value)


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(InputError, match="Did you mean 'fashion-mnist'"):
        find("fashion_mnist")
    with pytest.raises(InputError, match=r"Known: .*pip"):
        fetch("airfoil", place="conda")


def test_airfoil_is_here_without_a_network(cache):
    found = find("airfoil")
    assert isinstance(found, Found)
    assert found.place == "package"
    content = found.paths[0].read_bytes()
    assert hashlib.sha1(content).hexdigest() == "76e5be1548fd8222e5074cf0faae75edff8cf93f"


def test_the_embedded_airfoil_is_the_chapters_file(chapter_data):
    path: Path = chapter_data("airfoil_self_noise.dat")
    assert find("airfoil").paths[0] == path
    assert read("airfoil").files[0] == path.read_bytes()
    embedded = [result for result in verify("airfoil") if result.place == "package"]
    assert embedded[0].paths[0].read_bytes() == path.read_bytes()


def test_the_chapters_time_machine_is_the_d2l_edition(chapter_data):
    path: Path = chapter_data("timemachine.txt")
    found = find("timemachine")
    assert (found.edition, found.paths) == ("d2l", (path,))
    assert found.digest == "sha1:090b5e7e70c295757f55df93cb0a180b9691891a"


def test_no_registry_has_an_address():
    for source in list_sources():
        for place in source.places:
            if isinstance(place, PipArchive | DebianPackage):
                assert "://" not in repr(place)
                assert place.seconds == 120


def test_nothing_is_fetched_without_a_word(cache, server, capsys):
    """Said before it begins: how much, from where, where to, and how to do without."""
    server.send("/part-0.bin.gz", gzip.compress(GOOD))
    host = PublicHost(server.address)
    source = replace(source_of(GOOD, places=(NAMED, CACHE, host)), size=30_878_551)
    assert read(source).files == (GOOD,)
    first, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("data: Parts is not on this machine. Fetching 31 MB from 127.0.0.1")
    for words in (str(cache), "--data generated", "LOCKSTEP_DATA"):
        assert words in first
    assert read(source).found.place == "cache"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("source", list_sources(), ids=lambda source: source.name)
def test_the_size_that_is_told_is_that_of_the_files(source, chapter_data):
    paths = [chapter_data(file.names[0]) for file in source.files]
    assert sum(path.stat().st_size for path in paths) == source.size
