# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of ours: whole or not at all, and the old file is kept on any failure.

The content goes to a temporary file beside, is flushed to the disk, and takes the name in one step. A link is never
written through: it is refused, as the file that it points to may be anybody's.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from pathlib import Path

from ..errors import UserError
from .reading import is_folder, reason

_ABANDONED = 60.0
"""Seconds after its last change from which a temporary file counts as left by a process that was killed: a write ends
within a second or two."""
_LONGEST = 40
"""Characters of a file's name that its temporary file takes over, so that no name gets too long."""


def write_whole(path: Path | str, content: bytes | memoryview | str) -> None:
    """Put `content` at `path` in one step: whatever stops the process leaves the old file or the new one.

    Raises UserError, with the old file as it was, when the place cannot be written, the disk is full, or the name is
    that of a link, a folder or a device.
    """
    path = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        mode = _mode_of(path)
        temporary, number = _claim(path)
        try:
            with open(number, "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                temporary.chmod(mode)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise UserError(f"{path}: cannot be written ({reason(error)}).") from error


def check_writable(path: Path | str) -> None:
    """Raise UserError when `write_whole` could not put a file at `path`; to be called before the work begins.

    Folders that are missing count as writable when they could be made. Nothing is left behind.
    """
    path = Path(path)
    try:
        _mode_of(path)
        if is_folder(path.parent):
            temporary, number = _claim(path)
            os.close(number)
            temporary.unlink()
        else:
            check_folder(path.parent)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be written ({reason(error)}).") from error


def check_folder(folder: Path | str) -> None:
    """Raise UserError when files could not be put into a folder, which is there or can be made; nothing is left
    behind."""
    folder = Path(folder).absolute()
    try:
        _check_name(folder)
        present = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
        if not present.is_dir():
            raise UserError(f"{present}: is not a folder to write into.")
        temporary, number = _claim(present / "folder")
        os.close(number)
        temporary.unlink()
    except (OSError, ValueError) as error:
        raise UserError(f"{folder}: cannot be written into ({reason(error)}).") from error


def _check_name(folder: Path) -> None:
    """Raise OSError when a folder's name can be none, such as one that is too long."""
    try:
        folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return


def make_folder(folder: Path | str) -> Path:
    """The folder, made with those above it when it is missing. Raises UserError."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise UserError(f"{folder}: is not a folder to write into.") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{folder}: cannot be made ({reason(error)}).") from error
    return folder


def _mode_of(path: Path) -> int | None:
    """The permissions of the file that is at `path` now, None where there is none. Raises UserError when what is there
    must not be replaced."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(found.st_mode):
        raise UserError(f"{path}: is a link, and links are not written through; give the file itself.")
    if not stat.S_ISREG(found.st_mode):
        raise UserError(f"{path}: cannot be written, as something else than a file has this name.")
    if not os.access(path, os.W_OK):
        raise UserError(f"{path}: is write-protected.")
    return stat.S_IMODE(found.st_mode)


def _claim(path: Path) -> tuple[Path, int]:
    """A new file beside `path` and its descriptor; one that a killed process left behind is taken over."""
    name = path.name[:_LONGEST]
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    usual = path.with_name(f".{name}.part")
    try:
        return usual, os.open(usual, flags, 0o666)
    except FileExistsError:
        # Another process may be done with it just now.
        with contextlib.suppress(FileNotFoundError):
            if time.time() - usual.lstat().st_mtime > _ABANDONED:
                usual.unlink()
    own = path.with_name(f".{name}.{os.getpid()}.{time.monotonic_ns()}.part")
    return own, os.open(own, flags, 0o666)
