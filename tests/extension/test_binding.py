# SPDX-License-Identifier: GPL-3.0-or-later
"""The binding as a user handles it: proposed, changed by hand, checked, saved and loaded; and action keys on it."""

from __future__ import annotations

import json

import bpy
import pytest

from . import build, rigs
from .snapshot import difference, snapshot


@pytest.fixture
def rig(engine):
    """A bound Mixamo rig, active."""
    found, _ = rigs.add("Mixamo")
    bpy.ops.nsm.bind()
    return found


def bones(rig):
    return {row.name: row.bone for row in rig.nsm.binding.matches if row.bone}


def test_each_joint_has_a_row_with_bone_confidence_and_reason(rig):
    rows = {row.name: row for row in rig.nsm.binding.matches}
    assert rows["LeftForeArm"].bone == "mixamorig:LeftForeArm"
    assert rows["LeftForeArm"].confidence > 0.8
    assert rows["LeftForeArm"].why.startswith("Named as")


def test_a_row_changed_by_hand_is_sure_and_kept_over_save_and_load(rig, tmp_path):
    rig.nsm.binding.matches["Spine1"].bone = "mixamorig:Spine2"
    rig.nsm.binding.matches["Spine2"].bone = ""
    row = rig.nsm.binding.matches["Spine1"]
    assert (row.confidence, row.why) == (1.0, "Chosen by hand.")
    wanted, name, path = bones(rig), rig.name, str(tmp_path / "rig.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    assert bones(bpy.data.objects[name]) == wanted
    assert "Spine2" not in wanted


def test_a_mapping_goes_by_file_to_another_rig_of_its_kind(rig, tmp_path):
    rig.nsm.binding.matches["Neck"].bone = ""
    path = tmp_path / "mapping.json"
    assert bpy.ops.nsm.save_mapping(filepath=str(path)) == {"FINISHED"}
    assert json.loads(path.read_text())["joints"]["Head"]["bone"] == "mixamorig:Head"
    other, _ = rigs.add("Mixamo")
    assert bpy.ops.nsm.load_mapping(filepath=str(path)) == {"FINISHED"}
    assert bones(other) == bones(rig)
    assert "Neck" not in bones(other)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "not a mapping file"),
        ("[1, 2]", "which would be a JSON object"),
        ('{"version": 1, "joints": {"Tail": {"bone": "x"}}}', "'Tail' is not a joint"),
        ('{"version": 1, "joints": {"Head": {"bone": 3}}}', "Head has no bone's name"),
        ('{"version": 1, "joints": {"Head": {"bone": "nose"}}}', "has no bone 'nose'"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_and_nothing_changes(rig, tmp_path, text, sentence):
    path = tmp_path / "mapping.json"
    path.write_text(text)
    before = snapshot()
    with pytest.raises(RuntimeError, match=sentence):
        bpy.ops.nsm.load_mapping(filepath=str(path))
    assert difference(before, snapshot()) == {}


def test_what_is_missing_is_said_with_what_it_costs(engine, capfd):
    found, _ = rigs.add("Unreal 5")
    bpy.ops.object.mode_set(mode="EDIT")
    for side in "lr":
        found.data.edit_bones.remove(found.data.edit_bones[f"ball_{side}"])
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.nsm.bind()
    assert "RightToe: feet stay flat" in capfd.readouterr().out


def test_bind_again_keeps_the_rows_that_were_chosen_by_hand(rig, capfd):
    rows = rig.nsm.binding.matches
    rows["Spine1"].bone, rows["Spine2"].bone, rows["LeftToe"].bone = "mixamorig:Spine2", "", ""
    rows["Neck"].bone = "a bone that is gone"
    wanted = bones(rig)
    bpy.ops.nsm.bind()
    assert bones(rig) == wanted | {"Neck": "mixamorig:Neck"}
    assert "3 chosen by hand stay" in capfd.readouterr().out
    assert rig.nsm.binding.matches["Spine1"].why == "Chosen by hand."
    bpy.ops.nsm.bind()
    assert bones(rig) == wanted | {"Neck": "mixamorig:Neck"}
    bpy.ops.nsm.unbind()
    bpy.ops.nsm.bind()
    assert bones(rig)["Spine2"] == "mixamorig:Spine2"


def test_joints_are_listed_without_proposals_and_bind_completes_what_was_chosen(rig):
    bpy.ops.nsm.unbind()
    bpy.ops.nsm.bind(manual=True)
    assert not bones(rig)
    assert {"Hips", "LeftFoot", "Head"} <= set(rig.nsm.binding.matches.keys())
    rig.nsm.binding.matches["Head"].bone = "mixamorig:Neck"
    bpy.ops.nsm.bind()
    assert bones(rig)["Head"] == "mixamorig:Neck"
    assert bones(rig)["LeftFoot"] == "mixamorig:LeftFoot"
    assert "Neck" not in bones(rig)


def test_an_armature_without_limbs_is_not_bound(engine):
    data = bpy.data.armatures.new("Tentacle")
    tentacle = bpy.data.objects.new("Tentacle", data)
    bpy.context.scene.collection.objects.link(tentacle)
    bpy.context.view_layer.objects.active = tentacle
    bpy.ops.object.mode_set(mode="EDIT")
    above = None
    for number in range(6):
        bone = data.edit_bones.new(f"link{number}")
        bone.head, bone.tail, bone.parent = (0, 0, number), (0, 0, number + 1), above
        above = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    before = snapshot()
    with pytest.raises(RuntimeError, match="limbs"):
        bpy.ops.nsm.bind()
    assert difference(before, snapshot()) == {}


def test_check_says_that_a_rig_can_be_animated_or_why_not(rig, capfd):
    assert bpy.ops.nsm.check_binding() == {"FINISHED"}
    assert "can be animated" in capfd.readouterr().out
    rig.nsm.binding.matches["LeftFoot"].bone = ""
    with pytest.raises(RuntimeError, match="no legs"):
        bpy.ops.nsm.check_binding()


def test_an_unbound_rig_of_other_names_is_told_to_bind(engine):
    found, _ = rigs.add("Mixamo")
    found.nsm.path = build.curve([(0, 0, 0), (0, -3, 0)])
    bpy.context.view_layer.objects.active = found
    with pytest.raises(RuntimeError, match="press Bind"):
        bpy.ops.nsm.bake()
    bpy.ops.nsm.bind()
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    bpy.ops.nsm.unbind()
    assert not found.nsm.binding.matches


def test_the_bundled_character_needs_no_binding_and_takes_one(engine):
    bpy.ops.nsm.add_character()
    character = bpy.context.active_object
    bpy.context.scene.frame_end = 30
    character.nsm.path = build.curve([(0, 0, 0), (0, -3, 0)])
    bpy.context.view_layer.objects.active = character
    bpy.ops.nsm.bake()
    assert character.nsm.report.rig_error_mm_max < 0.01
    bpy.ops.nsm.remove_bake()
    bpy.ops.nsm.bind()
    assert bones(character) == {name: name for name in bones(character)}
    bpy.ops.nsm.bake()
    assert character.nsm.report.rig_error_mm_max < 0.01


def test_action_keys_are_carried_out_on_a_bound_rig_from_where_it_stands(rig):
    scene = bpy.context.scene
    scene.render.fps, scene.frame_end = 30, 150
    rig.location = (1, 2, 0)
    goal = bpy.data.objects.new("Goal", None)
    scene.collection.objects.link(goal)
    goal.location = (1, -1, 0)
    goal.nsm.goal.is_goal = True
    bpy.context.view_layer.objects.active = rig
    bpy.ops.nsm.add_action_key(action="walk", goal="Goal")
    bpy.ops.nsm.bake()
    assert rig.nsm.report.rig_error_mm_max < 0.1
    assert 0 <= rig.nsm.report.goal_error_cm < 20
    scene.frame_set(1)
    hips = rig.matrix_world @ rig.pose.bones["mixamorig:Hips"].head
    assert (hips.xy - rig.location.xy).length < 0.1
