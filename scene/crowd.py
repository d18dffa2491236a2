# SPDX-License-Identifier: GPL-3.0-or-later
"""Characters for a crowd: one for each curve, copies of one character that share its meshes and bones."""

from __future__ import annotations

import math

import bpy

from ..nsm_blender.errors import ShotError
from . import lookup
from .properties import of_object

_APART = 2.399963
"""Radians between the first steps of one copy and the next: the golden angle, after which none are alike."""
_VARIED = {"frequency": (0.04, 0.6180339), "duration": (0.03, 0.7548777), "sway": (0.25, 0.5698403)}
"""Settings of a copy's steps: the largest share by which they differ from the original's, less than people's gaits
differ; and the step from one copy to the next, numbers whose multiples never repeat (of the golden ratio in one and
two dimensions)."""


def cast(context: bpy.types.Context) -> list[tuple[bpy.types.Object, bpy.types.Object | None]]:
    """The selected curves, in the order of their names, and the selected character that follows each, if any.

    Raises ShotError when no curve is selected.
    """
    selected = sorted(context.selected_objects, key=lambda obj: obj.name)
    ways = [obj for obj in selected if obj.type == "CURVE"]
    if not ways:
        raise ShotError("No curve is selected; select one for each character.")
    armatures = [obj for obj in selected if obj.type == "ARMATURE"]
    return [(way, next((a for a in armatures if of_object(a).path == way), None)) for way in ways]


def model(context: bpy.types.Context) -> bpy.types.Object:
    """The character that a crowd's others are copies of. Raises ShotError when there is none."""
    found = lookup.character(context)
    if found is None:
        selected = [obj for obj in context.selected_objects if obj.type == "ARMATURE"]
        found = selected[0] if selected else None
    if found is None:
        raise ShotError("No character is there to copy; add one with 'Add Mannequin', or select one as well.")
    return found


def copy(
    context: bpy.types.Context, armature: bpy.types.Object, way: bpy.types.Object, number: int
) -> list[bpy.types.Object]:
    """A copy of `armature` and the objects below it that follows `way`, without animation; the armature is first.

    Meshes, materials and bones are shared with the original. number: copies with different ones do not walk in step.
    """
    collection = context.collection or context.scene.collection
    below = [obj for obj in armature.children_recursive if obj.type in ("MESH", "EMPTY")]
    copies = {obj: obj.copy() for obj in (armature, *below)}
    for obj, made in copies.items():
        collection.objects.link(made)
        if obj.parent in copies:
            made.parent = copies[obj.parent]
            made.matrix_parent_inverse = obj.matrix_parent_inverse
        for modifier in made.modifiers:
            if getattr(modifier, "object", None) in copies:
                modifier.object = copies[modifier.object]
    new = copies[armature]
    new.animation_data_clear()
    settings = of_object(new)
    settings.path = way
    settings.property_unset("report")
    synthesis = settings.manifold.synthesis
    turn = (number + 1) * _APART
    synthesis.phase = (synthesis.phase + turn) % (2 * math.pi)
    # Spread evenly over -1 to 1, however many there are, and each by itself.
    for name, (spread, pace) in _VARIED.items():
        share = 2 * ((number + 1) * pace % 1) - 1
        setattr(synthesis, name, getattr(synthesis, name) * (1 + spread * share))
    return list(copies.values())
