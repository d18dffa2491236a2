# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's preferences."""

from __future__ import annotations

import bpy

from . import keymaps


class NSM_AP_preferences(bpy.types.AddonPreferences):
    """Tells which engine bakes, and lets the user change the shortcuts."""

    bl_idname = __package__.rpartition(".")[0]

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the engine and the shortcuts."""
        self.layout.label(text="Bakes run on NumPy, which Blender brings along", icon="CHECKMARK")
        self.layout.label(text="Shortcuts in object mode, above a 3D viewport:", icon="MOUSE_LMB")
        keymaps.draw(self.layout.column(), context)


CLASSES = (NSM_AP_preferences,)
