# SPDX-License-Identifier: GPL-3.0-or-later
"""Foot contacts as markers on the timeline: made, and taken back into the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..scene import contact_markers, lookup
from ..scene.manifold import of_character
from .base import Operation, counted

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class NSM_OT_create_contact_markers(Operation):
    """Show the contacts of the list, or the detected ones, as markers on the timeline; while the markers are there,
    edits use them"""

    bl_idname = "nsm.create_contact_markers"
    bl_label = "Create Contact Markers"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character."""
        if lookup.character(context) is None:
            cls.poll_message_set("Select a character's armature first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Create a marker for each contact, in place of the character's earlier markers."""
        armature = lookup.character(context)
        assert armature is not None
        if not of_character(armature).edit.contacts:
            self._detect(context, armature)
        listed = [
            contact_markers.Contact(item.frame_start, item.frame_end, item.joint)
            for item in of_character(armature).edit.contacts
        ]
        count = contact_markers.show(context.scene, armature, listed)
        self.report({"INFO"}, f"Created {counted(count, 'marker')}; drag them on the timeline")
        return {"FINISHED"}

    @staticmethod
    def _detect(context: bpy.types.Context, armature: bpy.types.Object) -> None:
        from ..scene import constraints, recording

        recorded = recording.record(context, armature)
        constraints.store_contacts(recorded.motion, of_character(armature).edit, recorded.gathered.frames)


class NSM_OT_read_contact_markers(Operation):
    """Take the contacts in the list from the character's markers, and remove the markers from the timeline"""

    bl_idname = "nsm.read_contact_markers"
    bl_label = "Read Contact Markers"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There have to be markers."""
        armature = lookup.character(context)
        if armature is None:
            cls.poll_message_set("Select a character's armature first")
        elif not contact_markers.shown(context.scene, armature):
            cls.poll_message_set("The character has no contact markers")
        else:
            return True
        return False

    def run(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Read the markers into the list, and remove them from the timeline."""
        armature = lookup.character(context)
        assert armature is not None
        found = contact_markers.read(context.scene, armature)
        edit = of_character(armature).edit
        edit.contacts.clear()
        for contact in found:
            item = edit.contacts.add()
            item.joint, item.frame_start, item.frame_end = contact.joint, contact.start, contact.end
        edit.contact_index = 0
        contact_markers.clear(context.scene, armature)
        self.report({"INFO"}, f"Read {counted(len(found), 'contact')} from the markers")
        return {"FINISHED"}


CLASSES = (NSM_OT_create_contact_markers, NSM_OT_read_contact_markers)
