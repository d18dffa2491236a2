# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels and preferences: read state and draw it, never compute."""

from __future__ import annotations

from . import bake, character, generate, gizmos, labels, menus, preferences, refine, shot, things

CLASSES = (
    *preferences.CLASSES,
    *character.CLASSES,
    *shot.CLASSES,
    *bake.CLASSES,
    *things.CLASSES,
    *refine.CLASSES,
    *generate.CLASSES,
    *labels.CLASSES,
    *menus.CLASSES,
    *gizmos.CLASSES,
)
