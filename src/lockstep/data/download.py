"""One file over HTTP, into memory, with a limit on every wait and on its size.

Nothing here judges or stores the bytes.
"""

from __future__ import annotations

import http.client
import queue
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

from lockstep.data.editions import PlaceError, Progress

MAX_BYTES = 100_000_000  # no file here has more; an endless answer must end
PIECE_BYTES = 1 << 16
REPORT_SECONDS = 1.0


@dataclass(frozen=True)
class Limits:
    """Seconds to answer at all, between two pieces, and for the whole file."""

    answer_seconds: float
    read_seconds: float
    total_seconds: float


def download(address: str, limits: Limits, progress: Progress) -> bytes:
    """The bytes at `address`; PlaceError says what went wrong, in one line.

    >>> download("carrier-pigeon:file", Limits(10, 8, 300), print)
    Traceback (most recent call last):
        ...
    lockstep.data.editions.PlaceError: carrier-pigeon:file cannot be reached (unknown url type: \
carrier-pigeon)
    """
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


def _open(address: str, limits: Limits) -> http.client.HTTPResponse:
    # looking a name up has no time-out of its own, so the wait for a thread bounds it
    answers: queue.Queue[http.client.HTTPResponse | Exception] = queue.Queue()

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


def _read(
    response: http.client.HTTPResponse, address: str, limits: Limits, progress: Progress
) -> bytes:
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
