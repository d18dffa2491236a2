# SPDX-License-Identifier: GPL-3.0-or-later
"""Neural State Machine: goal-driven character animation. This file registers the extension, nothing else."""

from __future__ import annotations

import bpy

from . import operators, panels
from .operators import live, watch
from .panels import keymaps, menus, translations
from .scene import changes, overlays, properties

_CLASSES = (*properties.CLASSES, *operators.CLASSES, *panels.CLASSES)


def register() -> None:
    """Add the extension's classes and settings to Blender."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    properties.attach()
    translations.start()
    menus.start()
    keymaps.start()
    watch.start()
    changes.start()
    overlays.start()


def unregister() -> None:
    """Take away what `register` added, and what the user switched on."""
    overlays.stop()
    changes.stop()
    watch.stop()
    live.stop()
    keymaps.stop()
    menus.stop()
    translations.stop()
    properties.detach()
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
