"""The bytes of a file that a person names, their digest, and what can be wrong with such a file.

Nothing here knows what the bytes mean. What is compressed has a limit; nothing is unpickled.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import math
import os
import stat
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Literal

import numpy as np

from lockstep.data.examples import Origin
from lockstep.errors import InputError, MissingError

FIELD = "data.file"
MOST_BYTES = 4 * 2**30  # decompressed
GZIP, ZIP, PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"PAR1"
AS_CSV, UNPACK = "Save its sheet as CSV in UTF-8.", "Unpack it, or compress it with gzip."
MARKS = {  # the longer one first, for it begins as the other does
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
OTHERS = {  # first bytes: what such a file is, and what to do with it
    b"\x93NUMPY": ("is one array (npy)", "Save it with its target: np.savez(file, x=x, y=y)."),
    b"PK\x05\x06": ("is a zip with nothing in it", "Write it anew: np.savez."),
    b"BZh": ("is compressed by bzip2", UNPACK),
    b"\xfd7zXZ\0": ("is compressed by xz", UNPACK),
    b"\x28\xb5\x2f\xfd": ("is compressed by zstd", UNPACK),
    b"\xd0\xcf\x11\xe0": ("is an old Excel workbook", AS_CSV),
    b"SQLite format 3\0": ("is an SQLite database", "Write the table to a CSV."),
    b"\x89HDF": ("is HDF5", "Write its arrays with np.savez."),
    b"\x89PNG": ("is one picture", "Give a folder of pictures by class."),
    b"\xff\xd8\xff": ("is one picture", "Give a folder of pictures by class."),
    b"%PDF": ("is a PDF", "Give its text, in UTF-8."),
}


def refuse(path: Path, problem: str, remedy: str) -> InputError:
    """The error for a file that cannot be used."""
    return InputError(FIELD, str(path), problem, remedy)


def refuse_binary(path: Path, content: bytes) -> None:
    """Refuse a file that is no text by the name of what it is, where its first bytes say so."""
    for mark, (problem, remedy) in OTHERS.items():
        if content.startswith(mark):
            raise refuse(path, problem, remedy)


def given_path(file: str, what: str) -> Path:
    """The path of a file or folder that is there."""
    if not file:
        raise InputError(FIELD, file, "is not given", f"Give {what}: --data.file PATH.")
    path = Path(file)
    if not path.exists():
        near = path.parent.is_dir() and [n.name for n in path.parent.iterdir() if n.is_file()]
        hint = f"Its folder has {', '.join(sorted(near)[:8])}." if near else "Check the path."
        raise refuse(path, "is not there", hint)
    return path


def visible(folder: Path) -> list[Path]:
    """The files below a folder, in order of their paths. What begins with a dot is left out:
    systems and editors leave such files and folders behind, with the endings of real ones."""
    found = (path for path in folder.rglob("*") if not path.is_dir())
    return sorted(p for p in found if not any(n[0] == "." for n in p.relative_to(folder).parts))


def read_bytes(path: Path) -> bytes:
    """The whole file as it lies there; one that is empty, or written meanwhile, is refused."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:  # of an old zip file; records and digests have names
        raise refuse(path, "has a name that is not UTF-8", "Rename it.") from error
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise refuse(path, "is no regular file", "Give a file.")
            content = file.read()
            after = os.fstat(file.fileno())
    except OSError as error:
        raise refuse(path, f"cannot be read ({error.strerror})", "Check it.") from error
    changed = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
    if changed or len(content) != after.st_size:
        raise refuse(path, "was written to while it was read", "Wait until it is complete.")
    if not content:
        raise refuse(path, "is empty", "Give a file with data in it.")
    return content


def _without_waiting(path: str, flags: int) -> int:
    """A pipe that nobody writes to would be waited for without end."""
    return os.open(path, flags | os.O_NONBLOCK)


def digest_of(content: bytes) -> str:
    """Of the file as it lies there, compressed or not.

    >>> digest_of(b"abc")[:15]
    'sha256:ba7816bf'
    """
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def digest_of_all(contents: dict[str, bytes]) -> str:
    """Of several files by name: a renamed or moved byte is another digest."""
    sha = hashlib.sha256()
    for name, content in sorted(contents.items()):
        sha.update(f"{name}\0{len(content)}\0".encode())
        sha.update(content)
    return f"sha256:{sha.hexdigest()}"


def origin_of(path: Path, digest: str) -> Origin:
    """The record of a person's own file."""
    return Origin(path.name, "own file", str(path), digest)


def decompressed(path: Path, content: bytes) -> bytes:
    """What a gzipped file holds, up to MOST_BYTES; any other file as it is."""
    if not content.startswith(GZIP):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            found = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise refuse(path, f"is damaged gzip ({error})", "Make or fetch it anew.") from error
    if len(found) > MOST_BYTES:
        raise refuse(path, f"holds more than {MOST_BYTES:,} bytes", "Give a smaller file.")
    return found


def decoded(path: Path, content: bytes) -> str:
    """UTF-8 text, with or without a byte order mark; anything else is refused by name."""
    for mark, name in MARKS.items():
        if content.startswith(mark):
            remedy = f"Convert it: iconv -f {name} -t UTF-8."
            raise refuse(path, f"is {name} text, not UTF-8", remedy)
    at = content.find(b"\0")
    if at >= 0:
        refuse_binary(path, content)
        raise refuse(path, f"is binary (a zero byte at {at:,})", "Give a text file in UTF-8.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse_binary(path, content)
        line = content.count(b"\n", 0, error.start) + 1
        if error.reason == "unexpected end of data":
            problem = f"ends within a character of UTF-8, in line {line:,}"
            raise refuse(path, problem, "It is cut off, or in another encoding.") from error
        problem = f"is not UTF-8: byte 0x{content[error.start]:02x} in line {line:,}"
        remedy = (
            "Convert it from the encoding that it has, LATIN1, GB18030, SHIFT_JIS or another: "
            "iconv -f LATIN1 -t UTF-8."
        )
        raise refuse(path, problem, remedy) from error


def npz_arrays(path: Path, content: bytes) -> dict[str, np.ndarray]:
    """The arrays of an npz file by name. Sizes are checked before anything is unpacked, and an
    array of Python objects is refused: reading it would run code that the file brings."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            _refuse_archive(path, [member.filename for member in members])
            total = sum(member.file_size for member in members)
            if total > MOST_BYTES:
                problem = f"unpacks to {total:,} bytes, over the limit of {MOST_BYTES:,}"
                raise refuse(path, problem, "Give a smaller file.")
            return {
                member.filename.removesuffix(".npy"): _array(path, archive, member)
                for member in members
            }
    except InputError:
        raise
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError) as error:
        raise refuse(path, f"is a damaged npz ({error})", "Write it anew: np.savez.") from error
    except RuntimeError as error:  # zipfile's word for an encrypted or strangely packed member
        raise refuse(path, f"cannot be unpacked ({error})", "Write it with np.savez.") from error


def _refuse_archive(path: Path, names: list[str]) -> None:
    """Refuse a zip that holds no array at all by the name of what it is."""
    if not names or any(name.endswith(".npy") for name in names):
        return
    if any(name.startswith("xl/") for name in names):
        raise refuse(path, "is an Excel workbook", AS_CSV)
    there = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
    raise refuse(path, f"is a zip of other files ({there})", "Unpack it, and give what is in it.")


def _array(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    name = member.filename
    content = archive.read(member)  # whole, for its checksum is compared at its end
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        else:
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
    except (ValueError, TypeError, tokenize.TokenError) as error:
        problem = f"{name} is no NumPy array ({str(error).splitlines()[0]})"
        raise refuse(path, problem, "Write it with np.savez.") from error
    if dtype.hasobject:
        problem = f"{name} holds pickled Python objects, which are never unpickled"
        raise refuse(path, problem, "Save arrays of numbers or text.")
    wanted, there = math.prod(shape) * dtype.itemsize, len(content) - file.tell()
    if wanted != there:
        problem = f"{name} says it has shape {shape}, but holds {there:,} bytes, not {wanted:,}"
        raise refuse(path, problem, "Write it anew: np.savez.")
    order: Literal["C", "F"] = "F" if fortran else "C"
    array: np.ndarray = np.ndarray(shape, dtype, content, file.tell(), order=order)
    return np.array(array, array.dtype.newbyteorder("="), order="C")


def optional(module: str, extra: str, path: Path) -> MissingError:
    """The error where a library for this kind of file is not installed."""
    remedy = f"Install it: pip install 'lockstep-train[{extra}]'"
    return MissingError(f"{path.name} needs {module}, which is not installed here", f"{remedy}.")
