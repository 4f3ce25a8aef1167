"""Public hosts: files by their name over HTTP, with a limit on every wait and on the size.

A file enters the cache only after its digest was checked.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockstep.data.folders import cache_folder, read_verified, store
from lockstep.data.source import DataFile, PlaceError, Progress, Verified, check

if TYPE_CHECKING:
    from http.client import HTTPResponse

MAX_BYTES = 100_000_000  # no file here has more; an endless answer must end
PIECE_BYTES = 1 << 16
REPORT_SECONDS = 1.0


@dataclass(frozen=True)
class PublicHost:
    """Files at `address` + their base name. The seconds are the longest wait for an answer, between
    two pieces, and for a whole file."""

    address: str
    label: str = "public host"
    answer_seconds: float = 10.0
    read_seconds: float = 8.0
    total_seconds: float = 300.0
    remote: bool = True

    def get(self, files: Sequence[DataFile], progress: Progress) -> list[Verified]:
        if len(files) == 1:
            return [self._get(files[0], progress)]
        return [_kept(file) or self._get(file, progress) for file in files]

    def _get(self, file: DataFile, progress: Progress) -> Verified:
        progress(f"{self.label}: asking for {self.address}{file.base_name}")
        raw = download(self.address + file.base_name, self, progress)
        edition, content = check(file, file.base_name, raw)
        return Verified(store(file.names[0], raw), edition, content)


def _kept(file: DataFile) -> Verified | None:
    """What an earlier fetch of several files brought before it broke off."""
    try:
        return read_verified(cache_folder(), file)
    except PlaceError:
        return None


def download(address: str, limits: PublicHost, progress: Progress) -> bytes:
    """The bytes at `address`; PlaceError says what went wrong, in one line.

    >>> download("carrier-pigeon:file", PublicHost(""), print)
    Traceback (most recent call last):
        ...
    lockstep.data.source.PlaceError: carrier-pigeon:file cannot be reached (unknown url type: \
carrier-pigeon)
    """
    # imported late: 40 ms that only a download needs
    import http.client
    import urllib.error

    try:
        with _open(address, limits) as response:
            return _read(response, address, limits, progress)
    except urllib.error.HTTPError as error:
        with error:
            raise PlaceError(f"{address} answered {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise PlaceError(f"{address} cannot be reached ({error.reason})") from None
    except TimeoutError:
        raise PlaceError(f"{address} sent nothing for {limits.read_seconds:g} s") from None
    except (OSError, http.client.HTTPException) as error:
        raise PlaceError(f"{address} broke off ({error!r})") from None


def _open(address: str, limits: PublicHost) -> HTTPResponse:
    import urllib.request

    # looking a name up has no time-out of its own, so the wait for a thread bounds it
    answers: queue.Queue[HTTPResponse | Exception] = queue.Queue()

    def work() -> None:
        try:
            answers.put(urllib.request.urlopen(address, timeout=limits.read_seconds))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        answer = answers.get(timeout=limits.answer_seconds)
    except queue.Empty:
        raise PlaceError(f"{address} did not answer in {limits.answer_seconds:g} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _read(response: HTTPResponse, address: str, limits: PublicHost, progress: Progress) -> bytes:
    expected = response.length
    deadline = time.monotonic() + limits.total_seconds
    next_report = time.monotonic() + REPORT_SECONDS
    received = bytearray()
    # read1 returns after each packet, so a trickle cannot outlast the deadline
    while piece := response.read1(PIECE_BYTES):
        received += piece
        now = time.monotonic()
        if now > deadline:
            raise PlaceError(f"{address} was not complete after {limits.total_seconds:g} s")
        if len(received) > MAX_BYTES:
            raise PlaceError(f"{address} is larger than {MAX_BYTES:,} bytes")
        if now > next_report:
            next_report = now + REPORT_SECONDS
            whole = f" of {expected:,}" if expected else ""
            progress(f"{address}: {len(received):,}{whole} bytes")
    if expected is not None and len(received) != expected:
        raise PlaceError(f"{address} broke off after {len(received):,} of {expected:,} bytes")
    return bytes(received)


CHAPTERS = PublicHost("https://d2l-data.s3-accelerate.amazonaws.com/")
