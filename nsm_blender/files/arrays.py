# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays in npz archives: names, types and sizes are read from the headers and limited before anything is unpacked.

Nothing is ever unpickled.
"""

from __future__ import annotations

import io
import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..errors import FileFormatError, UserError
from .reading import read_bytes
from .writing import write_whole

LARGEST_ARCHIVE = 1 << 28
"""Bytes of an archive above which it is refused: twice what an hour of motion at 60 fps takes."""
LARGEST_ARRAYS = 400 << 20
"""Bytes of all arrays of an archive above which they are not unpacked: 2.7 hours of motion at 60 fps."""
_MOST_ENTRIES = 10_000
"""Entries of an archive above which it is refused: ours have twelve."""
_LARGEST_TEXT = 1 << 25
"""Bytes of an array of texts above which it is refused: a motion's longest text, its remarks, takes a few kilobytes."""
_LAST_SIGN = 0x10FFFF
"""Number of the last sign of Unicode."""
_LONGEST_HEADER = 10_000
"""Bytes of an array's header, NumPy's own limit."""
_FORMAT: Any = np.lib.format  # whose stubs lack the limit of the header
_VERSIONS = {(1, 0): _FORMAT.read_array_header_1_0, (2, 0): _FORMAT.read_array_header_2_0}


@dataclass(frozen=True)
class ArraySpec:
    """What an array of an archive may be. kinds: of its type as NumPy's letters, such as "f" or "U". shape: a size, a
    letter for a size that is the same wherever it stands, or None for any. most: entries at most. needed: whether the
    archive must hold it."""

    kinds: str
    shape: tuple[int | str | None, ...]
    most: int = LARGEST_ARRAYS
    needed: bool = True


def read_arrays(
    path: Path | str, what: str, specs: Mapping[str, ArraySpec], error: type[UserError] = FileFormatError
) -> dict[str, Any]:
    """The arrays of an archive that `specs` names, by name; others are not unpacked.

    Numbers are finite. Raises `error`, naming the file and the array, when one is missing, of another type or shape, or
    when the archive is damaged or larger than its limits.
    """
    data = read_bytes(path, what, error, largest=LARGEST_ARCHIVE)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if len(archive.infolist()) > _MOST_ENTRIES:
                raise error(f"{path}: not {what}, as none holds more than {_MOST_ENTRIES} arrays.")
            names = set(archive.namelist())
            missing = [name for name, spec in specs.items() if spec.needed and f"{name}.npy" not in names]
            if missing:
                raise error(f"{path}: not {what}, it lacks {', '.join(missing)}")
            wanted = {name: spec for name, spec in specs.items() if f"{name}.npy" in names}
            infos = {name: archive.getinfo(f"{name}.npy") for name in wanted}
            size = sum(info.file_size for info in infos.values())
            if size > LARGEST_ARRAYS:
                raise error(
                    f"{path}: not {what} that can be read, as its arrays take {size >> 20} MB; "
                    f"{LARGEST_ARRAYS >> 20} MB are the most."
                )
            letters: dict[str, int] = {}
            return {
                name: _read(archive, infos[name], name, spec, letters, path, error) for name, spec in wanted.items()
            }
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        OverflowError,
        EOFError,
        SyntaxError,
        RuntimeError,  # an encrypted entry
        NotImplementedError,
        struct.error,
        tokenize.TokenError,  # NumPy reads an odd header as Python's text
        zipfile.BadZipFile,
        zlib.error,
    ) as mistake:
        raise error(f"{path}: cannot be read as {what} ({mistake or 'it is damaged'})") from mistake


def _read(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    name: str,
    spec: ArraySpec,
    letters: dict[str, int],
    path: Path | str,
    error: type[UserError],
) -> Any:
    """One array; its header is checked before its numbers are unpacked."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise error(f"{path}: '{name}' is packed in a way that is not read")
    with archive.open(info) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers written by Python 2
        version = _FORMAT.read_magic(file)
        if version not in _VERSIONS:
            raise error(f"{path}: '{name}' is no array of a version that is read")
        shape, by_columns, dtype = _VERSIONS[version](file, max_header_size=_LONGEST_HEADER)
        if dtype.hasobject or dtype.kind not in spec.kinds:
            raise error(f"{path}: '{name}' holds values that are not {_words(spec.kinds)}")
        _check_shape(shape, spec, name, letters, path, error)
        count = math.prod(shape)
        largest = _LARGEST_TEXT if dtype.kind == "U" else LARGEST_ARRAYS
        if count > spec.most or count * dtype.itemsize > largest:
            raise error(f"{path}: '{name}' is larger than any that is read")
        left = info.file_size - (file.tell() if file.seekable() else 0)
        if count * dtype.itemsize > left:
            raise error(f"{path}: '{name}' is cut off: its shape {list(shape)} needs more than is there")
        raw = bytearray(count * dtype.itemsize)
        filled = 0
        while filled < len(raw):
            got = cast(io.BufferedIOBase, file).readinto(memoryview(raw)[filled:])
            if not got:
                raise error(f"{path}: '{name}' is cut off")
            filled += got
        file.read(1)  # to the end, where its checksum is compared
    if not raw:  # of no entries, or of texts without signs
        return np.zeros(shape, dtype=dtype if dtype.itemsize else np.dtype("<U1"))
    array = np.frombuffer(raw, dtype=dtype).reshape(shape, order="F" if by_columns else "C")
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise error(f"{path}: '{name}' holds values that are not finite numbers")
    if dtype.kind == "U" and not _is_text(array):
        raise error(f"{path}: '{name}' holds signs that are no text")
    return array


def _is_text(array: Any) -> bool:
    signs = np.frombuffer(array.astype(array.dtype.newbyteorder("=")).tobytes(), dtype=np.uint32)
    return bool(((signs < 0xD800) | ((signs > 0xDFFF) & (signs <= _LAST_SIGN))).all())


def _words(kinds: str) -> str:
    return "texts" if kinds == "U" else "numbers"


def _check_shape(
    shape: tuple[int, ...],
    spec: ArraySpec,
    name: str,
    letters: dict[str, int],
    path: Path | str,
    error: type[UserError],
) -> None:
    fits = len(shape) == len(spec.shape) and all(
        size >= 0 and (want is None or size == (letters.setdefault(want, size) if isinstance(want, str) else want))
        for size, want in zip(shape, spec.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(str(letters.get(w, w) if isinstance(w, str) else w or "any") for w in spec.shape)
        raise error(f"{path}: '{name}' must be ({wanted}), it is {tuple(shape)}")


def map_array(path: Path, what: str, error: type[UserError] = FileFormatError) -> Any:
    """An array of an npy file, read from the disk as it is needed. Raises `error`."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, TypeError, EOFError, OverflowError, SyntaxError) as mistake:
        raise error(f"{path}: cannot be read as {what} ({mistake})") from mistake


def write_array(path: Path, array: Any) -> None:
    """Write an array as an npy file that appears whole or not at all. Raises UserError, see `write_whole`."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    write_whole(path, buffer.getbuffer())


def write_arrays(path: Path | str, arrays: Mapping[str, Any], packed: bool = True) -> None:
    """Write arrays as an npz archive that appears whole or not at all. Raises UserError, see `write_whole`."""
    buffer = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(buffer, **arrays)
    write_whole(path, buffer.getbuffer())
