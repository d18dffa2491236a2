# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bake writes, measures and reports, through the installed extension's operators."""

from __future__ import annotations

import json
from pathlib import Path

import bpy
import numpy as np
import pytest

from . import build


@pytest.fixture
def curves_of(extension_module):
    return extension_module("scene.actions").of


@pytest.fixture
def job(extension_module):
    """A function that begins a bake of an armature."""
    module = extension_module("operators.job")
    return lambda rig: module.BakeJob(bpy.context, rig)


def test_a_bake_writes_one_new_action_of_generated_keys(engine, curves_of):
    rig, _ = build.shot(engine, frames=40)
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    (action,) = bpy.data.actions
    assert rig.animation_data.action == action
    found = {(curve.data_path, curve.array_index) for curve in curves_of(rig)}
    wanted = {('pose.bones["Hips"].location', i) for i in range(3)}
    wanted |= {(f'pose.bones["{b.name}"].rotation_quaternion', i) for b in rig.pose.bones for i in range(4)}
    assert found == wanted
    for curve in curves_of(rig):
        assert tuple(curve.range()) == (1, 40)
        assert {key.type for key in curve.keyframe_points} == {"GENERATED"}
        assert curve.group.name in curve.data_path


def test_the_rig_moves_as_the_engine_says_to_a_hundredth_of_a_millimeter(engine):
    rig, _ = build.shot(engine)
    bpy.ops.nsm.bake()
    assert rig.nsm.report.frames_measured == 40
    assert 0 < rig.nsm.report.rig_error_mm_max < 0.01


def test_a_bake_whose_rig_is_not_where_its_keys_put_it_is_discarded_with_the_reason(engine, job):
    """The measurement is independent of what wrote the keys: a key moved by 5 mm shows as 5 mm."""
    rig, _ = build.shot(engine)
    work = job(rig)
    while work.progress < 0.9:
        work.step()
    curve = next(c for c in _location_curves(rig) if c.array_index == 0)
    for key in curve.keyframe_points:
        key.co.y += 0.005
        key.handle_left.y += 0.005
        key.handle_right.y += 0.005
    curve.update()
    rig.animation_data.action.update_tag()
    with pytest.raises(Exception, match=r"discarded: at frame .* 'Rig' is 5 mm away"):
        work.run()
    assert work.report.rig_error_mm_max == pytest.approx(5.0, abs=0.15)
    assert not bpy.data.actions and rig.animation_data is None


def _location_curves(rig):
    action = rig.animation_data.action
    if bpy.app.version < (4, 4, 0):
        return [c for c in action.fcurves if c.data_path.endswith("location")]
    bag = action.layers[0].strips[0].channelbag(rig.animation_data.action_slot)
    return [c for c in bag.fcurves if c.data_path.endswith("location")]


def test_the_operator_does_what_the_engine_does(engine, extension_module):
    rig, _ = build.shot(engine)
    gathered = extension_module("scene.gather").gather(bpy.context, rig)
    bake = extension_module("operators.job").begin_bake(gathered.shot)
    while not bake.done:
        bake.step()
    motion = bake.motion()
    bpy.ops.nsm.bake()
    for frame in (1, 17, 40):
        bpy.context.scene.frame_set(frame)
        heads = np.array([rig.matrix_world @ rig.pose.bones[name].head for name in motion.names])
        assert np.abs(heads - motion.positions[frame - 1]).max() < 1e-5


def test_gait_changes_become_pose_markers(engine):
    rig, way = build.shot(engine)
    for frame, gait in ((1, "stand"), (11, "walk"), (30, "jog")):
        way.nsm.gait = gait
        way.keyframe_insert("nsm.gait", frame=frame)
    bpy.ops.nsm.bake()
    markers = [(marker.frame, marker.name) for marker in rig.animation_data.action.pose_markers]
    assert markers == [(1, "Stand"), (11, "Walk"), (30, "Jog")]


def test_a_custom_range_is_baked_instead_of_the_scenes(engine, curves_of):
    rig, _ = build.shot(engine, frames=40)
    settings = bpy.context.scene.nsm
    settings.use_custom_range, settings.frame_start, settings.frame_end = True, -5, 10
    bpy.ops.nsm.bake()
    assert tuple(curves_of(rig)[0].range()) == (-5, 10)


def test_a_bake_leaves_the_current_frame_and_the_selection_alone(engine):
    rig, way = build.shot(engine)
    way.select_set(True)
    bpy.context.scene.frame_set(9, subframe=0.25)
    bpy.ops.nsm.bake()
    assert (bpy.context.scene.frame_current, bpy.context.scene.frame_subframe) == (9, 0.25)
    assert bpy.context.view_layer.objects.active == rig
    assert bpy.context.selected_objects == [way]


def test_the_report_has_the_designs_names(engine, tmp_path):
    build.shot(engine)
    bpy.ops.nsm.bake()
    path = tmp_path / "report.json"
    bpy.ops.nsm.save_report(filepath=str(path))
    report = json.loads(path.read_text())
    assert {
        "frames", "seconds.rollout", "seconds.retarget", "seconds.write", "rig_error_mm.max", "rig_error_mm.mean",
        "foot_slide_cm_per_s", "goal_error_cm", "goal_error_deg", "penetration_cm.max", "path_error_cm",
    } <= report.keys()  # fmt: skip
    assert report["frames"] == 40
    assert report["goal_error_deg"] is None


def test_the_report_names_the_five_figures_that_are_farthest_from_how_people_move(engine, tmp_path):
    rig, _ = build.shot(engine, frames=90)
    bpy.ops.nsm.bake()
    stored = rig.nsm.report.findings
    ratios = [finding.ratio for finding in stored]
    assert len(stored) == 5 and ratios == sorted(ratios, reverse=True)
    assert len({finding.measure for finding in stored}) == 5 and all(finding.text for finding in stored)
    path = tmp_path / "report.json"
    bpy.ops.nsm.save_report(filepath=str(path))
    told = json.loads(path.read_text())["findings"]
    assert [one["text"] for one in told] == [finding.text for finding in stored]
    assert all(one["natural"] == (one["ratio"] <= 1) for one in told)
    bpy.ops.nsm.remove_bake()
    assert not rig.nsm.report.findings


def test_every_bake_leaves_its_report_in_the_users_folder(engine):
    build.shot(engine)
    bpy.ops.nsm.bake()
    folder = bpy.utils.extension_path_user("bl_ext.user_default.nsm_blender", path="reports")
    assert json.loads((Path(folder) / "report.json").read_text())["frames"] == 40


def test_the_saved_shot_repeats_the_bake_without_blender(engine, extension_module, tmp_path):
    rig, _ = build.shot(engine)
    path = tmp_path / "shot.json"
    bpy.ops.nsm.save_shot(filepath=str(path))
    loaded = extension_module("nsm_blender.shot.shot").Shot.load(path)
    assert loaded == extension_module("scene.gather").gather(bpy.context, rig).shot


def test_a_character_walks_like_the_performer_that_is_chosen(engine):
    """The arms are farther from the body, and less so with half of the first performer."""
    rig, _ = build.shot(engine, frames=120)
    apart = []
    for performer, blend in (("DEFAULT", 0.0), ("accad_female1", 0.5), ("accad_female1", 0.0)):
        rig.nsm.performer, rig.nsm.performer_blend = performer, blend
        assert bpy.ops.nsm.bake() == {"FINISHED"}
        width = []
        for frame in range(30, 120, 3):
            bpy.context.scene.frame_set(frame)
            left, right = (rig.pose.bones[side + "Hand"].head for side in ("Left", "Right"))
            width.append((left - right).xy.length)
        apart.append(np.mean(width))
    assert apart[0] < apart[1] < apart[2]


def test_performers_that_are_offered_were_recorded_going(engine):
    """The card tells of each in which gaits."""
    card = json.loads((Path(engine.__file__).parents[1] / "weights" / "pfnn_terrain.json").read_text())
    offered = bpy.types.Object.bl_rna.properties["nsm"].fixed_type.properties["performer"].enum_items.keys()
    assert len(offered) > 1
    for name in offered[1:]:
        assert {"stand", "walk", "jog"} <= set(card["performer_gaits"][name])
