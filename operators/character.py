# SPDX-License-Identifier: GPL-3.0-or-later
"""Adding the bundled character."""

from __future__ import annotations

import bpy

from ..scene.mannequin import add_mannequin


class NSM_OT_add_character(bpy.types.Operator):
    """Add the bundled mannequin, 1.75 m tall, at the 3D cursor, ready to bake"""

    bl_idname = "nsm.add_character"
    bl_label = "Add Mannequin"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if context.mode != "OBJECT":
            cls.poll_message_set("Switch to object mode to add a character")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        if context.collection is not None and not context.collection.is_editable:
            self.report({"ERROR"}, f"The collection '{context.collection.name}' is linked from another file; choose another.")
            return {"CANCELLED"}
        rig = add_mannequin(context, context.scene.cursor.location)
        self.report({"INFO"}, f"Added '{rig.name}'.")
        return {"FINISHED"}


CLASSES = (NSM_OT_add_character,)
