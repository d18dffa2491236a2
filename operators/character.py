# SPDX-License-Identifier: GPL-3.0-or-later
"""Adding the bundled character."""

from __future__ import annotations

import bpy

from ..nsm_blender import UserError
from .base import Operation


class NSM_OT_add_character(Operation, bpy.types.Operator):
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
        if layer.exclude or not layer.is_visible:
            raise UserError(f"The collection '{layer.collection.name}' is hidden; show it or choose another.")
        rig = add_mannequin(context, free_place.near(context, context.scene.cursor.location))
        self.report({"INFO"}, f"Added '{rig.name}'")
        return {"FINISHED"}


CLASSES = (NSM_OT_add_character,)
