# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's preferences."""

from __future__ import annotations

from importlib.util import find_spec

import bpy


class NSM_AP_preferences(bpy.types.AddonPreferences):
    """Tells which engine bakes."""

    bl_idname = __package__.rpartition(".")[0]

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the engine. Whether PyTorch is there is asked only now; it is never imported."""
        column = self.layout.column()
        column.label(text="Bakes run on NumPy, which Blender brings along", icon="CHECKMARK")
        found = find_spec("torch") is not None
        column.label(text="PyTorch is installed; bakes do not need it" if found else "PyTorch is not needed")


CLASSES = (NSM_AP_preferences,)
