# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panel for what the viewport shows of colliders and sensors."""

from __future__ import annotations

import bpy

from .sidebar import _Panel


class NSM_PT_overlay(_Panel):
    """What is shown in the viewport."""

    bl_label = "Viewport"
    bl_parent_id = "NSM_PT_colliders"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """The switches."""
        layout = self.layout
        overlay = context.scene.nsm.overlay
        column = layout.column()
        column.prop(overlay, "show_colliders")
        column.prop(overlay, "show_handles")
        column.prop(overlay, "show_environment")
        column.prop(overlay, "show_interaction")
        if overlay.show_environment:
            column.prop(overlay, "source")


CLASSES = (NSM_PT_overlay,)
