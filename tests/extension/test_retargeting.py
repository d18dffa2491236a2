# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a bake begins and ends, and motion files on bound rigs, through the installed extension's operators."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion, Vector

from nsm_blender.motion.clip_file import load_clip

from . import build, rigs
from .snapshot import difference, snapshot

FRAMES = 40


@pytest.fixture
def rig(engine):
    """A bound rig that follows a curve at 30 fps."""
    found, _ = rigs.add("Unreal 5")
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, FRAMES
    found.nsm.path = build.curve([(0, 0, 0), (0.3, -2, 0), (1.5, -4, 0)], "BEZIER")
    bpy.context.view_layer.objects.active = found
    bpy.ops.nsm.bind()
    return found


def directions(rig, frame: int) -> dict[str, np.ndarray]:
    """Where bones point, seen from the pelvis."""
    bpy.context.scene.frame_set(frame)
    pelvis = rig.pose.bones["pelvis"].matrix.to_quaternion().inverted()
    names = ("upperarm_l", "lowerarm_r", "head", "thigh_l")
    return {name: np.array(pelvis @ rig.pose.bones[name].vector.normalized()) for name in names}


def largest_angle(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    return max(float(np.degrees(np.arccos(np.clip(a[name] @ b[name], -1, 1)))) for name in a)


def strike_a_pose(rig) -> None:
    for name, turn in (("upperarm_l", 1.0), ("lowerarm_r", -0.8), ("head", 0.5)):
        rig.pose.bones[name].rotation_quaternion = Quaternion((1, 0.3, 0.2), turn)


def test_a_bake_leaves_the_pose_that_is_shown_over_the_chosen_time(rig):
    bpy.ops.nsm.bake()
    plain = {frame: directions(rig, frame) for frame in (1, 15, 16, 30)}
    bpy.ops.nsm.remove_bake()
    strike_a_pose(rig)
    posed = directions(rig, 1)
    rig.nsm.binding.blend_in = 15
    bpy.ops.nsm.bake()
    assert largest_angle(directions(rig, 1), posed) < 1.0
    assert largest_angle(directions(rig, 1), plain[1]) > 20
    assert largest_angle(directions(rig, 16), plain[16]) < 0.5
    assert rig.nsm.report.rig_error_mm_max < 0.1
    steps = [directions(rig, frame) for frame in range(1, 18)]
    assert max(largest_angle(a, b) for a, b in pairwise(steps)) < 15


def test_a_bake_ends_in_the_pose_of_an_action(rig):
    strike_a_pose(rig)
    for bone in rig.pose.bones:
        bone.keyframe_insert("rotation_quaternion", frame=1)
    action = rig.animation_data.action
    posed = directions(rig, 1)
    rig.animation_data_clear()
    for bone in rig.pose.bones:
        bone.rotation_quaternion = (1, 0, 0, 0)
    before = [tuple(bone.rotation_quaternion) for bone in rig.pose.bones]
    settings = rig.nsm.binding
    settings.end_pose, settings.end_pose_action, settings.blend_out = "ACTION", action, 10
    bpy.ops.nsm.bake()
    assert largest_angle(directions(rig, FRAMES), posed) < 1.0
    assert largest_angle(directions(rig, FRAMES - 12), posed) > 20
    bpy.ops.nsm.remove_bake()
    assert [tuple(bone.rotation_quaternion) for bone in rig.pose.bones] == before


def test_a_bake_ends_in_the_pose_that_was_shown(rig):
    strike_a_pose(rig)
    posed = directions(rig, 1)
    rig.nsm.binding.end_pose = "POSE"
    bpy.ops.nsm.bake()
    assert largest_angle(directions(rig, FRAMES), posed) < 1.0


@pytest.mark.parametrize("begin", ["REST", "POSE"])
def test_the_motion_begins_where_the_object_or_the_pose_stands_and_as_it_faces(rig, extension_module, begin):
    armatures = extension_module("scene.armatures")
    rig.location, rig.rotation_euler = (1, 2, 0.5), (0, 0, 1.2)
    rig.nsm.binding.start_pose = begin
    if begin == "POSE":
        rig.pose.bones["pelvis"].location = (0, 0, 0)
        rig.location = (0, 0, 0.5)
        bpy.context.view_layer.update()
        pelvis = rig.pose.bones["pelvis"]
        pelvis.matrix = Matrix.Translation((100, 200, 0)) @ pelvis.matrix
    bpy.context.view_layer.update()
    described = armatures.read(bpy.context, rig)
    x, y, z, angle = armatures.standing(bpy.context, rig, described, 1)
    wanted = rig.matrix_world @ rig.pose.bones["pelvis"].head
    assert (x * described.scale, y * described.scale) == pytest.approx((wanted.x, wanted.y), abs=0.05)
    assert z * described.scale == pytest.approx(0.5, abs=0.01)
    assert angle == pytest.approx(1.2, abs=0.01)


@pytest.fixture
def walk(rig, extension_module, tmp_path) -> tuple[Path, object]:
    """A BVH file of a baked walk by Blender's own exporter, and the motion that is in it."""
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    job.run()
    path = tmp_path / "walk.bvh"
    bpy.ops.object.select_all(action="DESELECT")
    rig.select_set(True)
    bpy.ops.export_anim.bvh(filepath=str(path), frame_start=1, frame_end=FRAMES, global_scale=0.01)
    bpy.ops.nsm.remove_bake()
    return path, job.work.motion()


def apart(read, made) -> float:
    """Largest distance in meters of joints, once both begin at the same place facing the same way."""
    out = []
    for motion in (read, made):
        places = motion.positions - motion.positions[0, 0] * [1, 1, 0]
        turn = -float(motion.root[0, 3])
        c, s = np.cos(turn), np.sin(turn)
        out.append(places @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]))
    return float(np.linalg.norm(out[0] - out[1], axis=-1).max())


@pytest.mark.parametrize("target", ["Mixamo", "Unreal 5", "child"])
def test_a_bvh_file_is_put_on_any_bound_rig(walk, extension_module, target):
    path, made = walk
    other, _ = rigs.add(target)
    other.location = (3, 1, 0)
    bpy.ops.nsm.bind()
    assert bpy.ops.nsm.apply_motion(filepath=str(path)) == {"FINISHED"}
    assert other.nsm.report.frames == FRAMES
    assert other.nsm.report.rig_error_mm_max < 0.1
    read = extension_module("scene.recording").record(bpy.context, other).motion
    assert apart(read, made) < 0.06
    assert other.animation_data.action.name == "walk"
    scale = extension_module("scene.armatures").read(bpy.context, other).scale
    assert read.positions[0, 0, :2] * scale == pytest.approx([3, 1], abs=0.05)


def test_a_rigs_animation_is_saved_as_a_motion_file_that_other_rigs_and_training_take(rig, extension_module, tmp_path):
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    job.run()
    made, path = job.work.motion(), tmp_path / "walk.npz"
    assert bpy.ops.nsm.save_motion(filepath=str(path)) == {"FINISHED"}
    clip = load_clip(path)
    assert (len(clip), clip.fps) == (FRAMES, 30)
    assert np.linalg.norm(clip.world()[0] - made.positions, axis=-1).max() < 0.005
    other, _ = rigs.add("Mixamo")
    bpy.ops.nsm.bind()
    assert bpy.ops.nsm.apply_motion(filepath=str(path)) == {"FINISHED"}
    assert apart(extension_module("scene.recording").record(bpy.context, other).motion, made) < 0.06


def test_a_motion_file_is_not_written_without_an_animation(rig, tmp_path):
    path = tmp_path / "none.npz"
    with pytest.raises(RuntimeError, match="has no action"):
        bpy.ops.nsm.save_motion(filepath=str(path))
    assert not path.exists()


def skin(rig) -> None:
    """A mesh that all bones move, a triangle each: an FBX file has a rest pose only for such bones."""
    mesh = bpy.data.meshes.new("Skin")
    corners = [
        tuple(bone.head_local + Vector(away)) for bone in rig.data.bones for away in ((0, 0, 0), (1, 0, 0), (0, 1, 0))
    ]
    mesh.from_pydata(corners, [], [(i, i + 1, i + 2) for i in range(0, len(corners), 3)])
    body = bpy.data.objects.new("Skin", mesh)
    bpy.context.scene.collection.objects.link(body)
    body.parent = rig
    body.modifiers.new("Armature", "ARMATURE").object = rig
    for index, bone in enumerate(rig.data.bones):
        body.vertex_groups.new(name=bone.name).add([3 * index, 3 * index + 1, 3 * index + 2], 1.0, "REPLACE")


def test_an_fbx_file_is_put_on_a_bound_rig_and_leaves_nothing_else(rig, extension_module, tmp_path):
    skin(rig)
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    job.run()
    made, path = job.work.motion(), tmp_path / "walk.fbx"
    bpy.ops.nsm.export_fbx(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.render.fps = 30
    other, _ = rigs.add("Mixamo")
    bpy.ops.nsm.bind()
    before = snapshot()
    assert bpy.ops.nsm.apply_motion(filepath=str(path)) == {"FINISHED"}
    read = extension_module("scene.recording").record(bpy.context, other).motion
    assert apart(read, made) < 0.06
    bpy.ops.nsm.remove_bake()
    assert difference(before, snapshot()) == {}


def test_an_fbx_file_without_a_skin_takes_its_rest_pose_from_standing_frames_and_says_so(
    rig, extension_module, tmp_path
):
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    job.run()
    made, path = job.work.motion(), tmp_path / "walk.fbx"
    bpy.ops.nsm.export_fbx(filepath=str(path))
    bpy.ops.nsm.remove_bake()
    before = snapshot()
    assert bpy.ops.nsm.apply_motion(filepath=str(path)) == {"FINISHED"}
    assert "no rest pose" in rig.nsm.report.notes
    read = extension_module("scene.recording").record(bpy.context, rig).motion
    assert apart(read, made) < 0.06
    bpy.ops.nsm.remove_bake()
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8])
def test_applying_a_file_is_cancelled_with_nothing_left_behind(rig, walk, extension_module, share):
    before = snapshot()
    job = extension_module("operators.motion_file_job").MotionFileJob(bpy.context, rig, walk[0], 1, here=True)
    job.step()
    while job.report.frames == 0:  # the file is read in the background
        job.step()
    while job.progress < share:
        job.step()
    assert not job.done
    job.cancel()
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("none.bvh", None, "there is no such file"),
        ("none.fbx", None, "there is no such file"),
        ("bad.bvh", "HIERARCHY\nnonsense", "bad.bvh"),
        ("bad.fbx", "; not FBX", "cannot be read as FBX"),
        ("bad.txt", "x", "motion is read from"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_nothing_changes(rig, tmp_path, name, text, sentence):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    before = snapshot()
    with pytest.raises(RuntimeError, match=sentence):
        bpy.ops.nsm.apply_motion(filepath=str(path))
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize("ending", ["glb", "gltf", "vrm"])
@pytest.mark.parametrize("source", ["Unreal 5", "glTF without toes"])
def test_a_gltf_file_is_put_on_a_bound_rig_and_leaves_nothing_else(rig, extension_module, tmp_path, ending, source):
    bpy.data.objects.remove(rig)
    rig, _ = rigs.add(source)
    bpy.ops.nsm.bind()
    rig.nsm.path = build.curve([(0, 0, 0), (0.3, -2, 0), (1.5, -4, 0)], "BEZIER")
    skin(rig)
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    job.run()
    made, path = job.work.motion(), tmp_path / f"walk.{ending}"
    kind = "GLTF_SEPARATE" if ending == "gltf" else "GLB"
    written = path.with_suffix(".gltf" if ending == "gltf" else ".glb")
    bpy.ops.export_scene.gltf(filepath=str(written), export_format=kind, export_anim_slide_to_zero=True)
    written.rename(path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.render.fps = 30
    other, _ = rigs.add("Mixamo")
    bpy.ops.nsm.bind()
    before = snapshot()
    assert bpy.ops.nsm.apply_motion(filepath=str(path)) == {"FINISHED"}
    read = extension_module("scene.recording").record(bpy.context, other).motion
    assert apart(read, made) < 0.06
    bpy.ops.nsm.remove_bake()
    assert difference(before, snapshot()) == {}
