# SPDX-License-Identifier: GPL-3.0-or-later
"""glTF, BVH and USD files of baked characters, read back by Blender's importers; root motion of all exports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

from . import build
from .snapshot import difference, snapshot

FIRST, LAST, FPS = 11, 50, 30


def has(module: str, name: str) -> bool:
    return name in dir(getattr(bpy.ops, module))


def read_fbx(path: Path) -> None:
    bpy.ops.import_scene.fbx(filepath=str(path), anim_offset=0.0)


def read_gltf(path: Path) -> None:
    bpy.ops.import_scene.gltf(filepath=str(path))


def read_bvh(path: Path) -> None:
    bpy.ops.import_anim.bvh(
        filepath=str(path), frame_start=FIRST, axis_forward="Y", axis_up="Z", rotate_mode="NATIVE"
    )  # the file has no first frame


def read_usd(path: Path) -> None:
    bpy.ops.wm.usd_import(filepath=str(path))


READERS: dict[str, Callable[[Path], None]] = {"fbx": read_fbx, "gltf": read_gltf, "bvh": read_bvh, "usd": read_usd}
ENDINGS = {"fbx": ".fbx", "gltf": ".glb", "bvh": ".bvh", "usd": ".usdc"}
FORMATS = [kind for kind in READERS if kind != "usd" or has("wm", "usd_export")]
LIMIT = dict.fromkeys(READERS, 0.001) | ({"usd": 0.005} if bpy.app.version < (4, 5) else {})
"""Meters that a joint may come back off its place; the USD files of Blender before 4.5 have half precision."""


@pytest.fixture
def character() -> bpy.types.Object:
    """A mannequin that stands turned beside the origin and is baked along a bend, from frame 11 on."""
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = FPS, FIRST, LAST
    scene.cursor.location = (1, 2, 0)
    bpy.ops.nsm.add_character()
    rig = bpy.context.active_object
    rig.rotation_euler.z = 0.7
    rig.nsm.path = build.curve([(0, 0, 0), (0, -3, 0), (1, -5, 0)], "BEZIER")
    bpy.ops.nsm.bake()
    scene.frame_set(23)
    return rig


def exported(kind: str, folder: Path, root: str = "KEEP") -> tuple[bpy.types.Object, list[bpy.types.Object]]:
    """The armature and the meshes of a file that was written and read back."""
    path = folder / f"walk{ENDINGS[kind]}"
    assert getattr(bpy.ops.nsm, f"export_{kind}")(filepath=str(path), root=root) == {"FINISHED"}
    before = set(bpy.data.objects)
    READERS[kind](path)
    new = [obj for obj in bpy.data.objects if obj not in before]
    (rig,) = (obj for obj in new if obj.type == "ARMATURE")
    return rig, [obj for obj in new if obj.type == "MESH" and obj.find_armature() == rig]


def heads(rig: bpy.types.Object, names: list[str]) -> np.ndarray:
    """World places of bone heads (F, J, 3) in all frames of the bake."""
    out = []
    for frame in range(FIRST, LAST + 1):
        bpy.context.scene.frame_set(frame)
        evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        out.append([tuple(evaluated.matrix_world @ evaluated.pose.bones[name].head) for name in names])
    return np.array(out)


def body(rig: bpy.types.Object) -> bpy.types.Object:
    return next(child for child in rig.children if child.type == "MESH")


def corners(mesh: bpy.types.Object) -> np.ndarray:
    """The box around the posed mesh in the world, in some frames (F, 2, 3): files may number vertices anew."""
    out = []
    for frame in range(FIRST, LAST + 1, 13):
        bpy.context.scene.frame_set(frame)
        skin = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
        places = np.array([tuple(skin.matrix_world @ vertex.co) for vertex in skin.data.vertices])
        out.append((places.min(axis=0), places.max(axis=0)))
    return np.array(out)


@pytest.mark.parametrize("kind", FORMATS)
def test_the_file_moves_as_the_baked_rig_in_every_frame(character, kind, tmp_path):
    names = [bone.name for bone in character.data.bones]
    before = heads(character, names)
    assert np.abs(before[-1, 0] - before[0, 0]).max() > 0.5, "the character should have walked"
    skin = corners(body(character))
    rig, meshes = exported(kind, tmp_path)
    assert np.linalg.norm(heads(rig, names) - before, axis=-1).max() < LIMIT[kind]
    assert bpy.context.scene.render.fps == FPS
    if kind != "bvh":
        assert np.abs(corners(meshes[0]) - skin).max() < LIMIT[kind]
        first, last = rig.animation_data.action.frame_range
        assert (round(first, 3), round(last, 3)) == (FIRST, LAST)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("root", ["BONE", "NONE"])
def test_exporting_leaves_the_scene_as_it_was(engine, kind, root, tmp_path):
    rig, _ = build.shot(engine)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.nsm.bake()
    bpy.context.scene.frame_set(23)
    before = snapshot()
    path = tmp_path / f"walk{ENDINGS[kind]}"
    assert getattr(bpy.ops.nsm, f"export_{kind}")(filepath=str(path), root=root) == {"FINISHED"}
    assert path.stat().st_size > 1000
    assert difference(before, snapshot()) == {}
    assert bpy.context.active_object == rig


@pytest.mark.parametrize("kind", FORMATS)
def test_with_a_root_bone_all_joints_stay_and_the_bone_goes_over_the_ground(character, kind, tmp_path):
    names = [bone.name for bone in character.data.bones]
    before = heads(character, names)
    rig, _ = exported(kind, tmp_path, "BONE")
    assert np.linalg.norm(heads(rig, names) - before, axis=-1).max() < LIMIT[kind]
    moving = "Hips"
    if kind == "fbx" or "root" in rig.data.bones:
        root = heads(rig, ["root"])[:, 0]
        assert np.ptp(root[:, 2]) < 0.001, "the root stays on the ground"
        hips = before[:, names.index(moving)]
        assert np.linalg.norm((hips - root)[:, :2] - (hips - root)[0, :2], axis=1).max() < 0.7
        assert np.linalg.norm(root[-1] - root[0]) > 0.5
    else:
        pytest.fail(f"no root bone among {[bone.name for bone in rig.data.bones]}")


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind != "bvh"])
def test_on_the_object_all_joints_stay_and_the_object_moves(character, kind, tmp_path):
    names = [bone.name for bone in character.data.bones]
    before = heads(character, names)
    rig, _ = exported(kind, tmp_path, "OBJECT")
    assert np.linalg.norm(heads(rig, names) - before, axis=-1).max() < LIMIT[kind]
    scene, places = bpy.context.scene, []
    for frame in (FIRST, LAST):
        scene.frame_set(frame)
        places.append(rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world.translation.copy())
    assert (places[1] - places[0]).length > 0.5


@pytest.mark.parametrize("kind", FORMATS)
def test_in_place_the_hips_stay_over_their_first_place_and_the_body_turns_nowhere(character, kind, tmp_path):
    names = [bone.name for bone in character.data.bones]
    before = heads(character, names)
    rig, _ = exported(kind, tmp_path, "NONE")
    after = heads(rig, names)
    hips = names.index("Hips")
    assert np.abs(after[:, hips, :2] - before[0, hips, :2]).max() < LIMIT[kind]
    assert np.abs(after[:, hips, 2] - before[:, hips, 2]).max() < LIMIT[kind]
    steps = np.linalg.norm(np.diff(after, axis=0), axis=-1).max()
    assert steps < np.linalg.norm(np.diff(before, axis=0), axis=-1).max() + 0.02, "nothing jumps"


@pytest.mark.parametrize("root", ["BONE", "OBJECT"])
def test_for_unreal_the_armature_is_the_root_that_moves(character, root, tmp_path):
    names = [bone.name for bone in character.data.bones]
    before = heads(character, names)
    path = tmp_path / "walk.fbx"
    bpy.ops.nsm.export_fbx(filepath=str(path), preset="UNREAL", root=root)
    known = set(bpy.data.objects)
    read_fbx(path)
    (rig,) = (obj for obj in bpy.data.objects if obj not in known and obj.type == "ARMATURE")
    assert rig.name == "root"
    assert "root" not in rig.data.bones
    assert np.linalg.norm(heads(rig, names) - before, axis=-1).max() < 0.001
    bpy.context.scene.frame_set(FIRST)
    begin = rig.matrix_world.translation.copy()
    bpy.context.scene.frame_set(LAST)
    assert (rig.matrix_world.translation - begin).length > 0.5
