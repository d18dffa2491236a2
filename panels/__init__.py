# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels and preferences: read state and draw it, never compute."""

from __future__ import annotations

from . import binding, colliders, goals, keys, manifold, overlay, preferences, sidebar, synthesis

CLASSES = (
    *preferences.CLASSES,
    sidebar.NSM_PT_character,
    # The button is always in view, whatever the lists below it hold.
    sidebar.NSM_PT_bake,
    *goals.CLASSES,
    *keys.CLASSES,
    sidebar.NSM_PT_path,
    sidebar.NSM_PT_following,
    sidebar.NSM_PT_result,
    *colliders.CLASSES,
    *overlay.CLASSES,
    *binding.CLASSES,
    *synthesis.CLASSES,
    *manifold.CLASSES,
)
