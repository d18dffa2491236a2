# SPDX-License-Identifier: GPL-3.0-or-later
"""The style that a panel's settings mean: a bundled one, that of an action, or a file's."""

from __future__ import annotations

from pathlib import Path

import bpy

from ..nsm_blender import EditError, Style, StyleSettings, blend_styles, bundled_style, style_of
from ..scene import recording
from ..scene.manifold import NSM_PG_style, NSM_PG_style_source


def wanted(context: bpy.types.Context, settings: NSM_PG_style) -> Style:
    """The style to take, mixed of two where that is asked for. The scene is left as it is. Raises UserError."""
    first = of_source(context, settings.source)
    if not settings.use_second:
        return first
    second = of_source(context, settings.second)
    return blend_styles((first, second), (1 - settings.mix, settings.mix), f"{first.name} and {second.name}")


def search(settings: NSM_PG_style) -> StyleSettings:
    """How the style is searched for."""
    return StyleSettings(
        style=settings.style_weight,
        content=settings.content_weight,
        amount=settings.amount,
        start="noise" if settings.start == "NOISE" else "content",
        seed=settings.seed,
        timing=settings.timing,
    )


def of_source(context: bpy.types.Context, source: NSM_PG_style_source) -> Style:
    """The style of one source. Raises UserError."""
    if source.kind == "BUNDLED":
        return bundled_style(source.bundled)
    if source.kind == "FILE":
        if not source.filepath:
            raise EditError("No style file is chosen; choose one, or load one with 'Load Style'.")
        return Style.load(Path(bpy.path.abspath(source.filepath)))
    if source.rig is None:
        raise EditError("No character shows the style; choose the one whose action is the reference.")
    return of_character(context, source.rig)


def of_character(context: bpy.types.Context, armature: bpy.types.Object) -> Style:
    """The style of a character's animation, named after its action. Raises UserError."""
    motion = recording.record(context, armature).motion
    action = armature.animation_data.action
    return style_of(motion, action.name if action else armature.name)
