# SPDX-License-Identifier: GPL-3.0-or-later
"""Gait labels: what kind of locomotion a frame is."""

from __future__ import annotations

GAITS = ("stand", "walk", "jog", "jump", "crouch")
"""The semantic variables of the trajectory, in the paper's order (PFNN 4.3)."""
