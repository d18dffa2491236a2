# SPDX-License-Identifier: GPL-3.0-or-later
"""Foot contacts as markers on the timeline, such as "L heel down: Anna", which the animator drags.

A marker is told by its name alone, since Blender 5.0 stores no custom properties on markers; so a copied marker, or
one that the animator adds by that name, counts too. All other markers are the animator's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import bpy
import numpy as np

from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.rotations import Array
from .manifold import of_character

_PARTS = {"LeftFoot": "L heel", "LeftToe": "L toe", "RightFoot": "R heel", "RightToe": "R toe"}
_DOWN, _UP = "down", "up"
_LONGEST_OWNER = 40
"""Characters of the owner's name: Blender cuts a marker's name after 63."""


class Contact(NamedTuple):
    """Scene frames, the last one included, in which a heel or toe, a joint of CONTACT_JOINTS, touches the ground."""

    start: int
    end: int
    joint: str


def show(scene: bpy.types.Scene, armature: bpy.types.Object, contacts: Iterable[Contact]) -> int:
    """Replace the character's markers by those of `contacts`. Returns how many markers there are now."""
    owner = owner_of(scene, armature)
    clear(scene, armature)
    count = 0
    for contact in contacts:
        for frame, edge in ((contact.start, _DOWN), (contact.end + 1, _UP)):
            scene.timeline_markers.new(f"{_PARTS[contact.joint]} {edge}: {owner}", frame=frame)
            count += 1
    return count


def clear(scene: bpy.types.Scene, armature: bpy.types.Object) -> None:
    """Take the character's markers away."""
    for marker in _markers(scene, armature):
        scene.timeline_markers.remove(marker)


def shown(scene: bpy.types.Scene, armature: bpy.types.Object) -> bool:
    """Whether the character has markers."""
    return bool(_markers(scene, armature))


def read(scene: bpy.types.Scene, armature: bpy.types.Object) -> list[Contact]:
    """What the character's markers say, in the order in which the contacts begin.

    A foot is down from a "down" to the next "up"; before a first "up" and after a last "down" it is down as well.
    """
    markers = _markers(scene, armature)
    frames = [marker.frame for marker in markers]
    first, last = min([scene.frame_start, *frames]), max([scene.frame_end, *frames])
    out = []
    for joint, part in _PARTS.items():
        # At one frame "up" comes before "down": the foot that lands where it was goes on standing.
        edges = sorted((m.frame, m.name.startswith(f"{part} {_DOWN}")) for m in markers if m.name.startswith(part))
        start = first if edges and not edges[0][1] else None
        for frame, lands in edges:
            if lands:
                start = frame if start is None else start
            elif start is not None:
                out.append(Contact(start, frame - 1, joint))
                start = None
        if start is not None:
            out.append(Contact(start, last, joint))
    return sorted(contact for contact in out if contact.end >= contact.start)


def names_of(armature: bpy.types.Object) -> set[str]:
    """How the character's markers of contacts are called."""
    owner = of_character(armature).edit.marker_owner
    return {f"{part} {edge}: {owner}" for part in _PARTS.values() for edge in (_DOWN, _UP)} if owner else set()


def with_contacts(motion: Motion, contacts: Iterable[Contact], frames: Array) -> Motion:
    """The motion, at the scene frames (F,), with these contacts."""
    labels = np.zeros_like(motion.contacts)
    for contact in contacts:
        inside = (frames >= contact.start) & (frames <= contact.end)
        labels[inside, motion.contact_names.index(contact.joint)] = 1
    return replace(motion, contacts=labels)


def owner_of(scene: bpy.types.Scene, armature: bpy.types.Object) -> str:
    """What the markers call the character: its name when they are made, kept when it is renamed later.

    Another character that was copied or named like it keeps its own markers.
    """
    edit = of_character(armature).edit
    others = {
        of_character(obj).edit.marker_owner for obj in scene.objects if obj.type == "ARMATURE" and obj != armature
    }
    wanted = edit.marker_owner or armature.name[:_LONGEST_OWNER]
    number = 1
    edit.marker_owner = wanted
    while edit.marker_owner in others:
        number += 1
        edit.marker_owner = f"{wanted} {number}"
    owner: str = edit.marker_owner
    return owner


def _markers(scene: bpy.types.Scene, armature: bpy.types.Object) -> list[bpy.types.TimelineMarker]:
    names = names_of(armature)
    return [marker for marker in scene.timeline_markers if marker.name in names]
