# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels and preferences: read state and draw it, never compute."""

from __future__ import annotations

from . import manifold, preferences, sidebar, synthesis

CLASSES = (*preferences.CLASSES, *sidebar.CLASSES, *synthesis.CLASSES, *manifold.CLASSES)
