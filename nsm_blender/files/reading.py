# SPDX-License-Identifier: GPL-3.0-or-later
"""Text and JSON files from outside: their size, nesting and number of values are limited before they are parsed."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ..errors import FileFormatError, UserError

Json = TypeVar("Json")

LARGEST_JSON = 1 << 26
"""Bytes above which a JSON file is refused: twice a shot of an hour at 60 fps among ten things, a third of the memory
that a reader may take."""
LARGEST_TEXT = 1 << 28
"""Bytes above which a motion or mesh file in text is refused: an hour of 25 joints at 60 fps takes 150 MB."""
MOST_VALUES = 5_000_000
"""Values and containers of a JSON file above which it is refused: each takes up to 80 bytes once it is parsed."""
DEEPEST = 32
"""Levels of nesting above which JSON is refused: the deepest file of ours, a model card, has six."""
_BLOCK = 1 << 20
"""Bytes of text that are decoded at once, so that a recording is never held as words."""
_LONGEST_LINE = 1 << 22
"""Bytes of a line above which a text file is refused: a frame of 10,000 channels takes 200 KB."""
_LONGEST_WORD = 40
"""Signs of a wrong word that a message shows."""
_LONG_WORD = re.compile(rf"[^\s/\\]{{{_LONGEST_WORD + 4},}}")
_KINDS: dict[type, str] = {dict: "a JSON object", list: "a JSON list"}


def read_json(path: Path | str, kind: type[Json], what: str, error: type[UserError] = FileFormatError) -> Json:
    """The value that a JSON file holds.

    kind: dict, list, or object for both. what: what the file shall be, as "a shot", for the sentence. Raises `error`
    when the file cannot be read, is too large, nested too deep, or holds something else, NaN among them.
    """
    return parse_json(read_text(path, what, error), kind, what, str(path), error)


def parse_json(text: str, kind: type[Json], what: str, source: str, error: type[UserError] = FileFormatError) -> Json:
    """The value that JSON text holds; `source` says where the text is from. See `read_json`."""
    if len(text) > LARGEST_JSON:
        raise error(f"{source}: not {what}, as none is {len(text) >> 20} MB large.")
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        raise error(f"{source}: not {what}, as none holds more than {MOST_VALUES:,} values.")
    try:
        content = json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_no_constant)
    except json.JSONDecodeError as mistake:
        raise error(f"{source}, line {mistake.lineno}: not {what}, as it is not JSON ({mistake.msg}).") from mistake
    except RecursionError as mistake:
        raise error(f"{source}: not {what}, as it is nested more than {DEEPEST} levels deep.") from mistake
    except ValueError as mistake:
        raise error(f"{source}: not {what}, as it is not JSON ({mistake}).") from mistake
    if _deeper(content, DEEPEST):
        raise error(f"{source}: not {what}, as it is nested more than {DEEPEST} levels deep.")
    if not isinstance(content, kind):
        raise error(f"{source}: not {what}, which would be {_KINDS[kind]}.")
    return content


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise ValueError(f"the key '{name[:40]}' is there twice")
        content[name] = value
    return content


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _deeper(content: object, levels: int) -> bool:
    """Whether JSON's plain data are nested deeper than so many levels."""
    layer = [content]
    for _ in range(levels):
        inner: list[object] = []
        for value in layer:
            if isinstance(value, dict):
                inner += [v for v in value.values() if isinstance(v, dict | list)]
            elif isinstance(value, list):
                inner += [v for v in value if isinstance(v, dict | list)]
        if not inner:
            return False
        layer = inner
    return True


def read_text(path: Path | str, what: str, error: type[UserError] = FileFormatError, largest: int | None = None) -> str:
    """The text of a file of a sensible size, by default LARGEST_JSON. Raises `error`, see `read_json`."""
    data = read_bytes(path, what, error, largest=LARGEST_JSON if largest is None else largest)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as mistake:
        raise error(f"{path}: not {what}, as it is not UTF-8 text.") from mistake


def read_bytes(path: Path | str, what: str, error: type[UserError] = FileFormatError, *, largest: int) -> bytes:
    """The bytes of a file of a sensible size. Raises `error` when it is no file, such as a folder or a pipe, cannot be
    read, or is larger."""
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode):
            raise error(f"{path}: cannot be read as {what}, as it is no file.")
        if found.st_size > largest:
            raise error(
                f"{path}: not {what} that can be read, as it is {found.st_size >> 20} MB large; "
                f"{largest >> 20} MB are the most."
            )
        with Path(path).open("rb") as file:
            data = file.read(largest + 1)
    except FileNotFoundError as mistake:
        raise error(f"{path}: cannot be read as {what}; there is no such file.") from mistake
    except (OSError, ValueError) as mistake:  # ValueError: a name with a zero byte
        raise error(f"{path}: cannot be read as {what} ({reason(mistake)}).") from mistake
    if len(data) > largest:
        raise error(f"{path}: not {what} that can be read, as it grows while it is read.")
    return data


def is_file(path: Path) -> bool:
    """Whether there is a file that can be looked at; not so where the name is too long or a folder above is closed."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """The same of a folder."""
    try:
        return path.is_dir()
    except OSError:
        return False


def shortened(sentence: str) -> str:
    """A sentence of which no word is longer than _LONGEST_WORD signs, for messages that show what a file holds."""
    return _LONG_WORD.sub(lambda word: word[0][:_LONGEST_WORD] + "...", sentence)


def reason(mistake: Exception) -> str:
    """Why the system refused, in a few words."""
    return str(getattr(mistake, "strerror", None) or mistake)


class TextLines:
    """The lines of a text file with any line ends, with or without a byte order mark, decoded a block at a time.

    Can be gone through again and again, from any line on. Raises FileFormatError when the file cannot be read, is
    larger than LARGEST_TEXT, has a line longer than any recording's, or is not text.
    """

    def __init__(self, path: Path, what: str) -> None:
        data = read_bytes(path, what, largest=LARGEST_TEXT)
        if b"\0" in data:
            raise FileFormatError(f"{path}: not a text file")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._path, self._data = path, data
        self._start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        self._encoding = "utf-8" if _is_utf8(data) else "latin-1"  # old exporters write names in the system's code page
        self.total = data.count(b"\n") + 1

    def __iter__(self) -> Iterator[str]:
        """All lines, without their ends."""
        for block in self.blocks():
            yield from block

    def blocks(self, first: int = 0) -> Iterator[list[str]]:
        """The lines from number `first` on, counted from 0, as lists of about a megabyte."""
        data, start = self._data, self._start
        for _ in range(first):
            start = data.find(b"\n", start) + 1
            if not start:
                return
        while start <= len(data):
            end = data.rfind(b"\n", start, start + _BLOCK)
            if end < 0 and (end := data.find(b"\n", start, start + _LONGEST_LINE)) < 0:
                end = len(data)
                if end - start > _LONGEST_LINE:
                    raise FileFormatError(f"{self._path}: not a text file of a recording or mesh: a line has no end")
            yield data[start:end].decode(self._encoding).split("\n")
            start = end + 1

    def holds(self, sign: bytes, first: int) -> bool:
        """Whether the lines from number `first` on hold a sign."""
        start = self._start
        for _ in range(first):
            start = self._data.find(b"\n", start) + 1
        return self._data.find(sign, start) >= 0


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
