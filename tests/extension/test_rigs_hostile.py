# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs that are odd, broken or hostile: each is baked right, or refused with the reason and nothing changed."""

from __future__ import annotations

import math

import bpy
import pytest
from mathutils import Euler, Matrix

from . import build, rigs
from .snapshot import difference, snapshot


def setting(name: str = "Unreal 5") -> bpy.types.Object:
    """A rig and a curve that it follows, at 30 fps."""
    rig, _ = rigs.add(name)
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, 20
    rig.nsm.path = build.curve([(0, 0, 0), (0.3, -2, 0), (1.5, -4, 0)], "BEZIER")
    bpy.context.view_layer.objects.active = rig
    return rig


def edit(rig, change):
    """Change edit bones."""
    bpy.ops.object.mode_set(mode="EDIT")
    change(rig.data.edit_bones)
    bpy.ops.object.mode_set(mode="OBJECT")


def row(rig, joint):
    return rig.nsm.binding.matches[joint]


def parent(rig):
    above = bpy.data.objects.new("Parent", None)
    bpy.context.scene.collection.objects.link(above)
    rig.parent = above
    return above


# Odd but right: changes before binding, after which a bake has to be exact.


def _turned(rig):
    rig.rotation_euler, rig.location = (0, 0, 2.0), (3, -2, 0)


def _upright_by_an_unapplied_rotation(rig):
    rig.data.transform(Matrix.Rotation(-math.pi / 2, 4, "X"))
    rig.rotation_euler = (math.pi / 2, 0, 0)


def _in_a_scaled_parent(rig):
    above = parent(rig)
    above.location, above.rotation_euler, above.scale = (1, 2, 0), (0, 0, 1), (2, 2, 2)


def _with_a_parents_inverse(rig):
    above = parent(rig)
    above.location, above.scale = (5, 5, 5), (3, 3, 3)
    bpy.context.view_layer.update()
    rig.matrix_parent_inverse = above.matrix_world.inverted()


def _on_a_moving_parent(rig):
    above = parent(rig)
    above.keyframe_insert("location", frame=1)
    above.location.x += 2
    above.keyframe_insert("location", frame=15)
    bpy.context.scene.frame_set(3)


def _copying_an_objects_place(rig):
    target = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    target.location = (4, 5, 0)
    rig.constraints.new("COPY_LOCATION").target = target


def _posed(rig):
    rig.pose.bones["upperarm_l"].location = (10, 20, 3)
    rig.pose.bones["spine_03"].scale = (2, 2, 2)
    rig.pose.bones["head"].rotation_quaternion = (0.5, 0.5, 0.5, 0.5)


def _without_inherited_rotation(rig):
    for name in ("calf_l", "spine_02", "head"):
        rig.data.bones[name].use_inherit_rotation = False


def _without_inherited_scale(rig):
    for bone in rig.data.bones:
        bone.inherit_scale = "NONE"


def _global_locations(rig):
    rig.data.bones["pelvis"].use_local_location = False


def _below_posed_roots(rig):
    def change(bones):
        root = bones.new("ground")
        root.head, root.tail, root.roll = (10, 20, 0), (30, 100, 20), 0.7
        bones["pelvis"].parent = root

    edit(rig, change)
    rig.pose.bones["ground"].location = (20, 10, 5)
    rig.pose.bones["ground"].rotation_quaternion = (0.8, 0.1, 0.2, 0.5)


def _with_a_constrained_root(rig):
    _below_posed_roots(rig)
    target = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    target.rotation_euler = (0.3, 0.2, 0.1)
    rig.pose.bones["ground"].constraints.new("COPY_ROTATION").target = target


def _with_muted_constraints(rig):
    rig.pose.bones["calf_l"].constraints.new("IK").mute = True
    rig.pose.bones["foot_r"].constraints.new("LIMIT_ROTATION").influence = 0


def _with_a_driven_twist_bone(rig):
    rig.driver_add('pose.bones["thigh_twist_01_l"].location', 0)


def _with_connected_limbs(rig):
    def change(bones):
        for side in "lr":
            bones[f"calf_{side}"].use_connect = bones[f"foot_{side}"].use_connect = True

    edit(rig, change)


def _in_pose_mode(rig):
    bpy.ops.object.mode_set(mode="POSE")


def _mixed_rotation_modes(rig):
    modes = ("XYZ", "ZYX", "QUATERNION", "AXIS_ANGLE", "YZX")
    for number, bone in enumerate(rig.pose.bones):
        bone.rotation_mode = modes[number % len(modes)]


def _names_with_quotes(rig):
    rig.data.bones["calf_l"].name = 'calf_"l"'
    rig.data.bones["foot_r"].name = "foot\\r"


def _with_a_previous_action(rig):
    bone = rig.pose.bones["pelvis"]
    bone.location.x = 20
    bone.keyframe_insert("location", frame=1)


def _without_toes(rig):
    def change(bones):
        for side in "lr":
            bones.remove(bones[f"ball_{side}"])

    edit(rig, change)


def _without_arms(rig):
    def change(bones):
        for name in [bone.name for bone in bones if any(part in bone.name for part in ("arm", "hand", "clav", "_01_"))]:
            if not name.startswith(("spine", "neck", "thigh")):
                bones.remove(bones[name])

    edit(rig, change)


def _without_a_head(rig):
    def change(bones):
        for name in ("head", "neck_02", "neck_01"):
            bones.remove(bones[name])

    edit(rig, change)


def _in_inches(rig):
    bpy.context.scene.unit_settings.scale_length = 0.0254
    rig.scale = (0.01 / 0.0254,) * 3
    rig.nsm.path.scale = (1 / 0.0254,) * 3


def _shared_between_objects(rig):
    other = bpy.data.objects.new("Twin", rig.data)
    bpy.context.scene.collection.objects.link(other)


RIGHT = [
    _turned, _upright_by_an_unapplied_rotation, _in_a_scaled_parent, _with_a_parents_inverse, _on_a_moving_parent,
    _copying_an_objects_place, _posed, _without_inherited_rotation, _without_inherited_scale, _global_locations,
    _below_posed_roots, _with_a_constrained_root, _with_muted_constraints, _with_a_driven_twist_bone,
    _with_connected_limbs, _in_pose_mode, _mixed_rotation_modes, _names_with_quotes, _with_a_previous_action,
    _without_toes, _without_arms, _without_a_head, _in_inches, _shared_between_objects,
]  # fmt: skip


@pytest.mark.parametrize("change", RIGHT)
def test_odd_rigs_are_bound_and_baked_exactly_and_given_back(engine, change):
    rig = setting()
    change(rig)
    bpy.ops.nsm.bind()
    before = snapshot()
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    assert rig.nsm.report.rig_error_mm_max < 0.1
    assert rig.nsm.report.path_error_cm < 30
    bpy.ops.nsm.remove_bake()
    assert difference(before, snapshot()) == {}


# Refused: changes after binding, and a part of the sentence.


def _mirrored(rig):
    rig.scale.x *= -1


def _uneven(rig):
    rig.scale.z *= 2


def _sheared(rig):
    parent(rig).scale = (1, 1, 3)
    rig.rotation_euler = Euler((0.7, 0, 0))


def _no_scale(rig):
    rig.scale = (0, 0, 0)


def _shared_bone(rig):
    row(rig, "LeftLeg").bone = row(rig, "RightLeg").bone


def _no_leg(rig):
    row(rig, "LeftLeg").bone = ""


def _no_hips(rig):
    row(rig, "Hips").bone = ""


def _bone_gone(rig):
    edit(rig, lambda bones: bones.remove(bones["hand_l"]))


def _bone_renamed(rig):
    rig.data.bones["thigh_l"].name = "oberschenkel"


def _zero_length(rig):
    # Blender deletes such bones when edit mode ends, so the shortest that it keeps.
    edit(rig, lambda bones: setattr(bones["hand_l"], "length", 1e-4))


def _knee_at_the_hip(rig):
    def change(bones):
        for bone in (bones["calf_l"],):
            bone.use_connect = False
            bone.head = bones["thigh_l"].head

    edit(rig, change)


def _constrained(rig):
    target = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    constraint = rig.pose.bones["calf_l"].constraints.new("COPY_ROTATION")
    constraint.target = target


def _inverse_kinematics(rig):
    target = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    target.location = (0.3, 0, 0.3)
    constraint = rig.pose.bones["calf_l"].constraints.new("IK")
    constraint.target, constraint.chain_count = target, 2


def _driven(rig):
    rig.pose.bones["head"].rotation_mode = "XYZ"
    rig.driver_add('pose.bones["head"].rotation_euler', 0)


def _locked_hips(rig):
    rig.pose.bones["pelvis"].lock_location[2] = True


def _connected_hips(rig):
    def change(bones):
        root = bones.new("ground")
        root.head, root.tail = (0, 0, 0), bones["pelvis"].head
        bones["pelvis"].parent, bones["pelvis"].use_connect = root, True

    edit(rig, change)


def _wrong_side_of_the_tree(rig):
    left, right = row(rig, "LeftLeg").bone, row(rig, "RightLeg").bone
    row(rig, "LeftLeg").bone, row(rig, "RightLeg").bone = right, left


def _no_root_bone(rig):
    rig.nsm.binding.root_motion = "ROOT"


def _unknown_root_bone(rig):
    rig.nsm.binding.root_motion, rig.nsm.binding.root_bone = "ROOT", "nirvana"


def _mapped_root_bone(rig):
    rig.nsm.binding.root_motion, rig.nsm.binding.root_bone = "ROOT", "spine_03"


def _constrained_object(rig):
    rig.nsm.binding.root_motion = "OBJECT"
    rig.constraints.new("LIMIT_LOCATION")


def _locked_object(rig):
    rig.nsm.binding.root_motion = "OBJECT"
    rig.lock_location[0] = True


def _no_end_pose(rig):
    rig.nsm.binding.end_pose = "ACTION"


def _edit_mode(rig):
    bpy.ops.object.mode_set(mode="EDIT")


def _rest_position(rig):
    rig.data.pose_position = "REST"


def _disabled(rig):
    rig.hide_viewport = True


def _tiny(rig):
    rig.scale = (1e-4,) * 3


def _solo(rig):
    track = rig.animation_data_create().nla_tracks.new()
    track.strips.new("Strip", 1, bpy.data.actions.new("Other"))
    track.is_solo = True


REFUSED = [
    (_mirrored, "mirrored"),
    (_uneven, "not scaled evenly"),
    (_sheared, "sheared"),
    (_no_scale, "scale of zero"),
    (_shared_bone, "each joint needs a bone of its own"),
    (_no_leg, "no legs that can be recognized"),
    (_no_hips, "no hips that can be recognized"),
    (_bone_gone, "has no bone 'hand_l'"),
    (_bone_renamed, "has no bone 'thigh_l'"),
    (_zero_length, "'hand_l' of 'Unreal 5' has no length"),
    (_knee_at_the_hip, "begin at the same place"),
    (_constrained, "constraint 'Copy Rotation' on 'calf_l'"),
    (_inverse_kinematics, "does not follow keys because of the constraint 'IK'"),
    (_driven, "'head' of 'Unreal 5' has a driver"),
    (_locked_hips, "'pelvis' of 'Unreal 5' has a locked location"),
    (_connected_hips, "connected to its parent"),
    (_wrong_side_of_the_tree, "is not below"),
    (_no_root_bone, "no bone above its hips"),
    (_unknown_root_bone, "no bone 'nirvana'"),
    (_mapped_root_bone, "is bound to a joint"),
    (_constrained_object, "has constraints and cannot carry"),
    (_locked_object, "is locked in place"),
    (_no_end_pose, "No end pose is chosen"),
    (_edit_mode, "in edit mode"),
    (_rest_position, "rest position"),
    (_disabled, "is disabled"),
    (_tiny, "so small"),
    (_solo, "plays solo"),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED)
def test_what_cannot_be_baked_is_refused_with_the_reason_and_nothing_changes(engine, change, sentence):
    rig = setting()
    bpy.ops.nsm.bind()
    change(rig)
    before = snapshot()
    with pytest.raises(RuntimeError) as caught:
        bpy.ops.nsm.bake()
    assert sentence in str(caught.value)
    assert difference(before, snapshot()) == {}


def test_locked_channels_are_left_alone_and_said(engine, extension_module):
    rig = setting()
    for name, axes in (("calf_l", (1, 2)), ("head", (0, 1, 2)), ("hand_r", (0,))):
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for axis in axes:
            bone.lock_rotation[axis] = True
    bpy.ops.nsm.bind()
    bpy.ops.nsm.bake()
    keyed = {(c.data_path.split('"')[1], c.array_index) for c in extension_module("scene.actions").of(rig)}
    assert not keyed & {("calf_l", 1), ("calf_l", 2), ("head", 0), ("head", 1), ("head", 2), ("hand_r", 0)}
    assert {("calf_l", 0), ("hand_r", 1)} <= keyed
    assert "Locked channels were left alone, of calf_l" in " ".join(sorted(rig.nsm.report.notes.splitlines()))


def test_a_limit_is_respected_and_said(engine):
    rig = setting()
    limit = rig.pose.bones["head"].constraints.new("LIMIT_ROTATION")
    limit.use_limit_x = limit.use_limit_y = limit.use_limit_z = True
    limit.owner_space = "LOCAL"
    bpy.ops.nsm.bind()
    bpy.ops.nsm.bake()
    assert "Constraints limit head" in rig.nsm.report.notes


def test_a_linked_rig_is_refused_until_it_is_overridden(engine, tmp_path):
    setting().name = "Rig"
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_, into):
        into.objects = ["Rig"]
    rig = bpy.data.objects["Rig"]
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    with pytest.raises(RuntimeError, match="make a library override"):
        bpy.ops.nsm.bind()
    own = rig.override_create(remap_local_usages=True)
    bpy.context.view_layer.objects.active = own
    bpy.ops.nsm.bind()
    own.nsm.path = build.curve([(0, 0, 0), (0.3, -2, 0), (1.5, -4, 0)], "BEZIER")
    bpy.context.scene.frame_end = 20
    bpy.ops.nsm.bake()
    assert own.nsm.report.rig_error_mm_max < 0.1


def test_nothing_else_starts_on_an_armature_while_a_bake_runs(engine, extension_module, monkeypatch):
    rig = setting()
    bpy.ops.nsm.bind()
    monkeypatch.setattr(extension_module("scene.lookup"), "baking", lambda _context: True)
    before = snapshot()
    for operator in (bpy.ops.nsm.bake, bpy.ops.nsm.bind, bpy.ops.nsm.unbind, bpy.ops.nsm.apply_motion):
        with pytest.raises(RuntimeError, match="A bake is running"):
            operator()
    assert difference(before, snapshot()) == {}
    assert rig.nsm.binding.matches


def test_an_exception_while_looking_what_carries_a_bone_leaves_the_pose_as_it_was(
    engine, extension_module, monkeypatch
):
    rig = setting()
    _with_a_constrained_root(rig)
    _posed(rig)
    bpy.ops.nsm.bind()
    before = snapshot()
    monkeypatch.setattr(extension_module("scene.carriers"), "_state", lambda *_: 1 / 0)
    with pytest.raises(RuntimeError):
        bpy.ops.nsm.bake()
    assert difference(before, snapshot()) == {}
