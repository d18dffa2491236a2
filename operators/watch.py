# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps list, timeline and dope sheet of the action keys alike while an animator moves one of them.

Blender has no message for a moved marker, so a timer looks, between the animator's operations.
"""

from __future__ import annotations

import bpy

from ..scene import keys, lookup, schedule

_PAUSE = 0.5
"""Seconds between two looks."""


def start() -> None:
    """Start the timer; without a window no marker is moved by hand."""
    if not bpy.app.background:
        bpy.app.timers.register(_look, first_interval=_PAUSE, persistent=True)


def stop() -> None:
    """Look no longer."""
    if bpy.app.timers.is_registered(_look):
        bpy.app.timers.unregister(_look)


def _look() -> float:
    """Runs from Blender's timer."""
    context = bpy.context
    # What an operator holds, such as a keyframe that is being dragged, must not be written to.
    windows = context.window_manager.windows
    busy = any(window.modal_operators for window in windows)
    if not busy and context.scene is not None and context.scene.library is None:
        for armature in lookup.armatures(context.scene):
            is_ours = armature.library is None and keys.of_character(armature)
            if is_ours and not schedule.is_current(context.scene, armature):
                schedule.update(context.scene, armature)
                for area in (area for window in windows for area in window.screen.areas):
                    area.tag_redraw()
    return _PAUSE
