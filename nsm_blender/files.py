# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON files that are checked as they are read, and files that are written as a whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TypeVar

from .errors import FileFormatError, UserError

Json = TypeVar("Json")

_LARGEST = 1 << 28
"""Bytes from which a file is refused before it is read: ten times a shot of an hour in a furnished flat."""
_NAMES: dict[type, str] = {dict: "a JSON object", list: "a JSON list"}


def read_json(path: Path | str, kind: type[Json], what: str, error: type[UserError] = FileFormatError) -> Json:
    """The value that a JSON file holds.

    kind: dict, list, or object for both. what: what the file shall be, as "a shot", for the sentence. Raises `error`
    when the file cannot be read, is too large, or holds something else.
    """
    return parse_json(read_text(path, what, error), kind, what, str(path), error)


def parse_json(text: str, kind: type[Json], what: str, source: str, error: type[UserError] = FileFormatError) -> Json:
    """The value that JSON text holds; `source` says where the text is from. See `read_json`."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as mistake:
        raise error(f"{source}, line {mistake.lineno}: not {what}, as it is not JSON ({mistake.msg}).") from mistake
    except (ValueError, RecursionError) as mistake:
        raise error(f"{source}: not {what}, as it is not JSON ({mistake}).") from mistake
    if not isinstance(content, kind):
        raise error(f"{source}: not {what}, which would be {_NAMES[kind]}.")
    return content


def read_text(path: Path | str, what: str, error: type[UserError] = FileFormatError) -> str:
    """The text of a file of a sensible size. Raises `error`, see `read_json`."""
    try:
        size = Path(path).stat().st_size
        if size > _LARGEST:
            raise error(f"{path}: not {what}, as none is {size >> 20} MB large.")
        return Path(path).read_text(encoding="utf-8")
    except OSError as mistake:
        raise error(f"{path}: cannot be read as {what} ({mistake.strerror}).") from mistake
    except UnicodeDecodeError as mistake:
        raise error(f"{path}: not {what}, as it is not UTF-8 text.") from mistake


def write_whole(path: Path, content: bytes | str) -> None:
    """Put `content` at `path` in one step, so that a process that is killed leaves the old file or the new one.

    The content goes to a temporary file beside `path` and to the disk before it takes the name. Raises OSError.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
