# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


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
