# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators: gather from the scene, call the engine, write through the scene."""

from __future__ import annotations

from . import (
    apply_motion,
    bake,
    bind,
    character,
    check,
    collider,
    contact_markers,
    crowd,
    edit,
    export,
    files,
    goal,
    handles,
    key,
    live,
    path,
    room,
    route,
    shot_file,
    strike,
    style,
    synthesize,
)

CLASSES = (
    *bake.CLASSES,
    *bind.CLASSES,
    *apply_motion.CLASSES,
    *character.CLASSES,
    *collider.CLASSES,
    *handles.CLASSES,
    *goal.CLASSES,
    *key.CLASSES,
    *route.CLASSES,
    *check.CLASSES,
    *room.CLASSES,
    *shot_file.CLASSES,
    *path.CLASSES,
    *synthesize.CLASSES,
    *live.CLASSES,
    *crowd.CLASSES,
    *strike.CLASSES,
    *edit.CLASSES,
    *contact_markers.CLASSES,
    *style.CLASSES,
    *export.CLASSES,
    *files.CLASSES,
)
