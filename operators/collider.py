# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrap objects into colliders, refresh them, take them away, select them by role.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty

from ..scene import colliders, handles, lookup
from .base import Operation, counted
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .collider_job import RefreshJob, WrapJob

_AUTO = ("AUTO", "Automatic", "Guess from the shape", "VIEWZOOM", 100)


class _ColliderJob(JobOperation):
    """Base of operators that turn shapes into cuboids."""

    doing = "Wrapping"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Meshes are read as they are in object mode."""
        if lookup.baking(context):
            cls.poll_message_set("A bake is running; Esc cancels it")
            return False
        if context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
            return False
        return True

    def tell(self, done: str, notes: list[str]) -> None:
        """The one report: what was done and what the user should know."""
        if notes:
            self.report({"WARNING"}, " ".join([f"{done}.", *notes]))
        else:
            self.report({"INFO"}, done)


class NSM_OT_wrap_collider(_ColliderJob):
    """Wrap the selected objects into cuboids that the characters notice, and propose how they are used"""

    bl_idname = "nsm.wrap_collider"
    bl_label = "Wrap as Collider"
    bl_options = {"REGISTER", "UNDO"}

    role: EnumProperty(
        name="Role",
        description="What the character uses the objects for",
        items=(_AUTO, *colliders.ROLE_ITEMS),
        default="AUTO",
    )
    size: FloatProperty(
        name="Voxel Size",
        description="Meters of a voxel's edge: smaller is finer and slower",
        default=colliders.VOXEL,
        min=0.005,
        soft_min=0.02,
        max=1.0,
        precision=3,
    )
    use_children: BoolProperty(
        name="With Children",
        description="Wrap the children of a selected object with it, unless they are selected too",
        default=True,
    )
    as_one: BoolProperty(
        name="As One",
        description="Wrap all selected objects as one collider, that of the active object",
        default=False,
    )

    def start(self, context: bpy.types.Context) -> "WrapJob":
        """Choose the objects."""
        from .collider_job import Order, WrapJob

        return WrapJob(context, Order(self.role, self.size, self.use_children, self.as_one))

    def finish(self, _context: bpy.types.Context, job: "WrapJob") -> "set[OperatorReturnItems]":
        """Report."""
        self.tell(f"Wrapped {_count(job.wrapped)} in {counted(job.cuboids, 'cuboid')}", job.notes)
        return {"FINISHED"}


class NSM_OT_refresh_colliders(_ColliderJob):
    """Wrap the colliders again whose shape or scale has changed"""

    bl_idname = "nsm.refresh_colliders"
    bl_label = "Refresh Colliders"
    bl_options = {"REGISTER", "UNDO"}

    force: BoolProperty(name="All", description="Also wrap the colliders that have not changed", default=False)

    def start(self, context: bpy.types.Context) -> "RefreshJob":
        """Choose those of the view layer."""
        from .collider_job import RefreshJob

        return RefreshJob(context, self.force)

    def finish(self, _context: bpy.types.Context, job: "RefreshJob") -> "set[OperatorReturnItems]":
        """Report."""
        self.tell(f"Refreshed {_count(job.wrapped)} of {job.seen}", job.notes)
        return {"FINISHED"}


class _OnColliders(Operation):
    """Base of operators on the selected colliders."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a selected collider."""
        if not chosen(context):
            cls.poll_message_set("Select a collider first")
            return False
        return True


class NSM_OT_remove_collider(_OnColliders):
    """Make the selected colliders ordinary objects again; their meshes stay as they are"""

    bl_idname = "nsm.remove_collider"
    bl_label = "Remove Collider"
    bl_options = {"REGISTER", "UNDO"}

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Take away the settings and the handles."""
        objects = chosen(context)
        for obj in objects:
            colliders.check_writable(obj)
        for obj in objects:
            handles.hide(obj)
            colliders.forget(obj)
        self.report({"INFO"}, f"Removed {_count(len(objects))}")
        return {"FINISHED"}


class NSM_OT_select_role(Operation):
    """Select all colliders of a role"""

    bl_idname = "nsm.select_role"
    bl_label = "Select Colliders by Role"
    bl_options = {"REGISTER", "UNDO"}

    role: EnumProperty(name="Role", description="Role of the colliders to select", items=colliders.ROLE_ITEMS)
    extend: BoolProperty(name="Extend", description="Keep the present selection", default=False)

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Objects are selected in object mode."""
        if context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Select those that can be seen."""
        if not self.extend:
            for obj in list(context.selected_objects):
                obj.select_set(False)
        found = [
            obj for obj in colliders.in_scene(context) if colliders.of(obj).role == self.role and obj.visible_get()
        ]
        for obj in found:
            obj.select_set(True)
        if found:
            context.view_layer.objects.active = found[0]
        self.report({"INFO"}, f"Selected {_count(len(found))}")
        return {"FINISHED"}


def chosen(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected colliders, and those that a selected handle belongs to."""
    objects = dict.fromkeys(
        obj.parent if handles.is_handle(obj) and obj.parent is not None else obj for obj in context.selected_objects
    )
    return [obj for obj in objects if colliders.is_collider(obj)]


def _count(number: int) -> str:
    """A number of colliders in words."""
    return counted(number, "collider")


CLASSES = (NSM_OT_wrap_collider, NSM_OT_refresh_colliders, NSM_OT_remove_collider, NSM_OT_select_role)
