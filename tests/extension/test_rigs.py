# SPDX-License-Identifier: GPL-3.0-or-later
"""Binding, baking and reading back on rigs in all conventions, through the installed extension's operators."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest

from nsm_blender.evaluation.rig_figures import LIMBS, SURE_OF

from . import build, rigs

FRAMES = 30


@pytest.fixture
def add(generated_file):
    """A function that adds a rig by its name and makes it active; returns it and the truth: joint -> bone."""

    def added(name: str) -> tuple[bpy.types.Object, dict[str, str]]:
        if name == "Rigify metarig":
            return rigs.metarig()
        if name == "Rigify generated":
            return rigs.from_file(generated_file)
        return rigs.add(name)

    return added


VERSIONS = ("Rigify metarig", "Rigify generated", "Mixamo")
"""Rigs that all versions of Blender are tested with: Rigify's come from its own add-on, and one that is plain bones."""


def told_apart(*names: str) -> list[Any]:
    """Names of rigs as parameters; the conventions that are not of VERSIONS are our own business."""
    return [name if name in VERSIONS else pytest.param(name, marks=pytest.mark.any_version) for name in names]


EVERY = told_apart("Rigify metarig", "Rigify generated", *rigs.PLAIN)
SOME = told_apart("Rigify generated", "Mixamo", "Unreal 5", "child", "giant at 0.01", "A-pose with random rolls")


def bind(rig: bpy.types.Object) -> dict[str, str]:
    """Press Bind; returns joint -> bone."""
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.nsm.bind() == {"FINISHED"}
    return {row.name: row.bone for row in rig.nsm.binding.matches if row.bone}


def on_path(rig: bpy.types.Object, frames: int = FRAMES) -> None:
    """Let the rig follow a bent curve."""
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, frames
    rig.nsm.path = build.curve([(0, 0, 0), (0.3, -2, 0), (1.5, -4, 0)], "BEZIER")
    bpy.context.view_layer.objects.active = rig


def heads(rig: bpy.types.Object, frame: int, names: list[str]) -> np.ndarray:
    bpy.context.scene.frame_set(frame)
    return np.array([rig.matrix_world @ rig.pose.bones[name].head for name in names])


@pytest.mark.parametrize("name", EVERY)
def test_one_click_finds_every_joint(engine, add, name):
    rig, truth = add(name)
    found = bind(rig)
    if name == "nonsense names":
        truth = {joint: bone for joint, bone in truth.items() if joint in SURE_OF}
    assert {joint: found.get(joint) for joint in truth} == truth


@pytest.mark.parametrize("name", EVERY)
def test_a_bake_brings_every_rig_where_the_engine_says(engine, add, extension_module, name):
    rig, _ = add(name)
    bind(rig)
    on_path(rig)
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    job.run()
    report, seen = job.report, job.gathered.rig
    measure = extension_module("scene.measure")
    assert 0 < report.frames_measured <= FRAMES, "as many as the time allows"
    assert report.rig_error_mm_max < 0.1
    motion = job.work.motion()
    own = measure._foot_slide(motion, np.arange(FRAMES), motion.positions) * 100
    assert report.foot_slide_cm_per_s < own + 1.0
    # The limbs point where the engine's do: mean under 1 degree, none over 3.
    bones = dict(zip(seen.bones, seen.measured, strict=True))
    at = {joint: bones[row.bone] for joint, row in rig.nsm.binding.matches.items() if row.bone}
    angles = []
    for frame in range(1, FRAMES + 1, 7):
        limbs = [(at[upper], at[lower]) for upper, lower in LIMBS]
        ends = heads(rig, frame, [name for pair in limbs for name in pair]).reshape(-1, 2, 3)
        index = [[motion.names.index(joint) for joint in pair] for pair in LIMBS]
        wanted = np.diff(motion.positions[frame - 1][index], axis=1)[:, 0]
        angles.append(angle(np.diff(ends, axis=1)[:, 0], wanted))
    assert np.mean(angles) < 1.0
    assert np.max(angles) < 3.0


def angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Degrees between vectors (N, 3)."""
    across = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.degrees(np.arctan2(across, np.sum(a * b, axis=-1)))


@pytest.mark.parametrize("name", SOME)
def test_only_the_mapped_bones_and_their_controls_are_keyed(engine, add, extension_module, name):
    rig, _ = add(name)
    bind(rig)
    on_path(rig)
    bpy.ops.nsm.bake()
    seen = extension_module("scene.armatures").read(bpy.context, rig)
    paths = {curve.data_path for curve in extension_module("scene.actions").of(rig)}
    keyed = {path.split('"')[1] for path in paths}
    controls = {f"{name}.{side}" for name in ("foot_ik", "toe_ik", "hand_ik") for side in "LR"}
    controls |= {f"{limb}_ik_target.{side}" for limb in ("thigh", "upper_arm") for side in "LR"}
    assert keyed <= set(seen.bones) | controls | {
        "torso",
        "thigh_parent.L",
        "thigh_parent.R",
        "upper_arm_parent.L",
        "upper_arm_parent.R",
    }
    assert not any(bone.startswith(("DEF-", "ORG-", "MCH-")) for bone in keyed)
    placed = {path.split('"')[1] for path in paths if path.endswith("location")}
    assert placed - controls == {seen.bones[0]}


@pytest.mark.parametrize("name", SOME)
def test_what_was_baked_is_read_back(engine, add, extension_module, name):
    rig, _ = add(name)
    bind(rig)
    on_path(rig)
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    job.run()
    made = job.work.motion()
    read = extension_module("scene.recording").record(bpy.context, rig).motion
    assert np.linalg.norm(read.positions - made.positions, axis=-1).max() < 0.005
    same = np.abs(np.sum(read.rotations * made.rotations, axis=-1))
    assert np.degrees(2 * np.arccos(np.clip(same, 0, 1))).max() < 0.5


@pytest.mark.parametrize("mode", ["XYZ", "ZXY", "AXIS_ANGLE"])
def test_bound_rigs_of_any_rotation_mode_are_baked_without_jumps(engine, add, extension_module, mode):
    rig, _ = add("Unreal 5")
    for bone in rig.pose.bones:
        bone.rotation_mode = mode
    bind(rig)
    on_path(rig)
    bpy.ops.nsm.bake()
    assert rig.nsm.report.rig_error_mm_max < 0.1
    if mode != "AXIS_ANGLE":
        for curve in extension_module("scene.actions").of(rig):
            if "rotation" in curve.data_path:
                assert np.abs(np.diff([curve.evaluate(frame) for frame in range(1, 41)])).max() < 2.5


def test_rigifys_switches_are_set_and_given_back(engine, add):
    rig, _ = add("Rigify generated")
    bind(rig)
    on_path(rig)
    before = {name: rig.pose.bones[name]["IK_FK"] for name in ("thigh_parent.L", "upper_arm_parent.R")}
    bpy.ops.nsm.bake()
    bpy.context.scene.frame_set(5)
    assert [rig.pose.bones[name]["IK_FK"] for name in before] == [1.0, 1.0]
    bpy.ops.nsm.remove_bake()
    assert {name: rig.pose.bones[name]["IK_FK"] for name in before} == before == dict.fromkeys(before, 0.0)


def test_no_control_of_rigifys_stays_behind_where_the_rig_stands(engine, add):
    rig, _ = add("Rigify generated")
    bind(rig)
    on_path(rig)
    pairs = [("foot_ik", "ORG-foot"), ("hand_ik", "ORG-hand"), ("thigh_ik_target", "ORG-shin")]

    def apart(frame):
        """Meters between each control and the bone that it belongs to."""
        both = [heads(rig, frame, [f"{control}.L", f"{bone}.L"]) for control, bone in pairs]
        return np.array([np.linalg.norm(own - moved) for own, moved in both])

    at_rest = apart(1)
    bpy.ops.nsm.bake()
    for frame in (1, FRAMES):
        assert np.abs(apart(frame) - at_rest).max() < 0.05


def test_rigifys_legs_and_arms_are_keyed_by_their_ik_controls_by_choice(engine, add, extension_module):
    rig, _ = add("Rigify generated")
    bind(rig)
    on_path(rig)
    rig.nsm.binding.ik_legs = rig.nsm.binding.ik_arms = True
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    job.run()
    keyed = {curve.data_path.split('"')[1] for curve in extension_module("scene.actions").of(rig)}
    assert {"foot_ik.L", "thigh_ik_target.R", "toe_ik.L", "hand_ik.R", "upper_arm_ik_target.L"} <= keyed
    seen, motion = job.gathered.rig, job.work.motion()
    places = dict(zip(seen.bones, seen.wanted(motion, np.arange(len(motion)))[0].transpose(1, 0, 2), strict=True))
    for frame in (1, 11, 30):
        for limb, far in (("foot", 0.001), ("hand", 0.001), ("shin", 0.005), ("forearm", 0.005)):
            (place,) = heads(rig, frame, [f"ORG-{limb}.L"])
            assert np.linalg.norm(place - places[f"{limb}_fk.L"][frame - 1]) < far
    # The other controls hold the same pose: an animator may switch at any frame, and what is read back was baked.
    for frame in (5, 20):
        bpy.context.scene.frame_set(frame)
        for limb in ("foot", "hand", "shin", "forearm"):
            bones = [rig.pose.bones[f"{part}.R"] for part in (f"{limb}_fk", f"ORG-{limb}")]
            assert (bones[0].head - bones[1].head).length < 0.005
    read = extension_module("scene.recording").record(bpy.context, rig).motion
    assert np.linalg.norm(read.positions - motion.positions, axis=-1).max() < 0.005
    same = np.abs(np.sum(read.rotations * motion.rotations, axis=-1))
    assert np.degrees(2 * np.arccos(np.clip(same, 0, 1))).max() < 0.5


@pytest.mark.parametrize("inverse", [False, True])
def test_a_bake_on_rigifys_rig_is_read_from_its_keys_without_playing_it(engine, add, extension_module, inverse):
    rig, _ = add("Rigify generated")
    bind(rig)
    on_path(rig)
    rig.nsm.binding.ik_legs = rig.nsm.binding.ik_arms = inverse
    bpy.ops.nsm.bake()
    played = []
    bpy.app.handlers.frame_change_post.append(lambda scene, _: played.append(scene.frame_current))
    extension_module("scene.recording").record(bpy.context, rig)
    bpy.app.handlers.frame_change_post.clear()
    assert not played


@pytest.mark.parametrize(("name", "inverse"), [("Rigify generated", True), ("Mixamo", False)])
def test_a_bake_that_is_kept_shows_on_any_rig_what_it_did(engine, add, name, inverse):
    rig, _ = add(name)
    bind(rig)
    on_path(rig)
    rig.nsm.binding.ik_legs = rig.nsm.binding.ik_arms = inverse
    bpy.ops.nsm.bake()

    def shown():
        heads = []
        for frame in range(1, FRAMES + 1, 3):
            bpy.context.scene.frame_set(frame)
            heads.append([rig.matrix_world @ bone.head for bone in rig.pose.bones if bone.bone.use_deform])
        return np.array(heads)

    before = shown()
    bpy.ops.nsm.keep_bake()
    assert np.linalg.norm(shown() - before, axis=-1).max() < 1e-4


@pytest.mark.parametrize("change", ["chest", "IK_FK", "hand_ik"])
def test_what_moves_rigifys_limbs_beside_a_bakes_keys_is_read_too(engine, add, extension_module, change):
    rig, _ = add("Rigify generated")
    bind(rig)
    on_path(rig)
    rig.nsm.binding.ik_arms = change == "hand_ik"
    bpy.ops.nsm.bake()
    record = extension_module("scene.recording").record
    before = record(bpy.context, rig).motion
    bones = rig.pose.bones
    if change == "IK_FK":
        for curve in extension_module("scene.actions").of(rig):
            if curve.data_path == 'pose.bones["upper_arm_parent.L"]["IK_FK"]':
                for key in curve.keyframe_points:
                    key.co.y = 0.0
            if curve.data_path == 'pose.bones["hand_ik.L"].location':
                for key in curve.keyframe_points:
                    key.co.y += 0.3
    elif change == "hand_ik":
        for curve in extension_module("scene.actions").of(rig):
            if curve.data_path == 'pose.bones["hand_ik.L"].location':
                for key in curve.keyframe_points:
                    key.co.y += 0.06
    else:
        bones["chest"].rotation_mode = "XYZ"
        bones["chest"].rotation_euler = (0.4, 0.0, 0.3)
        bones["chest"].keyframe_insert("rotation_euler", frame=1)
    bpy.context.view_layer.update()
    after = record(bpy.context, rig).motion
    hand = after.names.index("LeftHand")
    assert np.linalg.norm(after.positions[:, hand] - before.positions[:, hand], axis=-1).min() > 0.03
    bpy.context.scene.frame_set(7)
    seen = rig.matrix_world @ bones["ORG-hand.L"].head
    shoulder = rig.matrix_world @ bones["ORG-upper_arm.L"].head
    along = after.positions[6, hand] - after.positions[6, after.names.index("LeftArm")]
    assert float(angle(along[None], np.array(seen - shoulder)[None])[0]) < 3.0


@pytest.mark.parametrize("name", ["Unreal 5", "Rigify generated"])
@pytest.mark.parametrize("carrier", ["ROOT", "OBJECT"])
def test_a_root_bone_or_the_object_moves_over_the_ground_by_choice(engine, add, name, carrier):
    rig, _ = add(name)
    if name == "Unreal 5":
        bpy.ops.object.mode_set(mode="EDIT")
        root = rig.data.edit_bones.new("root")
        root.head, root.tail = (0, 0, 0), (0, 30, 0)
        rig.data.edit_bones["pelvis"].parent = root
        bpy.ops.object.mode_set(mode="OBJECT")
    bind(rig)
    on_path(rig)
    rig.nsm.binding.root_motion = carrier
    bpy.ops.nsm.bake()
    assert rig.nsm.report.rig_error_mm_max < 0.1
    scene = bpy.context.scene
    moved = []
    for frame in (1, FRAMES):
        scene.frame_set(frame)
        moved.append(np.array(rig.matrix_world @ rig.pose.bones["root"].head if carrier == "ROOT" else rig.location))
    assert np.linalg.norm((moved[1] - moved[0])[:2]) > 0.7
    assert abs(moved[1][2] - moved[0][2]) < 0.05
    bpy.ops.nsm.remove_bake()
    assert tuple(rig.location) == (0, 0, 0)


def test_the_finger_controls_of_a_generated_rig_close_what_the_mesh_follows(add):
    rig, _ = add("Rigify generated")
    bind(rig)
    on_path(rig, 20)
    rig.nsm.binding.fingers = "GRIP"
    bpy.ops.nsm.bake()
    assert "fingers" not in rig.nsm.report.notes
    bpy.context.scene.frame_set(10)
    bones = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    for side in ("L", "R"):
        along = bones[f"DEF-f_middle.01.{side}"].head - bones[f"DEF-hand.{side}"].head
        for finger in ("f_index", "f_middle", "f_ring", "f_pinky"):
            end = bones[f"DEF-{finger}.03.{side}"]
            assert np.degrees(along.angle(end.tail - end.head)) > 110, f"{finger} {side}"
    assert rig.nsm.report.rig_error_mm_max < 0.1
