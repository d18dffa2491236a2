# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the work that runs in a window has come.

It is kept here and not in a property: Blender draws all its windows anew whenever one is set, and work that reports
its progress would wait for that.
"""

from __future__ import annotations

from typing import ClassVar


class Progress:
    """What the sidebar's progress bar shows. share: 0..1. redraw_seconds: what drawing the windows took when it was
    last measured; 0 when it is not known."""

    share: ClassVar[float] = 0.0
    text: ClassVar[str] = ""
    redraw_seconds: ClassVar[float] = 0.0
