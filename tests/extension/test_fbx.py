# SPDX-License-Identifier: GPL-3.0-or-later
"""FBX files of baked characters, read back by Blender's importer."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from . import build, rigs
from .snapshot import difference, snapshot

FIRST, LAST = 11, 50
PRESETS = ("UNITY", "UNREAL", "GODOT", "BLENDER")


@pytest.fixture
def character() -> bpy.types.Object:
    """A mannequin that stands turned beside the origin and is baked along a curve, from frame 11 on."""
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, FIRST, LAST
    scene.cursor.location = (1, 2, 0)
    bpy.ops.nsm.add_character()
    rig = bpy.context.active_object
    rig.rotation_euler.z = 0.7
    rig.nsm.path = build.curve([(0, 0, 0), (0, -3, 0), (1, -5, 0)], "BEZIER")
    bpy.ops.nsm.bake()
    scene.frame_set(23)
    return rig


@pytest.fixture
def small(engine) -> bpy.types.Object:
    """A baked armature with a cube as its body: few enough data to compare all of it."""
    rig, _ = build.shot(engine)
    bpy.ops.mesh.primitive_cube_add(size=0.2, location=(0, 0, 1), calc_uvs=False)
    body = bpy.context.active_object
    body.parent = rig
    body.modifiers.new("Armature", "ARMATURE").object = rig
    body.vertex_groups.new(name="Hips").add(range(8), 1.0, "REPLACE")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.nsm.bake()
    bpy.context.scene.frame_set(23)
    return rig


def export(path: Path, preset: str) -> Path:
    assert bpy.ops.nsm.export_fbx(filepath=str(path), preset=preset) == {"FINISHED"}
    return path


def read(path: Path) -> tuple[bpy.types.Object, list[bpy.types.Object]]:
    """The armature and the meshes of a file."""
    before = set(bpy.data.objects)
    bpy.ops.import_scene.fbx(filepath=str(path), anim_offset=0.0)
    new = [obj for obj in bpy.data.objects if obj not in before]
    (rig,) = (obj for obj in new if obj.type == "ARMATURE")
    return rig, [obj for obj in new if obj.type == "MESH"]


def played(
    rig: bpy.types.Object, mesh: bpy.types.Object, names: list[str], last: int = LAST
) -> tuple[np.ndarray, np.ndarray]:
    """World places of bone heads (F, J, 3) and of vertices (F, V, 3) in all frames of the bake."""
    heads, skins = [], []
    for frame in range(FIRST, last + 1):
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        evaluated, skin = rig.evaluated_get(depsgraph), mesh.evaluated_get(depsgraph)
        heads.append([tuple(evaluated.matrix_world @ evaluated.pose.bones[name].head) for name in names])
        places = np.empty(len(skin.data.vertices) * 3, np.float32)
        skin.data.vertices.foreach_get("co", places)
        world = np.array(skin.matrix_world)
        skins.append(places.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3])
    return np.array(heads), np.array(skins)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_file_moves_as_the_baked_rig_in_every_frame(character, preset, tmp_path):
    names = [bone.name for bone in character.data.bones]
    path = export(tmp_path / "walk.fbx", preset)
    heads, skin = played(character, character.children[0], names)
    assert np.abs(heads[-1, 0] - heads[0, 0]).max() > 0.5, "the character should have walked"
    rig, (mesh,) = read(path)
    again, skin_again = played(rig, mesh, names)
    assert np.linalg.norm(again - heads, axis=-1).max() < 0.001
    assert np.linalg.norm(skin_again - skin, axis=-1).max() < 0.001
    assert tuple(rig.animation_data.action.frame_range) == (FIRST, LAST)


@pytest.mark.parametrize("preset", PRESETS)
def test_exporting_leaves_the_scene_as_it_was(small, preset, tmp_path):
    bpy.ops.object.mode_set(mode="POSE")
    small.pose.bones["Neck"].location = (0.1, 0.0, 0.0)  # a pose that has no key
    before = snapshot()
    export(tmp_path / "walk.fbx", preset)
    assert difference(before, snapshot()) == {}
    assert bpy.context.mode == "POSE"
    assert bpy.context.active_object == small


def test_bones_that_deform_nothing_stay_out(character, tmp_path):
    bpy.ops.object.mode_set(mode="EDIT")
    control = character.data.edit_bones.new("Control")
    control.head, control.tail = (0, 1, 0), (0, 1, 1)
    control.use_deform = False
    bpy.ops.object.mode_set(mode="OBJECT")
    rig, _ = read(export(tmp_path / "walk.fbx", "UNITY"))
    assert {bone.name for bone in rig.data.bones} == {bone.name for bone in character.data.bones} - {"Control"}


def test_only_the_current_action_is_written(character, tmp_path):
    other = bpy.data.actions.new("Something else")
    other.use_fake_user = True
    before = set(bpy.data.actions)
    read(export(tmp_path / "walk.fbx", "UNITY"))
    assert len(set(bpy.data.actions) - before) == 1


def test_other_objects_stay_out(character, tmp_path):
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.view_layer.objects.active = character
    _, meshes = read(export(tmp_path / "walk.fbx", "UNITY"))
    assert len(meshes) == 1


def test_unity_gets_meters_and_no_scaled_objects(character, tmp_path):
    rig, (mesh,) = read(export(tmp_path / "walk.fbx", "UNITY"))
    assert tuple(rig.scale) == pytest.approx((1, 1, 1), abs=1e-5)
    assert tuple(mesh.scale) == pytest.approx((1, 1, 1), abs=1e-5)
    assert rig.data.bones["LeftLeg"].length == pytest.approx(character.data.bones["LeftLeg"].length, rel=1e-4)


def test_unreal_gets_centimeters_below_a_root_without_scale(character, tmp_path):
    rig, (mesh,) = read(export(tmp_path / "walk.fbx", "UNREAL"))
    # The importer turns the file's centimeters into an object scale: 0.01 here is 1 in the file.
    assert rig.name == "root"
    assert tuple(rig.scale) == pytest.approx((0.01, 0.01, 0.01), rel=1e-4)
    assert tuple(mesh.scale) == pytest.approx((1, 1, 1), abs=1e-4)
    assert rig.data.bones["LeftLeg"].length == pytest.approx(100 * character.data.bones["LeftLeg"].length, rel=1e-4)
    assert mesh.name.startswith("Mannequin Body")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_prop_in_the_hand_and_a_modifier_on_the_body_come_along(character, preset, tmp_path):
    bpy.ops.mesh.primitive_cone_add(radius1=0.05, depth=0.4)
    prop = bpy.context.active_object
    prop.scale = (1, 1, 2)
    prop.parent, prop.parent_type, prop.parent_bone = character, "BONE", "RightHand"
    body = next(child for child in character.children if child != prop)
    body.modifiers.new("Shell", "SOLIDIFY").thickness = 0.01
    body.modifiers.move(1, 0)  # below the armature, as the file has it
    bpy.context.view_layer.objects.active = character
    path = export(tmp_path / "walk.fbx", preset)
    rig, meshes = read(path)
    for original in (prop, body):
        read_back = next(mesh for mesh in meshes if mesh.name.startswith(original.name))
        _, skin = played(character, original, [])
        _, skin_again = played(rig, read_back, [])
        assert np.linalg.norm(skin_again - skin, axis=-1).max() < 0.001


def test_a_file_name_without_ending_gets_it(character, tmp_path):
    export(tmp_path / "walk.v2", "UNITY")
    assert [path.name for path in tmp_path.iterdir()] == ["walk.v2.fbx"]


def test_a_missing_folder_is_told_and_nothing_is_left(small, tmp_path):
    before = snapshot()
    with pytest.raises(RuntimeError, match="does not exist"):
        bpy.ops.nsm.export_fbx(filepath=str(tmp_path / "no" / "walk.fbx"))
    assert difference(before, snapshot()) == {}


def test_without_an_action_it_says_so():
    bpy.ops.nsm.add_character()
    with pytest.raises(RuntimeError, match="bake one first"):
        bpy.ops.nsm.export_fbx(filepath="walk.fbx")


def blocks() -> dict[str, list[str]]:
    """Names of the data that an export might leave behind or rename."""
    kinds = ("objects", "armatures", "meshes", "scenes", "actions")
    return {kind: [block.name for block in getattr(bpy.data, kind)] for kind in kinds}


@pytest.mark.parametrize("preset", ["UNITY", "UNREAL"])
def test_of_a_control_rig_only_the_bones_that_move_the_mesh_are_written(generated_file, preset, tmp_path):
    rig, _ = rigs.from_file(generated_file)
    scene, last = bpy.context.scene, FIRST + 14
    scene.render.fps, scene.frame_start, scene.frame_end = 30, FIRST, last
    deforming = [bone.name for bone in rig.data.bones if bone.use_deform]
    mesh = bpy.data.meshes.new("Body")
    corners = [tuple(rig.data.bones[name].head_local) for name in deforming for _ in range(3)]
    mesh.from_pydata(corners, [], [(i, i + 1, i + 2) for i in range(0, len(corners), 3)])
    body = bpy.data.objects.new("Body", mesh)
    scene.collection.objects.link(body)
    body.parent = rig
    body.modifiers.new("Armature", "ARMATURE").object = rig
    for number, name in enumerate(deforming):
        body.vertex_groups.new(name=name).add([3 * number, 3 * number + 1, 3 * number + 2], 1.0, "REPLACE")
    bpy.ops.nsm.bind()
    rig.nsm.path = build.curve([(0, 0, 0), (0, -3, 0), (1, -5, 0)], "BEZIER")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.nsm.bake()
    scene.frame_set(23)
    bpy.ops.object.mode_set(mode="POSE")
    before = blocks()
    path = export(tmp_path / "walk.fbx", preset)
    assert blocks() == before
    assert (bpy.context.mode, bpy.context.active_object, scene.frame_current) == ("POSE", rig, 23)
    heads, skin = played(rig, body, deforming, last)
    made, (skinned,) = read(path)
    kept = {bone.name: bone.parent.name if bone.parent else None for bone in made.data.bones}
    assert set(kept) - set(deforming) <= {"root"}
    assert kept["DEF-shin.L"].startswith("DEF-thigh.L")
    assert kept["DEF-foot.L"].startswith("DEF-shin.L")
    assert kept["DEF-thigh.L"] == "DEF-spine"
    again, skin_again = played(made, skinned, deforming, last)
    assert np.linalg.norm(again - heads, axis=-1).max() < 0.001
    assert np.linalg.norm(skin_again - skin, axis=-1).max() < 0.001
