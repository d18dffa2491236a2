# SPDX-License-Identifier: GPL-3.0-or-later
"""What Bind says of a rig before anything is baked: what a bake would refuse, leave behind or limit."""

from __future__ import annotations

import bpy
import pytest

from . import build, rigs
from .snapshot import difference, snapshot

FRAMES = 20


def follow_curve(rig: bpy.types.Object) -> None:
    """Let the rig walk along a bent curve."""
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, FRAMES
    rig.nsm.path = build.curve([(0, 0, 0), (0.3, -2, 0), (1.5, -4, 0)], "BEZIER")
    bpy.context.view_layer.objects.active = rig


def edit_bones(rig: bpy.types.Object):
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    return rig.data.edit_bones


def skin(rig: bpy.types.Object, bone: str) -> bpy.types.Object:
    """A triangle that hangs on one bone."""
    mesh = bpy.data.meshes.new("Boots")
    mesh.from_pydata([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0)], [], [(0, 1, 2)])
    boots = bpy.data.objects.new("Boots", mesh)
    bpy.context.scene.collection.objects.link(boots)
    boots.vertex_groups.new(name=bone).add([0, 1, 2], 1.0, "REPLACE")
    modifier = boots.modifiers.new("Armature", "ARMATURE")
    modifier.object = rig
    return boots


def test_what_a_bake_refuses_is_said_by_bind_already(engine, capfd):
    rig, _ = rigs.add("Mixamo")
    rig.pose.bones["mixamorig:LeftLeg"].driver_add("rotation_quaternion", 0)
    bpy.ops.nsm.bind()
    said = capfd.readouterr().out
    assert "cannot be animated yet" in said
    assert "has a driver" in said
    assert "Bound" not in said
    follow_curve(rig)
    with pytest.raises(RuntimeError, match="has a driver"):
        bpy.ops.nsm.bake()


@pytest.mark.parametrize("kind", ["wolf", "cat", "horse", "basic_quadruped"])
def test_animals_on_four_legs_are_refused(engine, kind):
    import addon_utils  # which bpy brings, once it is imported

    addon_utils.enable("rigify", default_set=True)
    getattr(bpy.ops.object, f"armature_{kind}_metarig_add")()
    before = snapshot()
    with pytest.raises(RuntimeError, match="stands on four legs"):
        bpy.ops.nsm.bind()
    assert difference(before, snapshot()) == {}


def test_hips_that_are_connected_are_carried_by_the_bone_above(engine):
    rig, _ = rigs.add("Unreal 5")
    bones = edit_bones(rig)
    root = bones.new("root")
    root.head, root.tail = (0, 0, 0), bones["pelvis"].head
    bones["pelvis"].parent, bones["pelvis"].use_connect = root, True
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.nsm.bind()
    assert rig.nsm.binding.matches["Root"].bone == "root"
    follow_curve(rig)
    bpy.ops.nsm.bake()
    assert rig.nsm.report.rig_error_mm_max < 0.1


@pytest.mark.parametrize("name", ["Biped with thighs on the spine", "pelvis above hips"])
def test_vertices_on_bones_that_stay_behind_are_told(engine, capfd, name):
    rig, _ = rigs.add(name)
    root = rig.data.bones[0].name
    rig.data.bones[root].use_deform = True
    skin(rig, root)
    bpy.ops.nsm.bind()
    assert f"3 vertices of 'Boots' with weights on '{root}'" in capfd.readouterr().out
    follow_curve(rig)
    bpy.ops.nsm.bake()
    assert f"with weights on '{root}'" in rig.nsm.report.notes


def test_a_mesh_that_moves_with_the_bones_is_not_complained_of(engine, capfd):
    rig, truth = rigs.add("Biped with thighs on the spine")
    skin(rig, truth["LeftFoot"])
    bpy.ops.nsm.bind()
    assert "Left behind" not in capfd.readouterr().out


@pytest.mark.parametrize(
    "name",
    ["Biped with thighs on the spine", "glTF without toes", "glTF with tails anywhere", "toy", "joints of Maya"],
)
def test_odd_rigs_are_bound_and_baked_exactly_and_read_back(engine, extension_module, name):
    rig, truth = rigs.add(name)
    bpy.ops.nsm.bind()
    assert {row.name: row.bone for row in rig.nsm.binding.matches if row.bone} == truth
    follow_curve(rig)
    bpy.ops.nsm.bake()
    assert rig.nsm.report.rig_error_mm_max < 0.1
    record = extension_module("scene.recording").record
    first = record(bpy.context, rig).motion
    path = bpy.app.tempdir + "motion.npz"
    bpy.ops.nsm.save_motion(filepath=path)
    bpy.ops.nsm.apply_motion(filepath=path, place="FILE", frame_start=1)
    again = record(bpy.context, rig).motion
    assert abs(again.positions - first.positions).max() < 0.005


def test_a_limit_on_a_knee_is_a_warning_with_how_far_it_keeps_the_rig_away(engine, capfd):
    rig, _ = rigs.add("Unreal 5")
    limit = rig.pose.bones["calf_l"].constraints.new("LIMIT_ROTATION")
    limit.use_limit_x = limit.use_limit_y = limit.use_limit_z = True
    limit.owner_space = "LOCAL"
    bpy.ops.nsm.bind()
    assert "Warning: Constraints limit calf_l" in capfd.readouterr().out
    follow_curve(rig)
    bpy.ops.nsm.bake()
    said = capfd.readouterr().out
    assert "Warning: At frame" in said
    assert "mm away from the motion" in said
