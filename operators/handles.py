# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles of colliders and their handles: give, propose again, turn, check.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import math
from typing import TYPE_CHECKING

import bpy
from bpy.props import EnumProperty, FloatProperty

from ..nsm_blender import KINDS, ColliderError, Handles, finished
from ..scene import colliders, handles, meshes
from .base import Operation
from .collider import chosen

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .proposing import Use


class _OnHandles(Operation):
    """Base of operators on the handles of the selected colliders."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a collider, and object mode to add and move empties."""
        if context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
            return False
        if not chosen(context):
            cls.poll_message_set("Select a collider first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Do it to each, and report what is odd afterwards."""
        objects = chosen(context)
        for obj in objects:
            colliders.check_writable(obj)
        notes = []
        from . import proposing

        uses = {obj: self.use(context, obj) for obj in objects}
        for obj, use in uses.items():
            proposing.put(context, obj, use)
            notes += [f"'{obj.name}': {line}" for line in colliders.of(obj).warnings.splitlines()]
        if notes:
            self.report({"WARNING"}, " ".join(notes))
        return {"FINISHED"}

    def use(self, context: bpy.types.Context, obj: bpy.types.Object) -> "Use":
        """The new handles of a selected collider. Nothing is written yet; raises ColliderError."""
        raise NotImplementedError


class NSM_OT_set_role(_OnHandles):
    """Set what the character uses the selected colliders for, and propose the handles of that role"""

    bl_idname = "nsm.set_role"
    bl_label = "Set Collider Role"
    bl_options = {"REGISTER", "UNDO"}

    role: EnumProperty(name="Role", description="What the character uses the objects for", items=colliders.ROLE_ITEMS)

    def use(self, context: bpy.types.Context, obj: bpy.types.Object) -> "Use":
        """Role and handles."""
        from . import proposing

        return finished(proposing.propose(context, obj, self.role, proposing.mesh_of(context, obj)))


class NSM_OT_propose_handles(_OnHandles):
    """Propose the handles of the selected colliders anew from their shape and surroundings"""

    bl_idname = "nsm.propose_handles"
    bl_label = "Propose Handles"
    bl_options = {"REGISTER", "UNDO"}

    def use(self, context: bpy.types.Context, obj: bpy.types.Object) -> "Use":
        """The handles of its role."""
        from . import proposing

        role = colliders.of(obj).role
        if role not in KINDS:
            raise ColliderError(f"'{obj.name}' is {_a(role)}, which has no handles; give it another role.")
        return finished(proposing.propose(context, obj, role, proposing.mesh_of(context, obj)))


class NSM_OT_show_handles(_OnHandles):
    """Show the handles that a copied or linked collider has kept as empties again"""

    bl_idname = "nsm.show_handles"
    bl_label = "Show Handles"
    bl_options = {"REGISTER", "UNDO"}

    def use(self, context: bpy.types.Context, obj: bpy.types.Object) -> "Use":
        """The handles that are stored on the collider."""
        from .proposing import Use

        settings = colliders.of(obj)
        return Use(settings.role, _handles(context, obj), settings.warnings.splitlines())


class NSM_OT_turn_facing(_OnHandles):
    """Turn the facing of the selected colliders' handles, about where they are"""

    bl_idname = "nsm.turn_facing"
    bl_label = "Turn Handles"
    bl_options = {"REGISTER", "UNDO"}

    angle: FloatProperty(
        name="Angle",
        description="How far to turn, counter-clockwise from above; 180 degrees flips",
        subtype="ANGLE",
        default=math.pi,
    )

    def use(self, context: bpy.types.Context, obj: bpy.types.Object) -> "Use":
        """The handles with their facing turned, checked again."""
        from . import proposing

        up = handles.up(meshes.frame_of(context.evaluated_depsgraph_get(), obj))
        turned = handles.turned(_handles(context, obj), self.angle, up)
        return proposing.check(context, obj, proposing.mesh_of(context, obj), turned)


class NSM_OT_check_handles(_OnHandles):
    """Check whether the handles of the selected colliders can be used as they are now"""

    bl_idname = "nsm.check_handles"
    bl_label = "Check Handles"
    bl_options = {"REGISTER", "UNDO"}

    def use(self, context: bpy.types.Context, obj: bpy.types.Object) -> "Use":
        """The handles as they are now, with the warnings of a check."""
        from . import proposing

        return proposing.check(context, obj, proposing.mesh_of(context, obj), _handles(context, obj))


def _handles(context: bpy.types.Context, obj: bpy.types.Object) -> Handles:
    """The handles of `obj` as they are now. Raises ColliderError when it has none."""
    now = handles.read(context.evaluated_depsgraph_get(), obj)
    if now is None:
        raise ColliderError(f"'{obj.name}' has no handles as {_a(colliders.of(obj).role)}; propose them first.")
    return now


def _a(role: str) -> str:
    """A role with its article."""
    return f"an {role}" if role == "obstacle" else f"a {role}"


CLASSES = (
    NSM_OT_set_role,
    NSM_OT_propose_handles,
    NSM_OT_show_handles,
    NSM_OT_turn_facing,
    NSM_OT_check_handles,
)
