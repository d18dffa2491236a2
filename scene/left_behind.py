# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices that a motion leaves behind, as they hang on bones that it does not move: boots on a root bone, say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import bpy

from . import carriers
from .rig import Rig

_MOSTLY = 0.5
"""Share of a vertex's weights on bones that stay from which it stays as well."""
_TOLD = 3
"""Bones that a sentence names."""


def sentences(obj: bpy.types.Object, rig: Rig) -> list[str]:
    """What is left behind of each mesh on the armature, a sentence each."""
    still = _still(obj, rig.bones[0])
    out = []
    for mesh in bpy.data.objects if still else ():
        if mesh.type == "MESH" and any(m.type == "ARMATURE" and m.object == obj for m in mesh.modifiers):
            lost = _lost(mesh, still, {bone.name for bone in obj.data.bones if bone.use_deform})
            if lost:
                bones = ", ".join(f"'{name}'" for name, _ in lost.most_common(_TOLD))
                vertices = "1 vertex" if lost.total() == 1 else f"{lost.total():,} vertices"
                out.append(
                    f"Left behind by the motion: {vertices} of '{mesh.name}' with weights on {bones}; weight to bones "
                    "below the hips instead."
                )
    return out


def _still(obj: bpy.types.Object, first: str) -> set[str]:
    """Deforming bones that do not follow the bone that carries the body, and that nothing else moves."""
    below = {first, *(bone.name for bone in obj.data.bones[first].children_recursive)}
    return {
        bone.name
        for bone in obj.data.bones
        if bone.use_deform and bone.name not in below and carriers.is_free(obj, [bone.name])
    }


def _lost(mesh: bpy.types.Object, still: Collection[str], deforming: Collection[str]) -> Counter[str]:
    """How many vertices each bone that stays keeps."""
    names = [group.name for group in mesh.vertex_groups]
    stays = {index for index, name in enumerate(names) if name in still}
    moves = {index for index, name in enumerate(names) if name in deforming} - stays
    out: Counter[str] = Counter()
    if not stays:
        return out
    for vertex in mesh.data.vertices:
        weights = {element.group: element.weight for element in vertex.groups if element.group in stays | moves}
        held = {group: weight for group, weight in weights.items() if group in stays and weight > 0}
        if held and sum(held.values()) > _MOSTLY * sum(weights.values()):
            out[names[max(held, key=lambda group: held[group])]] += 1
    return out
