"""The public host, against a real server on loopback: good, broken, slow, absent."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from lockstep.data import Source, fetch, find
from lockstep.data.folders import CACHE, LEFTOVER_SECONDS
from lockstep.data.host import PublicHost
from lockstep.data.source import DataFile, Edition
from lockstep.errors import LockstepError, MissingError
from lockstep.files import DiskError

GOOD = bytes(range(256)) * 400
DIGEST = hashlib.sha256(GOOD).hexdigest()


def source_at(address: str, num_files: int = 1, **limits: float) -> Source:
    files = tuple(
        DataFile((f"folder/file-{at}.bin",), (Edition("d2l", "sha256", DIGEST),))
        for at in range(num_files)
    )
    return Source("loopback", "Loopback", files, (CACHE, PublicHost(address, **limits)), "")


def leftovers(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()] if cache.exists() else []


def test_a_good_file_is_kept_and_not_asked_for_again(cache, server):
    server.send("/file-0.bin", GOOD)
    source = source_at(server.address)
    assert fetch(source).place == "public host"
    assert fetch(source).place == "cache"
    assert server.hits == {"/file-0.bin": 1}
    assert leftovers(cache) == [cache / "folder" / "file-0.bin"]
    assert (cache / "folder" / "file-0.bin").read_bytes() == GOOD


def test_files_that_came_before_a_failure_are_not_asked_for_again(cache, server):
    server.send("/file-0.bin", GOOD)
    source = source_at(server.address, num_files=2)
    with pytest.raises(MissingError, match="404"):
        fetch(source)
    server.send("/file-1.bin", GOOD)
    assert len(fetch(source).paths) == 2
    assert server.hits == {"/file-0.bin": 1, "/file-1.bin": 2}


def test_a_truncated_file_is_refused(cache, server):
    server.send("/file-0.bin", GOOD[:5000], length=len(GOOD))
    with pytest.raises(MissingError, match="broke off after 5,000 of 102,400 bytes"):
        fetch(source_at(server.address))
    assert leftovers(cache) == []


def test_a_short_file_that_claims_to_be_whole_is_refused(cache, server):
    server.send("/file-0.bin", GOOD[:-1])
    with pytest.raises(MissingError, match=f"wanted {DIGEST[:8]}"):
        fetch(source_at(server.address))
    assert leftovers(cache) == []


def test_other_content_of_the_right_length_is_refused(cache, server):
    server.send("/file-0.bin", b"x" + GOOD[1:])
    with pytest.raises(MissingError, match=f"wanted {DIGEST[:8]}"):
        fetch(source_at(server.address))
    assert leftovers(cache) == []


def test_not_found_is_told_with_its_address(cache, server):
    with pytest.raises(MissingError, match=f"{server.address}file-0.bin answered 404 Not Found"):
        fetch(source_at(server.address))


def test_nobody_listening_is_told(cache):
    with pytest.raises(MissingError, match="cannot be reached"):
        fetch(source_at("http://127.0.0.1:9/"))


def test_a_server_that_stalls_midway_times_out(cache, server):
    server.send("/file-0.bin", GOOD, wait=30)
    began = time.monotonic()
    with pytest.raises(MissingError, match=r"sent nothing for 0.3 s"):
        fetch(source_at(server.address, read_seconds=0.3))
    assert time.monotonic() - began < 5  # the limit, and room for a busy machine
    assert leftovers(cache) == []


def test_a_server_that_never_answers_times_out(cache, server):
    def stall(handler: BaseHTTPRequestHandler) -> None:
        server.closing.wait(30)

    server.routes["/file-0.bin"] = stall
    began = time.monotonic()
    with pytest.raises(MissingError, match=r"did not answer in 0.2 s"):
        fetch(source_at(server.address, answer_seconds=0.2, read_seconds=1))
    assert time.monotonic() - began < 5
    with pytest.raises(MissingError, match=r"sent nothing for 0.2 s|timed out"):
        fetch(source_at(server.address, read_seconds=0.2))


def test_a_trickle_cannot_outlast_the_total(cache, server):
    server.send("/file-0.bin", GOOD, wait=0.2)
    with pytest.raises(MissingError, match=r"not complete after 0.5 s"):
        fetch(source_at(server.address, total_seconds=0.5))
    assert leftovers(cache) == []


FETCH_IN_PROCESS = """
import sys
from lockstep.data import Source, fetch
from lockstep.data.source import DataFile, Edition
from lockstep.data.host import PublicHost
from lockstep.data.folders import CACHE
file = DataFile(("folder/file-0.bin",), (Edition("d2l", "sha256", sys.argv[2]),))
host = PublicHost(sys.argv[1], answer_seconds=60, read_seconds=60)
source = Source("loopback", "Loopback", (file,), (CACHE, host), "")
print(fetch(source).place)
"""


def start(address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", FETCH_IN_PROCESS, address, DIGEST]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_may_fetch_at_once(cache, server):
    both_asked = threading.Barrier(2, timeout=60)

    def together(handler: BaseHTTPRequestHandler) -> None:
        both_asked.wait()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(GOOD)))
        handler.end_headers()
        handler.wfile.write(GOOD)

    server.routes["/file-0.bin"] = together
    # each process waits for its answer until the other has asked
    processes = [start(server.address) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert outputs == ["public host\n", "public host\n"]
    assert leftovers(cache) == [cache / "folder" / "file-0.bin"]
    assert find(source_at(server.address)).place == "cache"


def test_a_killed_download_leaves_nothing_that_passes_for_whole(cache, server):
    server.send("/file-0.bin", GOOD, wait=5)
    process = start(server.address)
    while not server.hits and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.1)
    process.kill()
    process.communicate(timeout=60)
    assert find(source_at(server.address)) is None
    server.send("/file-0.bin", GOOD)
    assert fetch(source_at(server.address)).place == "public host"


def test_a_half_written_temporary_file_is_never_taken_and_goes_when_old(cache, server):
    (cache / "folder").mkdir(parents=True)
    old, new = (cache / "folder" / f".file-0.bin.{name}.part" for name in ("old", "new"))
    for part in (old, new):
        part.write_bytes(GOOD)
    long_ago = time.time() - 2 * LEFTOVER_SECONDS
    os.utime(old, (long_ago, long_ago))
    assert find(source_at(server.address)) is None
    server.send("/file-0.bin", GOOD)
    fetch(source_at(server.address))
    assert not old.exists()
    assert new.exists()  # it may be another process's


def test_a_full_disk_is_told_plainly(cache, server, monkeypatch):
    """The full disk is a mock: the write is replaced by one that runs out of space halfway."""

    def mock_write(path: Path, raw: bytes) -> None:
        path.write_bytes(raw[: len(raw) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lockstep.files._write_synced", mock_write)
    server.send("/file-0.bin", GOOD)
    with pytest.raises(DiskError, match=r"no space left.*LOCKSTEP_CACHE") as it:
        fetch(source_at(server.address))
    assert isinstance(it.value, LockstepError)
    assert leftovers(cache) == []


def test_a_cache_that_cannot_be_made_is_told_plainly(tmp_path, server, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("LOCKSTEP_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server.send("/file-0.bin", GOOD)
    with pytest.raises(DiskError, match="cannot be written"):
        fetch(source_at(server.address))
