# SPDX-License-Identifier: GPL-3.0-or-later
"""Add goals: places to go to and things to use.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import math
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, FloatProperty, FloatVectorProperty, StringProperty

from ..nsm_blender import ShotError
from .base import Operation, counted

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class NSM_OT_add_goal(Operation):
    """Add a place to go to at the 3D cursor, or a goal on the active object when that is a collider"""

    bl_idname = "nsm.add_goal"
    bl_label = "Add Goal"
    bl_options = {"REGISTER", "UNDO"}

    attach: BoolProperty(
        name="Use Active Object", description="Put the goal on the active object when that is a collider", default=True
    )
    collider: StringProperty(
        name="Collider", description="Name of the collider to use, instead of the active object", options={"SKIP_SAVE"}
    )
    location: FloatVectorProperty(
        name="Location",
        description="The place in the world; the 3D cursor when it is not given",
        subtype="TRANSLATION",
        size=3,
        options={"SKIP_SAVE"},
    )
    use_facing: BoolProperty(
        name="Facing", description="Set the facing at the end", default=True, options={"SKIP_SAVE"}
    )
    facing: FloatProperty(
        name="Angle",
        description="Facing at the end: 0 along -Y, counter-clockwise as seen from above",
        subtype="ANGLE",
        soft_min=-math.pi,
        soft_max=math.pi,
        options={"SKIP_SAVE"},
    )
    name: StringProperty(name="Name", description="Name of the goal", options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Objects are added in object mode."""
        if context.mode not in ("OBJECT", "POSE"):
            cls.poll_message_set("Go to object mode first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Add it, selected; a character stays the active object, so that its keys stay in view."""
        from ..scene import goals

        goal = self._add(context)
        if self.name:
            goal.name = self.name
        goals.select(context, goal)
        self.report({"INFO"}, f"Added '{goal.name}'")
        return {"FINISHED"}

    def _add(self, context: bpy.types.Context) -> bpy.types.Object:
        from ..scene import goals

        uses = self._collider(context)
        given = self.properties.is_property_set("location")
        facing = self.facing if self.use_facing else None
        if uses is None:
            place = self.location if given else context.scene.cursor.location
            return goals.add(context, place, facing, None)
        if given:
            facing = facing if self.properties.is_property_set("facing") else None
            return goals.add(context, self.location, facing, uses, by_place=True)
        return goals.add_on(context, uses)

    def _collider(self, context: bpy.types.Context) -> bpy.types.Object | None:
        """The collider that is meant. Raises ShotError when the named object is no collider."""
        from ..scene import colliders

        if self.collider:
            named = bpy.data.objects.get(self.collider)
            if named is None or not colliders.is_collider(named):
                raise ShotError(f"'{self.collider}' is not a collider; wrap it first.")
            return named
        active = context.active_object
        return active if self.attach and active is not None and colliders.is_collider(active) else None


class NSM_OT_mark_goal(Operation):
    """Make the selected empties goals"""

    bl_idname = "nsm.mark_goal"
    bl_label = "Make Goals"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There have to be selected empties."""
        if not any(obj.type == "EMPTY" for obj in context.selected_objects):
            cls.poll_message_set("Select an empty")
            return False
        return True

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Mark them."""
        from ..scene import goals, handles

        empties = [obj for obj in context.selected_objects if obj.type == "EMPTY" and not handles.is_handle(obj)]
        if not empties:
            raise ShotError("The selected empties are handles of a collider; select others.")
        for obj in empties:
            goals.mark(obj)
        self.report({"INFO"}, f"Made {counted(len(empties), 'goal')}")
        return {"FINISHED"}


CLASSES = (NSM_OT_add_goal, NSM_OT_mark_goal)
