# SPDX-License-Identifier: GPL-3.0-or-later
"""Jump keys, added and baked as a user would."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from . import build

pytestmark = pytest.mark.any_version


def heights(rig: bpy.types.Object, bone: str) -> np.ndarray:
    scene, out = bpy.context.scene, []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        out.append((rig.matrix_world @ rig.pose.bones[bone].head).z)
    return np.array(out)


def test_a_jump_without_a_goal_is_on_the_spot(engine):
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, 110
    rig = build.armature(engine)
    bpy.ops.object.select_all(action="DESELECT")
    bpy.ops.nsm.add_action_key(action="jump")
    (key,) = rig.nsm.keys
    assert key.goal is None
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    hips = heights(rig, "Hips")
    assert hips.max() > hips[0] + 0.15
    assert abs(hips[-1] - hips[0]) < 0.05


def test_a_goal_on_a_platform_is_jumped_onto(engine):
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, 240
    bpy.ops.mesh.primitive_cube_add(size=1, location=(0, -2.5, 0.15))
    bpy.context.object.scale = (2, 2, 0.3)
    bpy.ops.nsm.wrap_collider(role="ground")
    rig = build.armature(engine)
    bpy.ops.nsm.add_goal(name="Up", location=(0, -2.0, 0.3), attach=False, use_facing=False)
    bpy.ops.nsm.add_action_key(action="jump", goal="Up")
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    (key,) = rig.nsm.keys
    assert key.arrived > 0 and key.error_cm < 5
    scene.frame_set(scene.frame_end)
    toes = [(rig.matrix_world @ rig.pose.bones[f"{side}Toe"].head).z for side in ("Left", "Right")]
    assert min(toes) > 0.29
