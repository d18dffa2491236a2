# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking around while an operator of ours is modal: which events go on to Blender, and where the mouse is."""

from __future__ import annotations

import bpy

from ..scene.picking import View

_MOUSE = {"MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE", "WHEELINMOUSE", "WHEELOUTMOUSE"}
_PAD = {"TRACKPADPAN", "TRACKPADZOOM", "MOUSEROTATE", "MOUSESMARTZOOM"}
_DEVICE = {"NDOF_MOTION"}
_KEYS = {f"NUMPAD_{digit}" for digit in range(1, 10)} | {"NUMPAD_PLUS", "NUMPAD_MINUS", "NUMPAD_PERIOD"}
_CAMERA = "NUMPAD_0"
"""With other keys held it sets the scene's camera, which is more than looking."""
HINT = "Middle Mouse, Wheel: View"
"""What the status bar says of it."""


def is_navigation(context: bpy.types.Context, event: bpy.types.Event) -> bool:
    """Whether an event only changes how a 3D viewport looks at the scene: it may go on to Blender while we work.

    Above other editors the same events change frames and values, and a camera that is locked to its view is moved.
    """
    found = _under(context, event)
    if found is None:
        return False
    space = found[0].spaces.active
    if space.lock_camera and space.region_3d.view_perspective == "CAMERA":
        return False
    held = event.ctrl or event.alt or event.shift or event.oskey
    if event.type == _CAMERA:
        return not held
    if event.type.startswith("WHEEL") or event.type in _KEYS:
        return not event.alt
    return event.type in _MOUSE | _PAD | _DEVICE


def view_under(context: bpy.types.Context, event: bpy.types.Event) -> View | None:
    """The 3D viewport under the mouse; None above anything else."""
    found = _under(context, event)
    return None if found is None else View(found[1], found[0].spaces.active.region_3d)


def _under(context: bpy.types.Context, event: bpy.types.Event) -> tuple[bpy.types.Area, bpy.types.Region] | None:
    """Area and window region of the viewport under the mouse."""
    x, y = event.mouse_x, event.mouse_y
    for area in context.window.screen.areas:
        if area.type != "VIEW_3D" or not _holds(area, x, y):
            continue
        over = [region for region in area.regions if _holds(region, x, y)]
        # Sidebar and header lie over the view.
        if len(over) == 1 and over[0].type == "WINDOW":
            return area, over[0]
    return None


def _holds(part: bpy.types.Area | bpy.types.Region, x: int, y: int) -> bool:
    return bool(part.x <= x < part.x + part.width and part.y <= y < part.y + part.height)
