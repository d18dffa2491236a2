# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's preferences."""

from __future__ import annotations

import bpy


class NSM_AP_preferences(bpy.types.AddonPreferences):
    """Tells which engine bakes."""

    bl_idname = __package__.rpartition(".")[0]

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the engine."""
        self.layout.label(text="Bakes run on NumPy, which Blender brings along", icon="CHECKMARK")


CLASSES = (NSM_AP_preferences,)
