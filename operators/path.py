# SPDX-License-Identifier: GPL-3.0-or-later
"""Add a curve to walk along, and give a curve to the character."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..nsm_blender import ShotError
from ..scene import lookup
from ..scene.properties import animate_by, of_object
from .base import Operation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class NSM_OT_add_path(Operation):
    """Add a curve that begins where the character stands, and let it walk along it; without one, at the 3D cursor"""

    bl_idname = "nsm.add_path"
    bl_label = "Add Path"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Objects are added in object mode."""
        if context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Add the curve; it becomes active, and the path of the character if there is one."""
        from ..scene import curves

        armature = lookup.character(context)
        context.view_layer.update()
        start = context.scene.cursor.location if armature is None else armature.matrix_world.translation
        curve = curves.add_path(context, start)
        if armature is not None:
            _give(armature, curve)
        return {"FINISHED"}


class NSM_OT_assign_path(Operation):
    """Let the character walk along the selected curve"""

    bl_idname = "nsm.assign_path"
    bl_label = "Use Selected Curve as Path"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character, and a selected curve."""
        if lookup.character(context) is None:
            cls.poll_message_set("Select a character's armature first")
        elif not any(obj.type == "CURVE" for obj in context.selected_objects):
            cls.poll_message_set("Select a curve first")
        else:
            return True
        return False

    def run(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Assign the one selected curve."""
        selected = [obj for obj in context.selected_objects if obj.type == "CURVE"]
        if len(selected) != 1:
            raise ShotError(f"{len(selected)} curves are selected; select one, together with the armature.")
        armature = lookup.character(context)
        assert armature is not None
        _give(armature, selected[0])
        return {"FINISHED"}


def _give(armature: bpy.types.Object, curve: bpy.types.Object) -> None:
    """Let a character walk along a curve, and the next bake too."""
    of_object(armature).path = curve
    animate_by(armature, "PATH")


CLASSES = (NSM_OT_add_path, NSM_OT_assign_path)
