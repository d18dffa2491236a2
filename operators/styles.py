# SPDX-License-Identifier: GPL-3.0-or-later
"""The style that a panel's settings mean: a bundled one, that of an action, or a file's."""

from __future__ import annotations

from pathlib import Path

import bpy

from ..nsm_blender.errors import EditError
from ..nsm_blender.manifold.frames import to_frames
from ..nsm_blender.manifold.style import Style, StyleSettings, blend, load_styles
from ..nsm_blender.models.manifold import FPS, Autoencoder
from ..nsm_blender.paths import weights_folder
from ..scene import recording
from ..scene.manifold import NSM_PG_style, NSM_PG_style_source


def autoencoder() -> Autoencoder:
    """The manifold in whose units styles are. Raises WeightsError."""
    return Autoencoder.load(weights_folder() / "autoencoder.safetensors")


def wanted(context: bpy.types.Context, settings: NSM_PG_style, manifold: Autoencoder) -> Style:
    """The style to take, mixed of two where that is asked for. The scene is left as it is. Raises UserError."""
    first = of_source(context, settings.source, manifold)
    if not settings.use_second:
        return first
    second = of_source(context, settings.second, manifold)
    return blend((first, second), (1 - settings.mix, settings.mix), f"{first.name} and {second.name}")


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


def of_source(context: bpy.types.Context, source: NSM_PG_style_source, manifold: Autoencoder) -> Style:
    """The style of one source. Raises UserError."""
    if source.kind == "BUNDLED":
        return _bundled(source.bundled)
    if source.kind == "FILE":
        if not source.filepath:
            raise EditError("No style file is chosen; choose one, or load one with 'Load Style'.")
        return Style.load(Path(bpy.path.abspath(source.filepath)))
    if source.rig is None:
        raise EditError("No character shows the style; choose the one whose action is the reference.")
    return of_character(context, source.rig, manifold)


def of_character(context: bpy.types.Context, armature: bpy.types.Object, manifold: Autoencoder) -> Style:
    """The style of a character's animation, named after its action. Raises UserError."""
    motion = recording.record(context, armature).motion
    count = int((len(motion) - 1) * FPS / motion.fps) + 1
    motion = motion.resampled(FPS, count + count % 2)
    action = armature.animation_data.action
    name = action.name if action else armature.name
    return Style.of(name, manifold, to_frames(motion.positions, motion.root, motion.contacts), source=name)


def _bundled(name: str) -> Style:
    found = load_styles(weights_folder() / "styles.safetensors")
    if name not in found:
        raise EditError(f"The style '{name}' does not come with this version; choose one of {', '.join(found)}.")
    return found[name]
