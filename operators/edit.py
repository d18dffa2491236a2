# SPDX-License-Identifier: GPL-3.0-or-later
"""Edit the character's motion in the manifold: its constraints, its foot contacts, and the edit itself.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty

from ..scene import lookup
from ..scene.manifold import CONSTRAINT_ITEMS, NSM_PG_constraint, NSM_PG_edit, of_character
from .base import Operation, counted
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .manifold_job import EditJob, UneditJob


class NSM_OT_edit_motion(JobOperation):
    """Change the character's motion as its constraints say, as a new action; the next edit begins with the same motion
    again"""

    bl_idname = "nsm.edit_motion"
    bl_label = "Edit Motion"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Editing"

    def start(self, context: bpy.types.Context) -> "EditJob | UneditJob":
        """Read the motion and its constraints; without any, the edit is taken away."""
        from .manifold_job import EditJob, UneditJob

        armature = lookup.character(context)
        return UneditJob(armature) if UneditJob.is_meant(armature) else EditJob(context, armature)

    def finish(self, _context: bpy.types.Context, job: "EditJob | UneditJob") -> "set[OperatorReturnItems]":
        """Report, and tell what does not hold."""
        from .manifold_job import UneditJob

        if isinstance(job, UneditJob):
            self.report({"INFO"}, f"No constraint is enabled: the motion is that of '{job.source}' again")
            return {"FINISHED"}
        self.report({"INFO"}, f"Edited {job.report.frames} frames; {job.summary()}")
        for warning in job.work.warnings:
            self.report({"WARNING"}, warning)
        return {"FINISHED"}


class _OnCharacter(Operation):
    """Base of operators on the list of constraints or contacts."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character, and something that `missing` does not name."""
        armature = lookup.character(context)
        reason = "Select a character's armature first" if armature is None else cls.missing(of_character(armature).edit)
        if reason:
            cls.poll_message_set(reason)
        return not reason

    @classmethod
    def missing(cls, _edit: NSM_PG_edit) -> str:
        """Why the operator cannot be used now; empty when it can."""
        return ""


class NSM_OT_add_constraint(_OnCharacter):
    """Add a constraint. A pin holds a joint where it is now, for half a second about the current frame, and keeps the
    character on its trajectory; a pin or a gaze takes the other selected object as its target"""

    bl_idname = "nsm.add_constraint"
    bl_label = "Add Constraint"

    kind: EnumProperty(name="Kind", description="Kind of the constraint", items=CONSTRAINT_ITEMS)

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Add it, with what the selection and the current frame suggest."""
        from ..scene import armatures, constraints

        armature = lookup.character(context)
        assert armature is not None
        rig = armatures.read(context, armature) if self.kind in ("PIN", "POSE") else None
        edit = of_character(armature).edit
        item = edit.constraints.add()
        item.kind = self.kind
        item.name = constraints.LABELS[self.kind]
        item.frame_start = item.frame_end = context.scene.frame_current
        item.place = context.scene.cursor.location
        if self.kind in ("PIN", "LOOK"):
            item.target = lookup.target(context, armature)
        if rig is not None:
            item.use_range = True
        if rig is not None and self.kind == "POSE":
            constraints.capture_pose(context, armature, rig, item)
        elif rig is not None:
            constraints.pin_as_shown(context, armature, rig, item)
        shown = len(edit.constraints) - 1
        if self.kind == "PIN" and all(other.kind != "TRAJECTORY" for other in edit.constraints):
            kept = edit.constraints.add()
            kept.kind, kept.name = "TRAJECTORY", constraints.LABELS["TRAJECTORY"]
        edit.constraint_index = shown
        return {"FINISHED"}


class _OnConstraint(_OnCharacter):
    """Base of operators on the constraint that is shown."""

    @classmethod
    def missing(cls, edit: NSM_PG_edit) -> str:
        """There has to be a constraint."""
        return "" if 0 <= edit.constraint_index < len(edit.constraints) else "Add a constraint first"


class NSM_OT_remove_constraint(_OnConstraint):
    """Remove the constraint that is shown"""

    bl_idname = "nsm.remove_constraint"
    bl_label = "Remove Constraint"

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Remove the constraint; the constraint before it is shown."""
        edit = _edit(context)
        edit.constraints.remove(edit.constraint_index)
        edit.constraint_index = max(0, edit.constraint_index - 1)
        return {"FINISHED"}


class NSM_OT_move_constraint(_OnConstraint):
    """Move the constraint that is shown up or down in the list"""

    bl_idname = "nsm.move_constraint"
    bl_label = "Move Constraint"

    direction: EnumProperty(
        name="Direction",
        description="Where to move it",
        items=(("UP", "Up", "One place up"), ("DOWN", "Down", "One place down")),
    )

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Move the constraint by one place in the list."""
        edit = _edit(context)
        to = edit.constraint_index + (-1 if self.direction == "UP" else 1)
        if not 0 <= to < len(edit.constraints):
            return {"CANCELLED"}
        edit.constraints.move(edit.constraint_index, to)
        edit.constraint_index = to
        return {"FINISHED"}


class NSM_OT_capture_pose(_OnConstraint):
    """Keep the pose that the character shows now, keyed or not, in the pose key that is shown"""

    bl_idname = "nsm.capture_pose"
    bl_label = "Capture Pose"

    @classmethod
    def missing(cls, edit: NSM_PG_edit) -> str:
        """There has to be a pose key."""
        shown = super().missing(edit) or edit.constraints[edit.constraint_index].kind
        return "" if shown == "POSE" else "Choose a pose key in the list first"

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Store it."""
        from ..scene import armatures, constraints

        armature = lookup.character(context)
        assert armature is not None
        edit = of_character(armature).edit
        item: NSM_PG_constraint = edit.constraints[edit.constraint_index]
        constraints.capture_pose(context, armature, armatures.read(context, armature), item)
        return {"FINISHED"}


class NSM_OT_detect_contacts(_OnCharacter):
    """Detect when heels and toes touch the ground, and list the contacts for correction; edits then use the list"""

    bl_idname = "nsm.detect_contacts"
    bl_label = "Detect Contacts"

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Replace the list by what the motion shows."""
        from ..scene import constraints, recording

        armature = lookup.character(context)
        recorded = recording.record(context, armature)
        edit = _edit(context)
        constraints.store_contacts(recorded.motion, edit, recorded.gathered.frames)
        self.report({"INFO"}, f"Found {counted(len(edit.contacts), 'contact')}")
        return {"FINISHED"}


class NSM_OT_add_contact(_OnCharacter):
    """Add a contact of a heel or toe with the ground at the current frame"""

    bl_idname = "nsm.add_contact"
    bl_label = "Add Contact"

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Add the contact at the current frame."""
        edit = _edit(context)
        contact = edit.contacts.add()
        contact.frame_start = contact.frame_end = context.scene.frame_current
        edit.contact_index = len(edit.contacts) - 1
        return {"FINISHED"}


class _OnContacts(_OnCharacter):
    """Base of operators on the contacts in the list."""

    @classmethod
    def missing(cls, edit: NSM_PG_edit) -> str:
        """There have to be contacts."""
        return "" if 0 <= edit.contact_index < len(edit.contacts) else "Detect or add contacts first"


class NSM_OT_remove_contact(_OnContacts):
    """Remove the contact that is chosen"""

    bl_idname = "nsm.remove_contact"
    bl_label = "Remove Contact"

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Remove the chosen contact."""
        edit = _edit(context)
        edit.contacts.remove(edit.contact_index)
        edit.contact_index = max(0, min(edit.contact_index, len(edit.contacts) - 1))
        return {"FINISHED"}


class NSM_OT_clear_contacts(_OnContacts):
    """Empty the list; edits then detect the contacts"""

    bl_idname = "nsm.clear_contacts"
    bl_label = "Clear Contacts"

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Remove all."""
        edit = _edit(context)
        edit.contacts.clear()
        edit.contact_index = 0
        return {"FINISHED"}


def _edit(context: bpy.types.Context) -> Any:
    """The edit of the character that is meant; `poll` has found it."""
    armature = lookup.character(context)
    assert armature is not None
    return of_character(armature).edit


CLASSES = (
    NSM_OT_edit_motion,
    NSM_OT_add_constraint,
    NSM_OT_remove_constraint,
    NSM_OT_move_constraint,
    NSM_OT_capture_pose,
    NSM_OT_detect_contacts,
    NSM_OT_add_contact,
    NSM_OT_remove_contact,
    NSM_OT_clear_contacts,
)
