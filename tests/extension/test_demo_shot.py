# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo shot: one operator, then Bake."""

from __future__ import annotations

import bpy
import pytest
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector

from .layouts import drawn
from .snapshot import difference, snapshot


def test_the_demo_shot_is_a_scene_of_its_own_that_can_be_baked_at_once():
    cube = bpy.data.objects.new("Cube", bpy.data.meshes.new("Cube"))
    before = bpy.context.scene
    before.collection.objects.link(cube)
    state = snapshot()
    assert bpy.ops.nsm.add_demo_shot() == {"FINISHED"}
    scene = bpy.context.scene
    assert scene != before
    assert cube.name not in scene.objects
    assert "Ready to bake 1 action." in drawn("NSM_PT_bake")
    assert bpy.ops.nsm.bake.poll()
    bpy.context.window.scene = before
    touched = {path for path in difference(state, snapshot()) if path.startswith(f"scenes[{before.name}]")}
    assert touched == set()


@pytest.mark.any_version
def test_the_character_of_the_demo_shot_sits_in_view_of_the_camera():
    bpy.ops.nsm.add_demo_shot()
    scene, rig = bpy.context.scene, bpy.context.object
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    (key,) = rig.nsm.keys
    assert key.action == "sit"
    assert key.error_cm < 5
    assert key.done <= scene.frame_end, "the sit is over within the shot"
    for frame in (1, key.arrived // 2, key.arrived, scene.frame_end):
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        for bone in rig.evaluated_get(graph).pose.bones:
            place = rig.matrix_world @ bone.head
            seen = world_to_camera_view(scene, scene.camera, place)
            assert 0 < seen.x < 1
            assert 0 < seen.y < 1
    head = rig.matrix_world @ rig.evaluated_get(graph).pose.bones["Head"].head
    eye = scene.camera.matrix_world.translation
    hit, place, *_ = scene.ray_cast(graph, eye, (head - eye).normalized())
    assert hit
    assert (place - Vector(head)).length < 0.3, "nothing stands before the seated character"


@pytest.mark.any_version
def test_the_character_of_the_demo_shot_on_ground_walks_over_it_in_view_of_the_camera():
    assert bpy.ops.nsm.add_demo_shot(place="GROUND") == {"FINISHED"}
    scene, rig = bpy.context.scene, bpy.context.object
    assert {obj.name for obj in scene.objects if obj.nsm.collider.role == "ground"} == {
        "Stairs", "Platform", "Far Platform", "Ramp", "Low Beam",
    }  # fmt: skip
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    assert rig.nsm.report.goal_error_cm < 10
    heights, heads = [], []
    for frame in range(1, scene.frame_end + 1, 5):
        scene.frame_set(frame)
        bones = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        heights.append((rig.matrix_world @ bones["Hips"].head).z)
        heads.append((rig.matrix_world @ bones["Head"].tail).z)
        for bone in bones:
            seen = world_to_camera_view(scene, scene.camera, rig.matrix_world @ bone.head)
            assert 0 < seen.x < 1
            assert 0 < seen.y < 1
    assert max(heights) - heights[0] > 0.8, "it was up on the platforms"
    assert min(heads) < 1.5 < heads[-1], "it crouched under the beam, and stands in the end"


def test_another_character_can_be_added_to_the_demo_shot():
    bpy.ops.nsm.add_demo_shot()
    first = bpy.context.object
    assert bpy.ops.nsm.add_character() == {"FINISHED"}
    assert bpy.context.object != first
