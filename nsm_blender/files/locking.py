# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder for one writer at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import UserError
from .reading import reason

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

LOCK = ".lock"
"""File in a folder that is locked while the folder is written; the system frees it when its process ends, however."""
_PATIENCE = 600.0
"""Seconds after which a writer gives up waiting for another: an import of a thousand clips writes for two minutes."""
_AGAIN = 0.05
"""Seconds between two tries."""


@contextmanager
def locked(folder: Path, patience: float = _PATIENCE) -> Iterator[None]:
    """Keep other processes from writing into a folder, which is there, until the block ends; waits for them first.

    Raises UserError when another process still writes after `patience` seconds, or the folder cannot be written.
    """
    try:
        number = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written into ({reason(error)}).") from error
    try:
        end = time.monotonic() + patience
        while not _taken(number):
            if time.monotonic() > end:
                raise UserError(f"{folder}: another process writes into it; try again when that one is done.")
            time.sleep(_AGAIN)
        yield
    finally:
        os.close(number)  # which frees the lock


if os.name == "nt":

    def _taken(number: int) -> bool:
        """Try to lock an open file."""
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

else:

    def _taken(number: int) -> bool:
        """Try to lock an open file."""
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
