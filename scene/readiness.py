# SPDX-License-Identifier: GPL-3.0-or-later
"""What is still missing before a character can be baked, in a few words for buttons and panels.

Only what can be seen at a glance: everything else gets its sentence when the bake is tried.
"""

from __future__ import annotations

import bpy

from . import binding, lookup
from .properties import by_actions, of_object


def missing_for_bake(context: bpy.types.Context) -> str:
    """What to do before pressing Bake; empty when it can be pressed."""
    armature = lookup.character(context)
    reason = missing_for_motion(armature)
    if reason or armature is None:
        return reason
    if by_actions(armature):
        return "" if len(of_object(armature).keys) else "Add an action to the shot first"
    return "" if of_object(armature).path is not None else "Choose or add a path first"


def missing_for_motion(armature: bpy.types.Object | None) -> str:
    """What to do before any motion can be written onto a character; empty when it can."""
    if armature is None:
        return "Select a character's armature first, or add one"
    if armature.library is not None:
        return f"'{armature.name}' is linked from another file; make a library override first"
    if not binding.is_ready(armature):
        return f"'{armature.name}' is not bound yet; press Bind above first"
    return ""
