# SPDX-License-Identifier: GPL-3.0-or-later
"""A character's list of punches and kicks as the engine's shot."""

from __future__ import annotations

import bpy
import numpy as np

from ..nsm_blender.errors import ShotError
from ..nsm_blender.manifold.strike import StrikeShot, Target
from ..nsm_blender.motion.root import root_track
from ..nsm_blender.shot.shot import Shot
from . import actions, armatures, constraints, curves, recording
from .gather import Gathered, frame_range
from .manifold import of_character


def gather(context: bpy.types.Context, armature: bpy.types.Object | None) -> tuple[Gathered, StrikeShot]:
    """Describe what `armature` is to hit, and when. The scene is left as it is. Raises RigError and ShotError."""
    rig = armatures.read(context, armature)
    assert armature is not None
    actions.check_assignable(armature)
    frames = frame_range(context)
    render = context.scene.render
    fps = render.fps / render.fps_base
    settings = of_character(armature).strike
    size = curves.meters_per_unit(context.scene) / rig.scale
    targets = []
    for strike in settings.strikes:
        if strike.target is None:
            raise ShotError(f"A strike of '{armature.name}' has no target; choose an object, such as an empty.")
        if not frames[0] <= strike.frame <= frames[-1]:
            raise ShotError(
                f"'{strike.target.name}' is to be hit at frame {strike.frame}, outside of {frames[0]} to {frames[-1]}."
            )
        at = np.array([strike.frame])
        x, y, z = (constraints.places_of(context, [strike.target], at)[strike.target.name_full][0] * size).tolist()
        targets.append(Target(strike.limb, (x, y, z), float(strike.frame - frames[0]) / fps))
    x, y, z, angle = _standing(context, armature, rig, size)
    strikes = StrikeShot(
        name=armature.name,
        fps=fps,
        frames=len(frames),
        targets=targets,
        start=None if settings.begin == "BEST" else (x, y, z),
        facing=angle if settings.begin == "HERE" else None,
    )
    return Gathered(Shot(name=armature.name, fps=fps, frames=len(frames)), rig, None, frames), strikes


def _standing(
    context: bpy.types.Context, armature: bpy.types.Object, rig: armatures.Rig, size: float
) -> tuple[float, float, float, float]:
    """Root x, y, z and facing angle of the pose that is shown; its floor is the height of the armature's origin."""
    x, y, _, angle = root_track(recording.shown(context, armature, rig)[None], 1.0)[0].tolist()
    return x, y, float(armature.matrix_world.translation.z) * size, angle
