# SPDX-License-Identifier: GPL-3.0-or-later
"""Add the bundled character, and pick the character that the sidebar is about.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import bpy
from bpy.props import StringProperty

from ..nsm_blender import UserError
from ..scene import lookup
from .base import Operation


class NSM_OT_add_character(Operation):
    """Add the bundled mannequin, 1.75 m tall, ready to bake, at the 3D cursor or beside what stands there"""

    bl_idname = "nsm.add_character"
    bl_label = "Add Mannequin"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Objects are added in object mode."""
        if context.mode != "OBJECT":
            cls.poll_message_set("Switch to object mode to add a character")
            return False
        return True

    def run(self, context: bpy.types.Context) -> set[str]:
        """Add it to the active collection, selected and active."""
        from ..scene import free_place
        from ..scene.mannequin import add_mannequin

        collection = context.collection
        if collection is not None and not collection.is_editable:
            raise UserError(f"The collection '{collection.name}' is linked from another file; choose another.")
        layer = context.view_layer.active_layer_collection
        # The scene's own collection is always shown, whatever a new scene says of it.
        if layer != context.view_layer.layer_collection and (layer.exclude or not layer.is_visible):
            raise UserError(f"The collection '{layer.collection.name}' is hidden; show it or choose another.")
        rig = add_mannequin(context, free_place.near(context, context.scene.cursor.location))
        self.report({"INFO"}, f"Added '{rig.name}'")
        return {"FINISHED"}


class NSM_OT_pick_character(Operation):
    """Animate this character from now on, and select it"""

    bl_idname = "nsm.pick_character"
    bl_label = "Pick Character"
    bl_options = {"REGISTER", "UNDO"}

    name: StringProperty(name="Name", description="Name of the armature", options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Objects are selected in object mode."""
        if context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> set[str]:
        """Select it, or only note it where it cannot be selected."""
        armature = context.scene.objects.get(self.name)
        if armature is None or armature.type != "ARMATURE":
            raise UserError(f"There is no armature '{self.name}' in this scene.")
        context.scene.nsm.character = armature.name
        lookup.activate(context, armature.session_uid)
        return {"FINISHED"}


CLASSES = (NSM_OT_add_character, NSM_OT_pick_character)
