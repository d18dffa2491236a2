# SPDX-License-Identifier: GPL-3.0-or-later
"""Adding the bundled character."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..scene.mannequin import add_mannequin

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class NSM_OT_add_character(bpy.types.Operator):
    """Add the bundled mannequin, 1.75 m tall, at the 3D cursor, ready to bake"""

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

    def execute(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Add it to the active collection, selected and active."""
        collection = context.collection
        if collection is not None and not collection.is_editable:
            self.report({"ERROR"}, f"The collection '{collection.name}' is linked from another file; choose another.")
            return {"CANCELLED"}
        rig = add_mannequin(context, context.scene.cursor.location)
        self.report({"INFO"}, f"Added '{rig.name}'.")
        return {"FINISHED"}


CLASSES = (NSM_OT_add_character,)
