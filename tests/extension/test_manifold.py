# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading animation back, constraints, editing and restyling through the installed extension's operators."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from . import build
from .layouts import drawn
from .snapshot import difference, snapshot

MILLIMETER = 1e-3


@pytest.fixture
def recording(extension_module):
    return extension_module("scene.recording")


@pytest.fixture
def baked(engine, extension_module):
    """A function that bakes a walk and returns the armature and the motion that the engine made."""
    module = extension_module("operators.job")

    def bake(change=None, frames=40):
        rig, _ = build.shot(engine, frames)
        if change is not None:
            change(rig)
        job = module.BakeJob(bpy.context, rig)
        job.run()
        return rig, job.work.motion()

    return bake


def largest_difference(recording, rig, motion):
    """Millimeters between joints and degrees between rotations of a character's animation and a motion."""
    found = recording.record(bpy.context, rig).motion
    assert len(found) == len(motion)
    apart = np.linalg.norm(found.positions - motion.positions, axis=-1).max() / MILLIMETER
    dots = np.clip(np.abs((found.rotations.astype(np.float64) * motion.rotations).sum(-1)), 0, 1)
    return apart, np.degrees(2 * np.arccos(dots)).max()


def _as_it_is(_rig):
    pass


def _turned_and_small(rig):
    rig.scale, rig.rotation_euler, rig.location = (0.5,) * 3, (0.3, -0.2, 2.0), (3, -2, 1)


def _eulers(rig):
    for bone, mode in zip(rig.pose.bones, ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "AXIS_ANGLE"] * 4, strict=False):
        bone.rotation_mode = mode


def _below_a_posed_root_bone(rig):
    bpy.ops.object.mode_set(mode="EDIT")
    root = rig.data.edit_bones.new("Root")
    root.head, root.tail, root.roll = (0.1, 0.2, 0), (0.3, 1, 0.2), 0.7
    rig.data.edit_bones["Hips"].parent = root
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.pose.bones["Root"].location = (0.2, 0.1, 0.5)
    rig.pose.bones["Root"].rotation_quaternion = (0.8, 0.3, 0.4, 0.2)


def _without_inherited_rotation(rig):
    for name in ("LeftLeg", "Spine1", "Head"):
        rig.data.bones[name].use_inherit_rotation = False


def _in_centimeters(rig):
    rig.data.transform(Matrix.Scale(100, 4))
    rig.scale = (0.01,) * 3


def _on_a_moving_parent(rig):
    parent = bpy.data.objects.new("Parent", None)
    bpy.context.scene.collection.objects.link(parent)
    rig.parent = parent
    parent.keyframe_insert("location", frame=1)
    parent.location.x += 2
    parent.keyframe_insert("location", frame=30)


@pytest.mark.parametrize(
    "change",
    [
        _as_it_is,
        _turned_and_small,
        _eulers,
        _below_a_posed_root_bone,
        _without_inherited_rotation,
        _in_centimeters,
        _on_a_moving_parent,
    ],
)
def test_a_bake_read_back_is_the_motion_that_was_baked(baked, recording, change):
    rig, motion = baked(change)
    before = snapshot()
    apart, turned = largest_difference(recording, rig, motion)
    assert difference(before, snapshot()) == {}
    assert apart < 0.5
    assert turned < 0.1


def test_a_bake_in_an_nla_strip_is_read_as_it_plays(baked, recording):
    rig, motion = baked()
    action = rig.animation_data.action
    rig.animation_data.action = None
    rig.animation_data.nla_tracks.new().strips.new("Strip", 1, action)
    apart, turned = largest_difference(recording, rig, motion)
    assert apart < 0.5
    assert turned < 0.1


def test_an_object_that_moves_with_its_action_is_read_as_it_plays(baked, recording):
    rig, motion = baked()
    for frame, x in ((1, 0.0), (40, 3.9)):
        rig.location.x = x
        rig.keyframe_insert("location", frame=frame)
    found = recording.record(bpy.context, rig).motion
    moved = found.positions[:, 0] - motion.positions[:, 0]
    assert moved[0, 0] == pytest.approx(0, abs=1e-3)
    assert moved[-1, 0] == pytest.approx(3.9, abs=1e-3)


def test_the_frames_are_those_of_the_action_or_of_the_custom_range(baked, recording):
    rig, motion = baked()
    bpy.context.scene.frame_end = 10
    assert len(recording.record(bpy.context, rig).motion) == 40
    settings = bpy.context.scene.nsm
    settings.use_custom_range, settings.frame_start, settings.frame_end = True, 11, 20
    found = recording.record(bpy.context, rig).motion
    assert np.abs(found.positions - motion.positions[10:20]).max() < 0.5 * MILLIMETER


def test_an_armature_without_animation_is_refused(engine, recording):
    rig, _ = build.shot(engine)
    with pytest.raises(Exception, match="has no action"):
        recording.record(bpy.context, rig)


def test_the_feet_that_touch_the_ground_are_found(baked, recording):
    rig, motion = baked(frames=90)
    found = recording.record(bpy.context, rig).motion
    agree = (found.contacts > 0.5) == (motion.contacts > 0.5)
    assert agree.mean() > 0.85


def empty(place, name="Target"):
    """An empty at a place, linked to the scene."""
    obj = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(obj)
    obj.location = place
    return obj


def select(*objects):
    """Select these objects; the last is active."""
    bpy.context.view_layer.update()
    for obj in bpy.context.scene.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[-1]


def test_joints_and_contacts_are_those_of_the_model_skeleton(extension_module):
    settings, skeleton = extension_module("scene.manifold"), extension_module("nsm_blender.motion.skeleton")
    assert tuple(item[0] for item in settings.JOINT_ITEMS) == skeleton.MODEL_SKELETON.names
    assert [item[3] for item in settings.JOINT_ITEMS] == list(range(22))
    assert tuple(item[0] for item in settings.CONTACT_ITEMS) == skeleton.CONTACT_JOINTS


def test_constraints_are_added_moved_and_removed(engine):
    rig, _ = build.shot(engine)
    edit = rig.nsm.manifold.edit
    bpy.context.scene.frame_set(12)
    target = empty((1, 2, 3))
    select(target, rig)
    bpy.ops.nsm.add_constraint(kind="PIN")
    bpy.ops.nsm.add_constraint(kind="FEET")
    named = [("Pin Joint", "PIN"), ("Keep Trajectory", "TRAJECTORY"), ("Planted Feet", "FEET")]
    assert [(item.name, item.kind) for item in edit.constraints] == named
    assert edit.constraints[0].target == target
    assert edit.constraint_index == 2
    bpy.ops.nsm.move_constraint(direction="UP")
    assert [item.kind for item in edit.constraints] == ["PIN", "FEET", "TRAJECTORY"]
    bpy.ops.nsm.remove_constraint()
    assert [item.kind for item in edit.constraints] == ["PIN", "TRAJECTORY"]
    bpy.ops.nsm.remove_constraint()
    bpy.ops.nsm.remove_constraint()
    assert not bpy.ops.nsm.remove_constraint.poll()
    assert not bpy.ops.nsm.move_constraint.poll()


def test_constraints_arrive_in_the_engine_with_their_places_and_frames(baked, extension_module):
    rig, _ = baked()
    moving = empty((1, 0, 1))
    moving.keyframe_insert("location", frame=1)
    moving.location.x = 40
    moving.keyframe_insert("location", frame=40)
    for layer_curve in extension_module("scene.actions").of(moving):
        for key in layer_curve.keyframe_points:
            key.interpolation = "LINEAR"
    edit = rig.nsm.manifold.edit
    for kind in ("PIN", "LOOK", "FLOOR", "TRAJECTORY"):
        item = edit.constraints.add()
        item.kind = item.name = kind
    pin, look, floor, trajectory = edit.constraints
    pin.target, pin.joint, pin.weight = moving, "LeftHand", 2.0
    pin.use_range, pin.frame_start, pin.frame_end = True, 11, 20
    look.place, floor.height, trajectory.enabled = (1, 2, 3), 0.5, False
    module, recording = extension_module("scene.constraints"), extension_module("scene.recording")
    recorded = recording.record(bpy.context, rig).gathered
    before = snapshot()
    found = module.gather(bpy.context, edit, recorded.rig, recorded.frames)
    assert difference(before, snapshot()) == {}
    assert [type(c).__name__ for c in found] == ["PinJoint", "LookAt", "FloorHeight"]
    assert (found[0].joint, found[0].start, found[0].stop, found[0].weight) == ("LeftHand", 10, 20, 2.0)
    assert [place[0] for place in found[0].places] == pytest.approx(list(range(11, 21)), abs=1e-4)
    assert np.allclose(found[1].target, [[1, 2, 3]])
    assert found[2].height == pytest.approx(0.5)
    pin.frame_start, pin.frame_end = 100, 110
    with pytest.raises(Exception, match="runs from frame 100 to 110, but the motion from 1 to 40"):
        module.gather(bpy.context, edit, recorded.rig, recorded.frames)


def test_a_pose_key_keeps_the_pose_that_is_shown_though_it_is_not_keyed(baked, extension_module):
    rig, motion = baked()
    bpy.context.scene.frame_set(20)
    bone = rig.pose.bones["LeftArm"]
    bone.rotation_quaternion = (0.8, 0.1, 0.5, 0.2)
    bpy.context.view_layer.update()
    hand = rig.pose.bones["LeftHand"]
    height = (rig.matrix_world @ hand.head).z
    bpy.ops.nsm.add_constraint(kind="POSE")
    skeleton = extension_module("nsm_blender.motion.skeleton").MODEL_SKELETON
    edit = rig.nsm.manifold.edit
    recorded = extension_module("scene.recording").record(bpy.context, rig).gathered
    (key,) = extension_module("scene.constraints").gather(bpy.context, edit, recorded.rig, recorded.frames)
    assert (key.start, key.stop) == (19, 20)
    assert key.places[skeleton.index("LeftHand")][2] == pytest.approx(height, abs=1e-3)
    assert abs(height - motion.positions[19, skeleton.index("LeftHand"), 2]) > 0.05
    assert key.places[0][:2] == pytest.approx([0, 0], abs=1e-6)
    bpy.context.scene.frame_set(1)
    bpy.ops.nsm.capture_pose()
    assert edit.constraints[0]["nsm_pose"][2] == pytest.approx(motion.positions[0, 0, 2], abs=1e-3)


def test_contacts_are_detected_corrected_and_then_used(baked, extension_module):
    rig, _ = baked(frames=90)
    bpy.ops.nsm.detect_contacts()
    edit = rig.nsm.manifold.edit
    assert len(edit.contacts) >= 8  # four joints, two steps at least
    constraints, recording = extension_module("scene.constraints"), extension_module("scene.recording")
    recorded = recording.record(bpy.context, rig)
    frames = recorded.gathered.frames
    listed = constraints.with_contacts(recorded.motion, edit, frames)
    assert np.array_equal(listed.contacts, recorded.motion.contacts)
    edit.contacts[0].frame_end = edit.contacts[0].frame_start
    changed = constraints.with_contacts(recorded.motion, edit, frames)
    assert changed.contacts.sum() < listed.contacts.sum()
    count = len(edit.contacts)
    bpy.ops.nsm.add_contact()
    assert len(edit.contacts) == count + 1
    bpy.ops.nsm.remove_contact()
    assert len(edit.contacts) == count
    bpy.ops.nsm.clear_contacts()
    assert not edit.contacts
    assert not bpy.ops.nsm.clear_contacts.poll()


def pinned(rig, place, first, last):
    """Pin the right hand of `rig` to a place in a range of frames."""
    item = rig.nsm.manifold.edit.constraints.add()
    item.kind, item.joint, item.target = "PIN", "RightHand", empty(place)
    item.use_range, item.frame_start, item.frame_end = True, first, last


def add_feet(rig):
    rig.nsm.manifold.edit.constraints.add().kind = "FEET"


def near_the_hand(rig, frame):
    """A place 15 cm from the right hand at a frame."""
    bpy.context.scene.frame_set(frame)
    return np.add(rig.matrix_world @ rig.pose.bones["RightHand"].head, (0.1, 0.0, 0.1))


def test_an_edit_writes_a_new_action_in_which_the_hand_is_at_its_pin(baked, extension_module):
    rig, _ = baked(frames=60)
    first = rig.animation_data.action
    place = near_the_hand(rig, 30)
    pinned(rig, place, 29, 31)
    add_feet(rig)
    assert bpy.ops.nsm.edit_motion() == {"FINISHED"}
    action = rig.animation_data.action
    assert action != first
    assert len(bpy.data.actions) == 2
    for curve in extension_module("scene.actions").of(rig):
        assert tuple(curve.range()) == (1, 60)
        assert {key.type for key in curve.keyframe_points} == {"GENERATED"}
    bpy.context.scene.frame_set(30)
    hand = np.array(rig.matrix_world @ rig.pose.bones["RightHand"].head)
    assert np.linalg.norm(hand - place) < 0.005
    figures = {figure.label: figure for figure in rig.nsm.manifold.edit.figures}
    assert figures["Pins"].before > 10 > 0.5 > figures["Pins"].after
    assert rig.nsm.report.rig_error_mm_max < 0.05
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data.action == first


def test_an_edit_tells_how_far_a_pose_key_and_a_gaze_are_met(baked):
    rig, _ = baked(frames=60)
    bpy.context.scene.frame_set(30)
    rig.pose.bones["LeftArm"].rotation_quaternion = (0.8, 0.1, 0.5, 0.2)
    bpy.context.view_layer.update()
    bpy.ops.nsm.add_constraint(kind="POSE")
    look = rig.nsm.manifold.edit.constraints.add()
    look.kind, look.place = "LOOK", rig.matrix_world @ Matrix.Translation((2, -2, 1.5)).translation
    assert bpy.ops.nsm.edit_motion() == {"FINISHED"}
    figures = {figure.label: figure for figure in rig.nsm.manifold.edit.figures}
    assert figures["Pose keys"].before > 10 > figures["Pose keys"].after
    assert figures["Gaze"].before > 2 * figures["Gaze"].after


def test_an_edit_at_strength_zero_is_the_motion_as_it_was(baked, recording):
    rig, motion = baked(frames=60)
    pinned(rig, near_the_hand(rig, 30), 29, 31)
    rig.nsm.manifold.edit.strength = 0.0
    bpy.ops.nsm.edit_motion()
    apart, turned = largest_difference(recording, rig, motion)
    assert apart < 5  # the manifold knows 60 frames a second, the scene has 30
    assert turned < 0.5


def test_an_edit_without_constraints_is_refused(baked):
    baked()
    before = snapshot()
    with pytest.raises(RuntimeError, match="no constraint that is enabled"):
        bpy.ops.nsm.edit_motion()
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize("progress", [0.0, 0.3, 0.86, 0.95])
def test_a_cancelled_edit_leaves_everything_as_it_was(baked, extension_module, progress):
    rig, _ = baked(frames=60)
    pinned(rig, near_the_hand(rig, 30), 29, 31)
    before = snapshot()
    job = extension_module("operators.manifold_job").EditJob(bpy.context, rig)
    while job.progress < progress:
        job.step()
    assert not job.done
    job.cancel()
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize("place", ["operators.manifold_job.EditJob.figures", "scene.actions._enum"])
def test_an_exception_in_an_edit_leaves_everything_as_it_was(baked, extension_module, monkeypatch, capfd, place):
    rig, _ = baked(frames=60)
    pinned(rig, near_the_hand(rig, 30), 29, 31)
    before = snapshot()
    parts = place.split(".")
    owner = extension_module(".".join(parts[:2]))
    for part in parts[2:-1]:
        owner = getattr(owner, part)

    def fail(*_args):
        raise RuntimeError("the disk caught fire")

    monkeypatch.setattr(owner, parts[-1], fail)
    with pytest.raises(RuntimeError, match="the disk caught fire"):
        bpy.ops.nsm.edit_motion()
    assert difference(before, snapshot()) == {}


def test_the_panels_of_a_character_show_what_can_be_set(engine):
    rig, _ = build.shot(engine)
    assert "Edit Motion" in drawn("NSM_PT_edit")
    assert "Contacts are detected." in drawn("NSM_PT_contacts")
    for kind, settings in (
        ("PIN", {"Joint", "Target", "Place"}),
        ("LOOK", {"Target", "Place"}),
        ("FLOOR", {"Height"}),
        ("POSE", {"Start", "End", "Capture Pose"}),
    ):
        bpy.ops.nsm.add_constraint(kind=kind)
        assert settings <= set(drawn("NSM_PT_edit"))
    rig.nsm.manifold.edit.contacts.add()
    assert "Contacts are detected." not in drawn("NSM_PT_contacts")
    figure = rig.nsm.manifold.edit.figures.add()
    figure.label, figure.unit, figure.before, figure.after = "Foot slide", "cm/s", 4.0, 0.5
    assert {"Foot slide", "4.00 to 0.50 cm/s"} <= set(drawn("NSM_PT_edit"))


def test_a_style_of_another_characters_action_is_taken_on(engine, extension_module, recording):
    rig, way = build.shot(engine, 60)
    bpy.ops.nsm.bake()
    reference = build.armature(engine, "Reference")
    reference.nsm.path = way
    way.nsm.gait = "crouch"
    bpy.ops.nsm.bake()
    select(rig)
    motion = recording.record(bpy.context, rig).motion
    style = rig.nsm.manifold.style
    style.source.kind, style.source.rig = "ACTION", reference
    assert bpy.ops.nsm.apply_style() == {"FINISHED"}
    assert rig.animation_data.action.name.startswith("Rig ")
    found = recording.record(bpy.context, rig).motion
    assert found.positions[:, 0, 2].mean() < motion.positions[:, 0, 2].mean() - 0.05
    assert np.linalg.norm(found.root[:, :2] - motion.root[:, :2], axis=1).max() < 0.1
    figures = {figure.label: figure for figure in rig.nsm.manifold.edit.figures}
    assert figures["Style sought"].after < 0.3
    assert figures["Style sought"].after < figures["Style in the end"].after < figures["Style in the end"].before
    assert reference.animation_data.action.name == "Reference Bake"


def test_with_the_style_s_timing_the_same_way_takes_as_long_as_the_style_does(engine, recording):
    rig, way = build.shot(engine, 72)
    bpy.ops.nsm.bake()
    reference = build.armature(engine, "Reference")
    reference.nsm.path = way
    way.nsm.gait, way.nsm.speed = "crouch", 0.6
    bpy.ops.nsm.bake()
    select(rig)
    before = recording.record(bpy.context, rig).motion
    style = rig.nsm.manifold.style
    style.source.kind, style.source.rig, style.timing = "ACTION", reference, 1.0
    assert bpy.ops.nsm.apply_style() == {"FINISHED"}
    after = recording.record(bpy.context, rig).motion
    assert len(after) > 1.2 * len(before)
    far = np.linalg.norm(after.root[:, None, :2] - before.root[None, :, :2], axis=-1).min(1)
    assert far.max() < 0.1
    assert np.linalg.norm(after.root[-1, :2] - before.root[-1, :2]) < 0.15
    figures = {figure.label: figure for figure in rig.nsm.manifold.edit.figures}
    assert figures["Style in the end"].after < figures["Style by tempo"].after
    assert f"to frame {len(after)}" in rig.nsm.report.notes
    bpy.ops.nsm.remove_bake()
    assert len(recording.record(bpy.context, rig).motion) == len(before)


def test_a_style_without_a_reference_is_refused(baked):
    rig, _ = baked()
    before = snapshot()
    rig.nsm.manifold.style.source.kind = "ACTION"
    with pytest.raises(RuntimeError, match="No character shows the style"):
        bpy.ops.nsm.apply_style()
    rig.nsm.manifold.style.source.kind = "FILE"
    with pytest.raises(RuntimeError, match="No style file is chosen"):
        bpy.ops.nsm.apply_style()
    rig.nsm.manifold.style.source.property_unset("kind")
    assert difference(before, snapshot()) == {}


def test_a_saved_style_is_loaded_and_mixed(baked, tmp_path):
    rig, _ = baked(frames=60)
    path = tmp_path / "walk.npz"
    assert bpy.ops.nsm.save_style(filepath=str(path)) == {"FINISHED"}
    assert bpy.ops.nsm.load_style(filepath=str(path)) == {"FINISHED"}
    style = rig.nsm.manifold.style
    assert (style.source.kind, style.source.filepath) == ("FILE", str(path))
    style.use_second, style.second.kind, style.second.filepath, style.mix = True, "FILE", str(path), 0.25
    assert bpy.ops.nsm.apply_style() == {"FINISHED"}
    assert "Second Style" in drawn("NSM_PT_style")


def test_a_file_that_is_no_style_is_refused(baked, tmp_path):
    rig, _ = baked()
    path = tmp_path / "no_style.npz"
    path.write_text("not a style")
    before = snapshot()
    with pytest.raises(RuntimeError, match="cannot be read as a style file"):
        bpy.ops.nsm.load_style(filepath=str(path))
    assert difference(before, snapshot()) == {}
    with pytest.raises(RuntimeError, match="cannot be written"):
        bpy.ops.nsm.save_style(filepath=str(tmp_path / "missing" / "style.npz"))
    assert rig.nsm.manifold.style.source.kind == "BUNDLED"


def bytes_of(rig, extension_module):
    """All keys of a character's action, as bytes."""
    out = b""
    for curve in extension_module("scene.actions").of(rig):
        points = np.empty(2 * len(curve.keyframe_points), np.float32)
        curve.keyframe_points.foreach_get("co", points)
        out += f"{curve.data_path}[{curve.array_index}]".encode() + points.tobytes()
    return out


def test_an_edit_is_made_from_its_source_each_time(baked, extension_module):
    rig, _ = baked(frames=60)
    source = rig.animation_data.action
    untouched = bytes_of(rig, extension_module)
    bpy.context.scene.frame_set(20)
    bpy.ops.nsm.add_constraint(kind="PIN")
    pin = rig.nsm.manifold.edit.constraints[0]
    pin.place[2] += 0.15
    assert bpy.ops.nsm.edit_motion() == {"FINISHED"}
    once = bytes_of(rig, extension_module)
    assert once != untouched
    assert bpy.ops.nsm.edit_motion() == {"FINISHED"}
    assert bytes_of(rig, extension_module) == once, "an edit of an edit would be another motion"
    assert len(bpy.data.actions) == 2, "the second edit came in place of the first"
    for item in rig.nsm.manifold.edit.constraints:
        item.enabled = False
    assert bpy.ops.nsm.edit_motion() == {"FINISHED"}
    assert rig.animation_data.action == source
    assert bytes_of(rig, extension_module) == untouched
    for item in rig.nsm.manifold.edit.constraints:
        item.enabled = True
    assert bpy.ops.nsm.edit_motion() == {"FINISHED"}
    assert bytes_of(rig, extension_module) == once


def test_a_style_is_made_from_what_lies_below_all_edits_and_styles(baked, extension_module):
    rig, _ = baked(frames=60)
    source = rig.animation_data.action
    assert bpy.ops.nsm.apply_style() == {"FINISHED"}
    once = bytes_of(rig, extension_module)
    assert bpy.ops.nsm.apply_style() == {"FINISHED"}
    assert bytes_of(rig, extension_module) == once
    styled = rig.animation_data.action
    bpy.ops.nsm.add_constraint(kind="TRAJECTORY")
    assert bpy.ops.nsm.edit_motion() == {"FINISHED"}
    assert set(bpy.data.actions) == {source, styled, rig.animation_data.action}, "the edit leaves the style"
    assert f"Source: {styled.name}" in drawn("NSM_PT_refine")


def test_a_failed_edit_of_an_edit_shows_the_edit_again(baked, extension_module, monkeypatch):
    rig, _ = baked(frames=60)
    bpy.ops.nsm.add_constraint(kind="TRAJECTORY")
    bpy.ops.nsm.edit_motion()
    before = snapshot()

    def fail(*_args, **_options):
        raise RuntimeError("the disk caught fire")

    monkeypatch.setenv("NSM_BLENDER_RAISE", "1")
    monkeypatch.setattr(extension_module("scene.measure"), "measure", fail)
    with pytest.raises(RuntimeError, match="the disk caught fire"):
        bpy.ops.nsm.edit_motion()
    assert difference(before, snapshot()) == {}
    rig.nsm.manifold.edit.constraints[0].use_range = True
    rig.nsm.manifold.edit.constraints[0].frame_start = rig.nsm.manifold.edit.constraints[0].frame_end = 900
    before = snapshot()
    with pytest.raises(RuntimeError, match="correct its range"):
        bpy.ops.nsm.edit_motion()
    assert difference(before, snapshot()) == {}


def test_an_edit_with_keys_made_by_hand_stays_in_the_file(baked):
    rig, _ = baked(frames=60)
    bpy.ops.nsm.add_constraint(kind="TRAJECTORY")
    bpy.ops.nsm.edit_motion()
    edited = rig.animation_data.action
    rig.pose.bones["Head"].scale = (1.5, 1.5, 1.5)
    rig.pose.bones["Head"].keyframe_insert("scale", frame=10)
    bpy.ops.nsm.edit_motion()
    assert edited.name in bpy.data.actions
    assert rig.animation_data.action != edited


def test_a_pin_holds_the_joint_where_it_is_for_half_a_second_and_keeps_the_way(baked):
    rig, _ = baked(frames=60)
    bpy.context.scene.frame_set(30)
    shown = np.array(rig.matrix_world @ rig.pose.bones["RightHand"].head)
    bpy.ops.nsm.add_constraint(kind="PIN")
    pin, way = rig.nsm.manifold.edit.constraints
    assert np.linalg.norm(shown - pin.place) < 1e-3
    assert (pin.joint, pin.use_range, pin.frame_start, pin.frame_end) == ("RightHand", True, 22, 38)
    assert way.kind == "TRAJECTORY"
    bpy.ops.nsm.edit_motion()
    figures = {figure.label: figure.after for figure in rig.nsm.manifold.edit.figures}
    assert figures["Pins"] < 1.0
    assert figures["Trajectory"] < 2.0


def test_a_pin_takes_the_active_bone(baked):
    rig, _ = baked(frames=60)
    bpy.ops.object.mode_set(mode="POSE")
    rig.data.bones.active = rig.data.bones["LeftHand"]
    bpy.ops.nsm.add_constraint(kind="PIN")
    assert rig.nsm.manifold.edit.constraints[0].joint == "LeftHand"
