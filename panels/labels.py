# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panels for own captures: their labels at the present frame, and what is done with them."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..scene import lookup
from ..scene.label_settings import ACTIONS, CONTACTS, TOUCHING, NSM_PG_labels, has_labels, of_armature
from ..scene.properties import blank
from .base import Subpanel, hint


class NSM_PT_labels(Subpanel):
    """Label own captures to train on them."""

    bl_label = "Training Labels"
    bl_parent_id = "NSM_PT_generate"

    def draw(self, context: bpy.types.Context) -> None:
        """The capture, the contacts at this frame, and the buttons."""
        layout = self.layout
        labels = _labels(context)
        layout.operator("nsm.import_capture", icon="IMPORT")
        if labels.frames:
            hint(layout, f"{labels.clip}: {labels.frames} frames, {labels.fps:.6g} fps", "ACTION")
        else:
            hint(layout, "Import a capture to label it.")
        _draw_keyed(layout.column(heading="Contacts"), labels, CONTACTS.values())
        layout.use_property_split = True
        column = layout.column()
        column.enabled = labels.frames > 0
        column.prop(labels, "use_phase")
        row = column.row()
        row.active = labels.use_phase
        row.prop(labels, "phase")
        column = layout.column(align=True)
        column.operator("nsm.save_labels", icon="FILE_TICK")
        column.operator("nsm.copy_training_command", icon="COPYDOWN")
        column.operator("nsm.remove_labels", icon="X")


class NSM_PT_label_actions(Subpanel):
    """What is done besides walking."""

    bl_label = "Labeled Actions"
    bl_parent_id = "NSM_PT_labels"

    def draw_header(self, context: bpy.types.Context) -> None:
        """Whether they are saved."""
        labels = _labels(context)
        self.layout.enabled = labels.frames > 0
        self.layout.prop(labels, "use_actions", text="")

    def draw(self, context: bpy.types.Context) -> None:
        """The actions, what touches things, and the movements between, at this frame."""
        layout = self.layout
        labels = _labels(context)
        layout.active = labels.use_actions
        _draw_keyed(layout.column(heading="Actions"), labels, ACTIONS.values())
        _draw_keyed(layout.column(heading="Touching"), labels, TOUCHING.values())
        layout.use_property_split = True
        row = layout.row()
        row.enabled = labels.frames > 0
        row.prop(labels, "transition")


def _labels(context: bpy.types.Context) -> NSM_PG_labels:
    """The character's labels; empty ones where there are none."""
    armature = lookup.character(context)
    if armature is None or not has_labels(armature):
        return blank(context).blank_labels
    return of_armature(armature)


def _draw_keyed(column: bpy.types.UILayout, labels: NSM_PG_labels, props: Iterable[str]) -> None:
    """Labels that are on or off, with a button to key each."""
    column.use_property_split = True
    column.enabled = labels.frames > 0
    for prop in props:
        column.prop(labels, prop)


CLASSES = (NSM_PT_labels, NSM_PT_label_actions)
