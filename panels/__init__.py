# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels and preferences: read state and draw it, never compute."""

from __future__ import annotations

from . import binding, colliders, goals, keys, manifold, overlay, preferences, sidebar, synthesis

CLASSES = (
    *preferences.CLASSES,
    sidebar.NSM_PT_character,
    *binding.CLASSES,
    *colliders.CLASSES,
    *overlay.CLASSES,
    *goals.CLASSES,
    *keys.CLASSES,
    *sidebar.CLASSES,
    *synthesis.CLASSES,
    *manifold.CLASSES,
)
