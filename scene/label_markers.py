# SPDX-License-Identifier: GPL-3.0-or-later
"""Gaits of a capture as markers on the timeline, such as "Walk: Anna", and "? ..." where a person should look.

Like the markers of contacts they are told by their names alone, so that they can be dragged, renamed, copied and
deleted. A gait holds until the next marker, the first also before it.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..nsm_blender.errors import LabelError
from ..nsm_blender.motion.gait import GAITS
from . import contact_markers

_DOUBT = "? "
"""What the markers of doubtful frames begin with."""
_LONGEST = 63
"""Bytes of a marker's name at most."""
_NAMES = {gait.capitalize(): gait for gait in GAITS}


def show(
    scene: bpy.types.Scene,
    armature: bpy.types.Object,
    gaits: Iterable[tuple[int, str]],
    doubts: Iterable[tuple[int, str]],
) -> None:
    """Add markers: a frame and a gait each, and a frame and a reason each."""
    owner = contact_markers.owner_of(scene, armature)
    for frame, gait in gaits:
        scene.timeline_markers.new(f"{gait.capitalize()}: {owner}", frame=frame)
    for frame, reason in doubts:
        room = _LONGEST - len(f"{_DOUBT}: {owner}".encode())
        scene.timeline_markers.new(f"{_DOUBT}{reason[:room]}: {owner}", frame=frame)


def clear(scene: bpy.types.Scene, armature: bpy.types.Object) -> None:
    """Take the markers of gaits and doubts away; those that were renamed to no gait are the animator's own."""
    for marker, text in _markers(scene, armature):
        if text in _NAMES or text.startswith(_DOUBT):
            scene.timeline_markers.remove(marker)


def read(scene: bpy.types.Scene, armature: bpy.types.Object) -> list[tuple[int, str]]:
    """Frames and gaits of the markers, in order. Raises LabelError that says what does not fit."""
    found: dict[int, str] = {}
    for marker, text in sorted(_markers(scene, armature), key=lambda pair: pair[0].frame):
        if text.startswith(_DOUBT):
            continue
        gait = _NAMES.get(text.strip().capitalize())
        if gait is None:
            raise LabelError(
                f"The marker '{marker.name}' at frame {marker.frame} names no gait; rename it to one of "
                f"{', '.join(_NAMES)}, or delete it."
            )
        if found.get(marker.frame, gait) != gait:
            raise LabelError(
                f"At frame {marker.frame} there are markers of two gaits, {found[marker.frame].capitalize()} and "
                f"{gait.capitalize()}; move or delete one of them."
            )
        found[marker.frame] = gait
    if not found:
        raise LabelError(
            f"'{armature.name}' has no gait marker any more; add one such as "
            f"'Walk: {contact_markers.owner_of(scene, armature)}', or import the capture again."
        )
    return sorted(found.items())


def _markers(scene: bpy.types.Scene, armature: bpy.types.Object) -> list[tuple[bpy.types.TimelineMarker, str]]:
    """The character's markers, but those of edits' contacts, with their names without the character's."""
    end = f": {contact_markers.owner_of(scene, armature)}"
    others = set(contact_markers.names_of(armature))
    return [
        (marker, marker.name.removesuffix(end))
        for marker in scene.timeline_markers
        if marker.name.endswith(end) and marker.name not in others
    ]
