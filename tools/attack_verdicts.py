# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the extension did well under attack: all done, or refused in words with nothing left behind."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from typing import Any

from attack_scenes import names

SECONDS = 10.0
"""Seconds of processor time of a case above which it is wrong, without the making of its scene."""
LONGEST = 600
"""Characters of a sentence that refuses."""


def refusal(error: Exception, before: dict[str, set[int]], start: float) -> tuple[str, str]:
    """The verdict on an exception."""
    import bpy

    told = str(error)
    user = any(base.__name__ == "UserError" for base in type(error).__mro__)
    # A button that cannot be pressed says why, unless Blender speaks for it.
    pressed = told.startswith(("Error: ", "Warning: ")) or (".poll() " in told and ".poll() failed" not in told)
    reported = isinstance(error, RuntimeError) and pressed and "Traceback" not in told
    if not (user or reported) or len(told) > LONGEST or not told.strip():
        return "wrong", "".join(traceback.format_exception(error))[-800:]
    left = {kind: some_left for kind, blocks in names().items() if (some_left := blocks - before[kind])}
    if left:
        blocks = {kind: [b.name for b in getattr(bpy.data, kind) if b.session_uid in left[kind]] for kind in left}
        return "wrong", f"left behind {blocks} after: {told}"
    verdict, late = timed(start)
    return ("refused", told) if verdict == "well" else (verdict, late)


def timed(start: float) -> tuple[str, str]:
    """Well, unless it took too long."""
    seconds = time.process_time() - start
    return ("wrong", f"took {seconds:.0f} s") if seconds > SECONDS else ("well", "")


def operated(kind: str, operator: Callable[[], Any]) -> tuple[str, str, str]:
    """An operator's verdict."""
    before, start = names(), time.process_time()
    try:
        operator()
    except Exception as error:  # noqa: BLE001 - judged
        return (kind, *refusal(error, before, start))
    return (kind, *timed(start))
