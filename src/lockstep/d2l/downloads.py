"""DATA_HUB and download: the chapters' files, from Lockstep's places first, always verified."""

from __future__ import annotations

import hashlib
import tarfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

from lockstep.d2l import options
from lockstep.data import Found, fetch, list_sources
from lockstep.data.data_set import source_named
from lockstep.data.folders import cache_folder
from lockstep.errors import MissingError, unknown
from lockstep.files import write_whole

DATA_URL = "http://d2l-data.s3-accelerate.amazonaws.com/"
# what cells add to: name -> (address, SHA-1)
DATA_HUB: dict[str, tuple[str, str]] = {
    "time_machine": (DATA_URL + "timemachine.txt", "090b5e7e70c295757f55df93cb0a180b9691891a"),
    "airfoil": (DATA_URL + "airfoil_self_noise.dat", "76e5be1548fd8222e5074cf0faae75edff8cf93f"),
}
SECONDS = 60.0


def download(name: str, cache_dir: str = "") -> str:
    """The path of a file that DATA_HUB names, verified.

    A file that Lockstep knows (by its SHA-1) comes from Lockstep's places, perhaps in another
    edition, which is noted; another one from its address, into `cache_dir` or Lockstep's cache.

    >>> Path(download("airfoil")).stat().st_size
    59984
    """
    if name not in DATA_HUB:
        raise unknown("DATA_HUB", name, DATA_HUB)
    address, digest = DATA_HUB[name]
    for source in list_sources():
        for place, file in enumerate(source.files):
            if any(edition.digest == digest for edition in file.editions):
                found = fetch(source)
                note_edition(found)
                return str(found.paths[place])
    folder = Path(cache_dir) if cache_dir else cache_folder() / "d2l"
    path = folder / urlsplit(address).path.rpartition("/")[2]
    if path.is_file() and hashlib.sha1(path.read_bytes()).hexdigest() == digest:
        return str(path)
    return str(write_whole(path, _fetched(name, address, digest, path)))


def note_edition(found: Found) -> None:
    """Have a reader of the results know that they are of other data than the book's."""
    if found.edition != "d2l":
        title = source_named(found.name).title
        options.note(f"{title}: another edition than the book's, {found.edition}")


def _fetched(name: str, address: str, digest: str, path: Path) -> bytes:
    remedy = f"Fetch {address} yourself and put it at {path}."
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            content: bytes = answer.read()
    except (OSError, urllib.error.URLError) as error:
        raise MissingError(f"data {name!r} could not be had ({error})", remedy) from None
    actual = hashlib.sha1(content).hexdigest()
    if actual != digest:
        raise MissingError(f"data {name!r} has SHA-1 {actual}, wanted {digest}", remedy)
    return content


def download_extract(name: str, folder: str | None = None) -> str:
    """The folder of an archive's content, which is extracted beside the archive."""
    path = Path(download(name))
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            archive.extractall(path.parent)
    elif path.suffix in (".tar", ".gz"):
        with tarfile.open(path) as archive:
            archive.extractall(path.parent, filter="data")
    else:
        remedy = "Use `download` for a file that is no .zip, .tar or .gz."
        raise MissingError(f"{path} is not an archive", remedy)
    return str(path.parent / folder) if folder else str(path.with_suffix(""))
