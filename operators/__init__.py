# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators: gather from the scene, call the engine, write through the scene."""

from __future__ import annotations

from . import (
    bake,
    character,
    check,
    collider,
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
    strike,
    style,
    synthesise,
)

CLASSES = (
    *bake.CLASSES,
    *character.CLASSES,
    *collider.CLASSES,
    *handles.CLASSES,
    *goal.CLASSES,
    *key.CLASSES,
    *route.CLASSES,
    *check.CLASSES,
    *room.CLASSES,
    *path.CLASSES,
    *synthesise.CLASSES,
    *live.CLASSES,
    *crowd.CLASSES,
    *strike.CLASSES,
    *edit.CLASSES,
    *style.CLASSES,
    *export.CLASSES,
    *files.CLASSES,
)
