# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundled character, added through its operator."""

from __future__ import annotations

import importlib
import math

import bpy
import numpy as np
import pytest
from mathutils import Euler, Vector

from . import build


@pytest.fixture
def skeleton(engine):
    return importlib.import_module(f"{engine.__name__}.motion.skeleton")


def add() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A new character: its armature and its mesh."""
    assert bpy.ops.nsm.add_character() == {"FINISHED"}
    rig = bpy.context.active_object
    (body,) = rig.children
    return rig, body


def vertices(body: bpy.types.Object, *, posed: bool = False) -> np.ndarray:
    """World places (V, 3) of the mesh at rest or as the armature bends it."""
    mesh = body.evaluated_get(bpy.context.evaluated_depsgraph_get()).data if posed else body.data
    out = np.empty(len(mesh.vertices) * 3, np.float32)
    mesh.vertices.foreach_get("co", out)
    world = np.array(body.matrix_world)
    return out.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]


def turn(rig: bpy.types.Object, bone: str, degrees: tuple[float, float, float]) -> None:
    rig.pose.bones[bone].rotation_mode = "QUATERNION"
    rig.pose.bones[bone].rotation_quaternion = Euler([math.radians(d) for d in degrees]).to_quaternion()


def test_its_bones_are_the_model_skeleton(skeleton):
    rig, _ = add()
    model = skeleton.MODEL_SKELETON
    assert tuple(bone.name for bone in rig.data.bones) == model.names
    parents = [bone.parent.name if bone.parent else None for bone in rig.data.bones]
    assert parents == [model.names[p] if p >= 0 else None for p in model.parents]
    heads = np.array([bone.head_local for bone in rig.data.bones])
    np.testing.assert_allclose(heads, model.rest_positions() + np.array([0, 0, skeleton.HIPS_HEIGHT]), atol=1e-5)
    assert min(bone.length for bone in rig.data.bones) > 0.05


def test_it_stands_on_the_ground_at_the_cursor_and_is_175_cm_tall():
    bpy.context.scene.cursor.location = (2.0, -1.0, 0.5)
    rig, body = add()
    bpy.context.view_layer.update()
    places = vertices(body)
    assert places[:, 2].min() == pytest.approx(0.5, abs=1e-4)
    assert places[:, 2].max() == pytest.approx(2.25, abs=1e-4)
    assert rig.location == Vector((2.0, -1.0, 0.5))


def test_it_is_175_cm_tall_in_a_scene_in_centimeters():
    bpy.context.scene.unit_settings.scale_length = 0.01
    _, body = add()
    bpy.context.view_layer.update()
    assert vertices(body)[:, 2].max() == pytest.approx(175, abs=0.01)


def test_it_is_selected_active_and_in_the_active_collection():
    other, _ = add()
    collection = bpy.data.collections.new("Cast")
    bpy.context.scene.collection.children.link(collection)
    bpy.context.view_layer.active_layer_collection = bpy.context.view_layer.layer_collection.children["Cast"]
    rig, body = add()
    assert bpy.context.view_layer.objects.active == rig
    assert bpy.context.selected_objects == [rig]
    assert set(collection.objects) == {rig, body}
    assert not other.select_get()


def test_its_visor_its_toes_and_its_thumbs_point_forward():
    _, body = add()
    slot = next(i for i, m in enumerate(body.data.materials) if m.name.endswith("Accent"))
    accent = [p.center for p in body.data.polygons if p.material_index == slot]
    assert max(center.y for center in accent) < 0


def test_every_vertex_is_fully_weighted_to_few_bones(skeleton):
    _, body = add()
    assert tuple(group.name for group in body.vertex_groups) == skeleton.MODEL_SKELETON.names
    weights = [[group.weight for group in vertex.groups] for vertex in body.data.vertices]
    assert max(abs(sum(w) - 1) for w in weights) < 1e-3
    assert max(len(w) for w in weights) <= 4  # game engines take four


def test_two_characters_are_equal_and_share_their_materials():
    (_, first), (_, second) = add(), add()
    away = np.array(second.matrix_world.translation - first.matrix_world.translation)
    np.testing.assert_allclose(vertices(first) + away, vertices(second), atol=1e-6)
    assert list(first.data.materials) == list(second.data.materials)
    assert len(bpy.data.materials) == 3


@pytest.mark.parametrize(
    ("bone", "end", "axis", "sign"),
    [("LeftLeg", "LeftFoot", 1, 1), ("RightLeg", "RightFoot", 1, 1),
     ("LeftForeArm", "LeftHand", 1, -1), ("RightForeArm", "RightHand", 1, -1)],
)  # fmt: skip
def test_a_positive_turn_about_x_bends_knees_and_elbows(bone, end, axis, sign):
    rig, _ = add()
    turn(rig, bone, (60, 0, 0))
    bpy.context.view_layer.update()
    moved = rig.pose.bones[end].head - rig.data.bones[end].head_local
    assert sign * moved[axis] > 0.15


def test_deep_bends_do_not_tear_or_collapse_the_skin():
    rig, body = add()
    edges = np.empty(len(body.data.edges) * 2, np.int32)
    body.data.edges.foreach_get("vertices", edges)
    a, b = edges.reshape(-1, 2).T
    rest = vertices(body)
    before = np.linalg.norm(rest[a] - rest[b], axis=1)
    for side, sign in (("Left", 1), ("Right", -1)):
        turn(rig, f"{side}UpLeg", (-100, 0, -15 * sign))
        turn(rig, f"{side}Leg", (125, 0, 0))
        turn(rig, f"{side}Toe", (-30, 0, 0))
        turn(rig, f"{side}Arm", (40, 0, -75 * sign))
        turn(rig, f"{side}ForeArm", (120, 0, 0))
    turn(rig, "Spine", (20, 15, 0))
    turn(rig, "Spine1", (15, 15, 0))
    turn(rig, "Head", (-20, 40, 0))
    bpy.context.view_layer.update()
    posed = vertices(body, posed=True)
    ratio = (np.linalg.norm(posed[a] - posed[b], axis=1) / before)[before > 0.004]
    assert ratio.max() < 2.0
    assert ratio.min() > 0.4


def test_it_bakes_exactly():
    rig, _ = add()
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, 40
    rig.nsm.path = build.curve([(0, 0, 0), (0, -3, 0), (1, -5, 0)], "BEZIER")
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    assert rig.nsm.report.rig_error_mm_max < 0.1


def test_in_edit_mode_it_says_why_not():
    add()
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        with pytest.raises(RuntimeError, match="object mode"):
            bpy.ops.nsm.add_character()
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")


def test_a_hidden_collection_is_told_and_nothing_is_added():
    collection = bpy.data.collections.new("Off")
    bpy.context.scene.collection.children.link(collection)
    layer = bpy.context.view_layer.layer_collection.children["Off"]
    layer.hide_viewport = True
    bpy.context.view_layer.active_layer_collection = layer
    with pytest.raises(RuntimeError, match="'Off' is hidden"):
        bpy.ops.nsm.add_character()
    assert not bpy.data.objects
