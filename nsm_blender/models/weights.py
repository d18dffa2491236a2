# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading trained weights: safetensors files with NumPy alone, and the model card beside each.

A safetensors file is the length of a JSON header (8 bytes, little-endian), the header (name -> dtype, shape
and place of each tensor), and the raw arrays. Nothing in it is ever executed or unpickled, and everything is
checked before it is used. Training writes such files with the `safetensors` library.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import WeightsError
from ..files import is_file, parse_json, read_bytes, read_json, shown

Tensors = dict[str, NDArray[np.float32]]

_LENGTH_BYTES = 8
"""Bytes that hold the header's length."""
_LARGEST = 1 << 28
"""Bytes above which a weights file is refused: thirty times the largest of ours; as float32 it takes twice that."""
_MAX_HEADER = 1 << 20
"""Bytes beyond which a header is taken for damage, since ours take about one kilobyte."""
_ITEM_SIZES = {"F16": 2, "BF16": 2, "F32": 4}
"""Bytes of a number of each type that is read."""


def read_tensors(path: Path | str) -> Tensors:
    """All tensors of a safetensors file as float32, by name.

    float16 and bfloat16 are widened, exactly. Raises WeightsError when the file is missing, damaged, holds
    another type of number, or a number that is not finite.
    """
    data = _read(path)
    header, body = _split(data, path)
    tensors: Tensors = {}
    end = 0
    for name, dtype, shape, start, stop in sorted(_entries(header, path), key=lambda entry: entry[3:]):
        if start != end:
            raise _damaged(path, f"tensor '{name:.40}' does not begin where the one before it ends")
        if stop > len(body):
            raise _damaged(path, f"tensor '{name:.40}' reaches beyond the end of the file")
        if stop - start != math.prod(shape) * _ITEM_SIZES[dtype]:
            raise _damaged(path, f"tensor '{name:.40}' has another size than its shape takes")
        tensors[name] = _to_float32(body[start:stop], dtype).reshape(shape)
        if not np.isfinite(tensors[name]).all():
            raise _damaged(path, f"tensor '{name:.40}' holds a number that is not finite")
        end = stop
    if end != len(body):
        raise _damaged(path, f"it has {len(body) - end} bytes after the last tensor")
    return tensors


def check_shapes(
    tensors: Mapping[str, NDArray[Any]], expected: Mapping[str, Sequence[int | str]], path: Path | str
) -> dict[str, int]:
    """Compare the shapes of `tensors` with `expected`; returns the sizes that the letters stand for.

    An expected size is a number, or a name such as "h" that must mean the same size everywhere.
    Raises WeightsError when a tensor is missing or has another shape.
    """
    sizes: dict[str, int] = {}
    for name, shape in expected.items():
        if name not in tensors:
            raise WeightsError(f"{path}: the tensor '{name:.40}' is missing; these weights belong to another model.")
        actual = tensors[name].shape
        fits = len(actual) == len(shape) and all(
            size == (sizes.setdefault(want, size) if isinstance(want, str) else want)
            for size, want in zip(actual, shape, strict=True)
        )
        if not fits:
            wanted = [sizes.get(want, want) if isinstance(want, str) else want for want in shape]
            raise WeightsError(
                f"{path}: the tensor '{name:.40}' has shape {list(actual)} instead of "
                f"[{', '.join(str(want) for want in wanted)}]; these weights belong to another model or version."
            )
    return sizes


def card_path(path: Path | str) -> Path:
    """Where the model card of the weights file `path` lies."""
    return Path(path).with_suffix(".json")


def read_card(path: Path | str) -> dict[str, Any]:
    """The model card beside the weights file `path`; empty when there is none. Raises WeightsError."""
    card = card_path(path)
    if not is_file(card):
        return {}
    return read_json(card, dict, "a model card", WeightsError)


def file_hash(path: Path | str) -> str:
    """Short hash of a file's content, to name the weights that made a motion. Raises WeightsError."""
    return hashlib.sha256(_read(path)).hexdigest()[:16]


def _read(path: Path | str) -> bytes:
    if not is_file(Path(path)):
        raise WeightsError(f"{path}: there is no such weights file; install the extension again.")
    return read_bytes(path, "a weights file", WeightsError, largest=_LARGEST)


def _split(data: bytes, path: Path | str) -> tuple[dict[str, Any], memoryview]:
    """Header and body of a file's content."""
    if len(data) < _LENGTH_BYTES:
        raise _damaged(path, "it is too short to be a safetensors file")
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if length > min(_MAX_HEADER, len(data) - _LENGTH_BYTES):
        raise _damaged(path, f"its header claims a length of {length} bytes")
    body_start = _LENGTH_BYTES + length
    try:
        text = data[_LENGTH_BYTES:body_start].decode("utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(path, "its header cannot be read as text") from error
    header = parse_json(text, dict, "the header of a weights file", f"{path}", WeightsError)
    return header, memoryview(data)[body_start:]


def _entries(header: dict[str, Any], path: Path | str) -> list[tuple[str, str, tuple[int, ...], int, int]]:
    """(name, dtype, shape, start, stop) of each tensor, with types and signs checked."""
    entries = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if not isinstance(entry, dict) or not entry.keys() >= {"dtype", "shape", "data_offsets"}:
            raise _damaged(path, f"tensor '{name:.40}' is not described completely")
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(dtype, str) or dtype not in _ITEM_SIZES:
            raise WeightsError(
                f"{path}: tensor '{name:.40}' is of type {shown(dtype)}; only F16, BF16 and F32 are supported."
            )
        if not _are_counts(shape):
            raise _damaged(path, f"tensor '{name:.40}' has the shape {shown(shape)}")
        if not _are_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
            raise _damaged(path, f"tensor '{name:.40}' has the offsets {shown(offsets)}")
        entries.append((name, dtype, tuple(shape), offsets[0], offsets[1]))
    return entries


def _are_counts(values: Any) -> bool:
    # type() instead of isinstance: JSON's true and false would pass as 1 and 0.
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _to_float32(raw: memoryview, dtype: str) -> NDArray[np.float32]:
    if dtype == "BF16":  # the upper half of a float32
        return (np.frombuffer(raw, dtype="<u2").astype(np.uint32) << np.uint32(16)).view(np.float32)
    return np.frombuffer(raw, dtype="<f2" if dtype == "F16" else "<f4").astype(np.float32)


def _damaged(path: Path | str, what: str) -> WeightsError:
    return WeightsError(f"{path}: the weights file is damaged: {what}; install the extension again.")
