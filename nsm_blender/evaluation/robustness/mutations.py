# SPDX-License-Identifier: GPL-3.0-or-later
"""What may happen to a file: bytes flipped and cut, values of JSON and of arrays replaced, keys dropped and doubled."""

from __future__ import annotations

import io
import json
import random
import re
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

_WORDS: tuple[str, ...] = (
    "fast", "", "-1", "0", "nan", "inf", "-inf", "1e308", "1e999", "-1e30", "3.7", "99999999999999999999", "0x10",
    "1,5", "{", "}", "#", "ROOT", "Ä", "\u0000", "9" * 5000, "a" * 70_000,
)  # fmt: skip
"""Words that take the place of a word in a text file."""
_VALUES: tuple[Any, ...] = (
    "fast", "", "x" * 100_000, "\ud800", "../../x", 0, -1, 1, 0.5, 1e30, -1e308, 10**400, 2**63, 30_000_000, 1e9,
    float("nan"), float("inf"), -float("inf"), None, True, False, [], {}, [1], ["a"], {"a": 1}, [[[]]], [0.0] * 3,
    [[0.0, 0.0, 0.0]] * 2, [1e9, 0.0, 0.0],
)  # fmt: skip
"""Values that take the place of a value of JSON."""
_DEPTH = 3000
"""Levels of lists in a value that is nested too deep."""
_MOST_BYTES = 24
"""Bytes that are changed at once at most."""


def mutated(data: bytes, kind: str, rng: random.Random) -> bytes:
    """The bytes of a file, damaged. kind: "json", "npz", "safetensors" or "text", for damage that keeps its form."""
    by_form: dict[str, Callable[[bytes, random.Random], bytes]] = {
        "json": _json,
        "npz": _npz,
        "safetensors": _safetensors,
        "text": _words,
    }
    if rng.random() < 0.3:
        return _bytes(data, rng)
    for _ in range(1 if kind == "npz" else rng.choice((1, 1, 2, 4))):
        data = by_form[kind](data, rng)
    return data


def _bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut off, taken out, doubled or put in."""
    out, at = bytearray(data), rng.randrange(len(data) + 1)
    span = rng.randrange(1, max(len(data) // 4, 2))
    match rng.randrange(6):
        case 0:
            for _ in range(rng.randrange(1, _MOST_BYTES)):
                out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
        case 1:
            del out[at:]
        case 2:
            del out[at : at + span]
        case 3:
            out[at:at] = out[at : at + span]
        case 4:
            out[at:at] = rng.randbytes(rng.randrange(1, _MOST_BYTES))
        case _:
            out[at : at + span] = bytes(len(out[at : at + span]))
    return bytes(out)


def _json(data: bytes, rng: random.Random) -> bytes:
    """A value of JSON replaced or nested too deep, a key dropped, renamed or doubled, a list made longer or shorter."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):  # damaged before
        return _bytes(data, rng) if data else data
    places = list(_places(content))
    if not places:
        return data
    holder, key = places[rng.randrange(len(places))]
    nested = json.dumps("nested too deep")
    match rng.randrange(9):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[rng.choice(("color", "", "__class__", "self"))] = holder.pop(key)
        case 2:
            holder[key] = json.loads(nested)
        case 3 if isinstance(holder[key], list):
            holder[key] = (holder[key] or [0]) * rng.choice((2, 3, 500))
        case 4 if isinstance(holder[key], int | float):
            holder[key] = holder[key] * rng.choice((-1, 1e3, 1e6, 1e12, 1e-12))
        case _:
            holder[key] = rng.choice(_VALUES)
    text = json.dumps(content)
    text = text.replace(nested, rng.choice(("[" * _DEPTH + "]" * _DEPTH, '{"a":' * _DEPTH + "1" + "}" * _DEPTH)))
    if rng.random() < 0.1 and (names := re.findall(r'"\w+": ', text)):
        name = rng.choice(names)
        text = text.replace(name, f"{name}null, {name}", 1)
    return text.encode("utf-8", "surrogatepass")


def _places(content: Any) -> Any:
    """Each holder and key of a value in JSON's plain data; of long lists the first and the last values."""
    waiting = [content]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else [*range(len(holder))][:3] + [*range(len(holder))][3:][-1:]
        for key in keys:
            yield holder, key
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])


def _npz(data: bytes, rng: random.Random) -> bytes:
    """An array dropped, of another type or shape, with odd numbers, pickled, or larger than the file that holds it."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays: dict[str, Any] = {name: np.asarray(archive[name]) for name in archive.files}
    except Exception:  # noqa: BLE001 - damaged before, in whatever way
        return _bytes(data, rng) if data else data
    if not arrays:
        return data
    name = rng.choice(sorted(arrays))
    value = arrays[name]
    lie = None
    match rng.randrange(8):
        case 0:
            del arrays[name]
        case 1:
            kinds = (
                (object, "S30") if value.dtype.kind == "U" else (object, "U30", np.float64, np.int8, bool, np.complex64)
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                arrays[name] = value.astype(rng.choice(kinds))
        case 2:
            arrays[name] = value[..., None] if rng.random() < 0.5 else value.reshape(-1)
        case 3 if value.ndim:
            arrays[name] = value[: rng.randrange(len(value) + 1)]
        case 4 if value.dtype.kind == "f" and value.size:
            arrays[name] = value.copy()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                arrays[name].flat[rng.randrange(value.size)] = rng.choice((np.nan, np.inf, 1e30, -1e30, 0.0))
        case 5 if value.dtype.kind == "U" and not value.ndim:
            arrays[name] = np.array(rng.choice(("", "{", "[]", "null", '{"a": NaN}', "[" * _DEPTH, "\x00")))
        case 6:
            lie = name
        case _:
            arrays[name] = np.zeros(value.shape, value.dtype)
    out = io.BytesIO()
    try:
        np.savez_compressed(out, **arrays)
    except (TypeError, ValueError):
        return data
    return out.getvalue() if lie is None else _lying(out.getvalue(), lie, rng)


def _lying(data: bytes, name: str, rng: random.Random) -> bytes:
    """An archive of which an array's header claims more than there is, or of which zeros unpack to 600 MB."""
    out = io.BytesIO()
    bomb = rng.random() < 0.05
    with (
        zipfile.ZipFile(io.BytesIO(data)) as before,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as after,
    ):
        for entry in before.namelist():
            content = before.read(entry)
            if entry == f"{name}.npy":
                size = rng.choice((10**9, 10**12, 2**62, -5))
                content = re.sub(rb"'shape': \([^)]*\)", f"'shape': ({size},)".encode().ljust(12), content, count=1)
                if bomb:
                    with after.open(entry, "w", force_zip64=True) as file:
                        for _ in range(600):
                            file.write(bytes(1 << 20))
                    continue
            after.writestr(entry, content)
    return out.getvalue()


def _safetensors(data: bytes, rng: random.Random) -> bytes:
    """The header's length or JSON damaged, or a number replaced by one that is not finite."""
    length = int.from_bytes(data[:8], "little")
    if rng.random() < 0.2 or length > len(data):
        lie = rng.choice((0, 1, max(length, 1) - 1, length + 1, 1 << 40, 2**64 - 1))
        return min(lie, 2**64 - 1).to_bytes(8, "little") + data[8:]
    if rng.random() < 0.2:
        return data[: 8 + length] + b"\xff" * 8 + data[16 + length :]
    header = _json(data[8 : 8 + length], rng)
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def _words(data: bytes, rng: random.Random) -> bytes:
    """A word of a text replaced, or a line taken out, doubled, cut or moved."""
    lines = data.decode("latin-1").split("\n")
    # Half of the damage goes to the first lines, where the form is told.
    at = rng.randrange(min(len(lines), 120) if rng.random() < 0.5 else len(lines))
    match rng.randrange(7):
        case 0:
            del lines[at]
        case 1:
            lines[at:at] = [lines[at]] * rng.choice((1, 2, 1000))
        case 2:
            lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
        case 3:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            words = lines[at].split(" ")
            words[rng.randrange(len(words))] = rng.choice(_WORDS)
            lines[at] = " ".join(words)
    return "\n".join(lines).encode("utf-8", "replace")
