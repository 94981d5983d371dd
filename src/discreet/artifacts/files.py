"""Release files: one zip of a manifest and plain arrays.

The members are stored, not compressed, with fixed dates and in a fixed order, so equal releases
are equal bytes, on every machine. That also makes a reader safe by arithmetic: what the members
declare adds up to no more than the file itself, and an array takes at most eight times its bytes in
memory, so no small file can unpack into a large one.
Nothing in the file is code: JSON, and arrays of a few plain types whose size is checked before
they are made.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import stat
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from discreet.artifacts.manifest import manifest_of, release_of
from discreet.artifacts.release import FORMAT_VERSION, Release
from discreet.errors import BadInput, BadRelease, DiscreetError

making_a_tree = RLock()
"""Held around every call that leads to `ast.parse`: numpy reads the header of an array so, jinja2 a template.
CPython 3.11 counts the depth of a tree in a place that all threads share, so two threads that parse at once can both fail."""


MANIFEST, SIGNATURE = "manifest.json", "signature.json"
FORMAT = "discreet release"
MOST_BYTES = 16 << 30
MOST_MANIFEST = 64 << 20
MOST_MEMBERS = 100_000
DATE = (1980, 1, 1, 0, 0, 0)
DAMAGED = "{} is not a release, or it was damaged, altered or cut short; fetch it again from its publisher."

_NAME = re.compile(r"manifest\.json|signature\.json|arrays/[0-9]{1,6}\.npy", re.ASCII)
_TYPES = ("<i8", "<u8", "|b1", "<f8")
"""Types of a release's arrays."""
_NARROW = {"<i8": ("|i1", "<i2", "<i4"), "<u8": ("|u1", "<u2", "<u4")}
"""Shorter types that whole numbers have in a file, if they fit; narrowest first. Format 1 had none."""
_WIDE = {narrow: wide for wide, shorter in _NARROW.items() for narrow in shorter}


def write_release(release: Release, path: str | Path) -> None:
    """Write `release` to `path`, all of it or nothing: an interruption leaves no half file."""
    write_members(release_members(release), path)


def release_bytes(release: Release) -> bytes:
    """The bytes that `write_release` writes; equal releases have equal bytes."""
    buffer = io.BytesIO()
    _zip(release_members(release), buffer)
    return buffer.getvalue()


def read_release(path: str | Path) -> Release:
    """The release in the file at `path`, or a `BadRelease` that says what is wrong with it."""
    return release_from_members(read_members(path), where=str(path))


def release_members(release: Release, *, version: int = FORMAT_VERSION) -> dict[str, bytes]:
    """The file's members by name: what is written, and what a signature is made over. Of version 2 or later."""
    manifest, arrays = manifest_of(release, version=version)
    manifest = {"format": FORMAT, "version": version, **manifest}
    members = {MANIFEST: _json_bytes(manifest)}
    for place, array in enumerate(arrays):
        members[f"arrays/{place}.npy"] = _array_bytes(array)
    return members


def _json_bytes(data: dict[str, Any]) -> bytes:
    """One line a field: with more line breaks, writing a million numbers would take seconds."""
    lines = [f"{_json(key)}: {_json(data[key])}" for key in sorted(data)]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("utf-8")


def _json(data: Any) -> str:
    return json.dumps(data, sort_keys=True, ensure_ascii=False, allow_nan=False)


def plain_array(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """In the first of the plain types that holds it without loss."""
    for kind in _TYPES:
        if np.can_cast(array.dtype, np.dtype(kind), casting="safe"):
            kind = "|b1" if array.dtype.kind == "b" else kind
            return np.ascontiguousarray(array, dtype=np.dtype(kind)).reshape(array.shape)
    raise BadInput(f"An array of type {array.dtype} cannot be written to a release.")


def _narrowed(plain: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """As it is written: a file of noisy counts is two to four times smaller that way."""
    kinds = _NARROW.get(plain.dtype.str, ()) if plain.size else ()
    least, most = (int(plain.min()), int(plain.max())) if kinds else (0, 0)
    for kind in kinds:
        if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
            return plain.astype(kind)
    return plain


def widened(written: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The inverse: as a release holds it, and read-only."""
    wide = _WIDE.get(written.dtype.str)
    plain = written if wide is None else written.astype(wide)
    plain.flags.writeable = False
    return plain


def _array_bytes(array: npt.NDArray[Any]) -> bytes:
    plain = _narrowed(plain_array(array))
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, np.lib.format.header_data_from_array_1_0(plain))
    return b"".join((buffer.getvalue(), plain.reshape(-1).data))


def write_members(members: Mapping[str, bytes], path: str | Path) -> None:
    """A zip of `members`, written beside `path` and then moved there in one step."""
    target = Path(path)
    try:
        # A short name of its own: with the target's in it, a long one would fail here and nowhere before.
        handle, name = tempfile.mkstemp(
            dir=target.parent or Path(), prefix=".discreet-", suffix=".part"
        )
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            _zip(members, file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        if isinstance(error, OSError):
            raise BadInput(f"{target} cannot be written: {error.strerror}.") from None
        raise


def _zip(members: Mapping[str, bytes], file: IO[bytes]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for member in sorted(members, key=_member_order):
            info = zipfile.ZipInfo(member, date_time=DATE)
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, members[member])


def _member_order(name: str) -> tuple[bool, int, str]:
    return name != MANIFEST, len(name), name


def read_members(path: str | Path) -> dict[str, bytes]:
    """Every member of a release file, each checked before it is read."""
    where = str(path)
    try:
        with Path(path).open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BadRelease(f"{where} is not a file.")
            if status.st_size > MOST_BYTES:
                raise BadRelease(f"{where} is larger than a release can be.")
            with zipfile.ZipFile(file) as archive:
                return _checked_members(archive, status.st_size, where)
    except OSError as error:
        if error.filename is None:  # not of opening the file: an offset in it that leads nowhere
            raise BadRelease(DAMAGED.format(where)) from None
        raise BadRelease(f"{where} cannot be read: {error.strerror}.") from None
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,
        EOFError,
        ValueError,
    ) as e:
        if isinstance(e, DiscreetError):
            raise
        raise BadRelease(DAMAGED.format(where)) from None


def _checked_members(archive: zipfile.ZipFile, size: int, where: str) -> dict[str, bytes]:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if MANIFEST not in names:
        raise BadRelease(f"{where} is a zip file, but not a release: it has no {MANIFEST}.")
    if len(infos) > MOST_MEMBERS or len(set(names)) != len(names):
        raise BadRelease(f"{where} is refused: it names a member twice, or has too many.")
    declared = 0
    for info in infos:
        kind = info.external_attr >> 16
        if not _NAME.fullmatch(info.filename) or (
            kind and stat.S_IFMT(kind) not in (0, stat.S_IFREG)
        ):
            raise BadRelease(f"{where} is refused: it has a member that no release has.")
        stored = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
        if not stored or info.flag_bits & 0x1:
            raise BadRelease(
                f"{where} is refused: its members are compressed, and a release stores them uncompressed."
            )
        declared += info.file_size
        if info.filename == MANIFEST and info.file_size > MOST_MANIFEST:
            raise BadRelease(f"{where} is refused: its manifest is too large.")
    if declared > size:
        raise BadRelease(f"{where} is refused: it declares more than the file holds.")
    return {info.filename: archive.read(info) for info in infos}


def manifest_from_members(members: Mapping[str, bytes], *, where: str) -> dict[str, Any]:
    """The manifest of a release, in a format that this version reads, and otherwise unchecked."""
    try:
        manifest = json.loads(
            members[MANIFEST].decode("utf-8"),
            parse_constant=_no_constant,
            object_pairs_hook=_distinct_keys,
        )
    except (ValueError, RecursionError, KeyError):
        raise BadRelease(f"{where} has a manifest that is not readable.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise BadRelease(f"{where} is a zip file, but not a release.")
    version = manifest.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise BadRelease(f"{where} does not say which format it has.")
    if version > FORMAT_VERSION:
        raise BadRelease(
            f"{where} has format {version}, which is newer than this version of discreet reads "
            f"({FORMAT_VERSION}); update discreet."
        )
    return manifest


def release_from_members(members: Mapping[str, bytes], *, where: str = "The file") -> Release:
    """The release that the members spell."""
    manifest = manifest_from_members(members, where=where)
    arrays: dict[int, npt.NDArray[Any]] = {}
    types = _TYPES if manifest["version"] == 1 else (*_TYPES, *_WIDE)
    for name, data in members.items():
        if name.startswith("arrays/"):
            arrays[int(name[7:-4])] = _array_of(data, where, types)
    try:
        return release_of(manifest, arrays)
    except BadRelease as error:
        raise BadRelease(f"{where}: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, OverflowError,
            ZeroDivisionError, DiscreetError) as error:  # fmt: skip
        why = f" {error}" if isinstance(error, DiscreetError) else ""
        raise BadRelease(f"{where} has a manifest that does not make sense.{why}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found


def _array_of(data: bytes, where: str, types: Sequence[str]) -> npt.NDArray[Any]:
    """A plain array, written in one of these types; its declared shape is compared with the bytes there are before it is made."""
    buffer = io.BytesIO(data)
    try:
        if np.lib.format.read_magic(buffer) != (1, 0):
            raise ValueError
        with making_a_tree:
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError, OverflowError):
        raise BadRelease(f"{where} has an array that is not readable.") from None
    count = 1
    for length in shape:
        count *= length
    start = buffer.tell()
    plain = dtype.str in types and not fortran and all(length >= 0 for length in shape)
    if not plain or count * dtype.itemsize != len(data) - start:
        raise BadRelease(f"{where} has an array whose size or type is not what it says.")
    try:
        array = np.frombuffer(data, dtype=dtype, count=count, offset=start).reshape(shape)
        wide = widened(array)
    except (ValueError, TypeError):  # a shape without numbers that no array can have
        raise BadRelease(f"{where} has an array that is not readable.") from None
    if dtype.kind == "b" and count and array.view(np.uint8).max() > 1:
        raise BadRelease(f"{where} has an array whose size or type is not what it says.")
    return wide
