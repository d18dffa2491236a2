# SPDX-License-Identifier: GPL-3.0-or-later
"""Add the furnished demo room, and the demo shot in it.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty

from ..nsm_blender import UserError
from ..scene import lookup
from .base import Operation, counted

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class NSM_OT_add_demo_room(Operation):
    """Add a furnished room at the 3D cursor to try goals and action keys in: its pieces are colliders already"""

    bl_idname = "nsm.add_demo_room"
    bl_label = "Add Demo Room"
    bl_options = {"REGISTER", "UNDO"}

    door_open: BoolProperty(
        name="Door Stands Open",
        description="Leave the door open, so that the character can walk in; otherwise an action has to open it",
        default=True,
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Objects are added in object mode."""
        if context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Add it; the selection and the active object stay."""
        from ..scene import room

        collection = context.collection
        if collection is not None and not collection.is_editable:
            raise UserError(f"The collection '{collection.name}' is linked from another file; choose another.")
        made = room.add(context, context.scene.cursor.location, self.door_open)
        self.report({"INFO"}, f"Added a room with {counted(len(made), 'piece')}, all colliders")
        return {"FINISHED"}


class NSM_OT_add_demo_shot(Operation):
    """Make a scene with a character that is to do something, and a camera: press Bake next"""

    bl_idname = "nsm.add_demo_shot"
    bl_label = "Add Demo Shot"
    bl_options = {"REGISTER", "UNDO"}

    place: EnumProperty(
        name="Place",
        description="Where the character is and what it is to do",
        items=(
            ("ROOM", "Furnished Room", "To sit down in an armchair"),
            ("GROUND", "Stairs and Ramp", "To walk up stairs, over a gap, down a ramp and under a low beam"),
        ),
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """A scene is left in object mode, and not while it is baked in."""
        if lookup.baking(context):
            cls.poll_message_set("A bake is running; Esc cancels it")
        elif context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
        elif context.window is None:
            cls.poll_message_set("The demo shot is a new scene, which needs a window")
        else:
            return True
        return False

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Make it; the scene that was shown stays as it is."""
        from ..scene import demo_shot

        rig = demo_shot.add(context, self.place == "GROUND")
        demo_shot.look_through_camera(context.window.screen)
        task = "walk over the course" if self.place == "GROUND" else "sit down"
        self.report({"INFO"}, f"'{rig.name}' is to {task}; press Bake")
        return {"FINISHED"}


CLASSES = (NSM_OT_add_demo_room, NSM_OT_add_demo_shot)
