# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake keeps an animator's own body out of the floor and of itself, as the mesh in the viewport shows it."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from nsm_blender.evaluation.rig_skins import TRUNK, shells
from nsm_blender.geometry.mesh_distance import MeshDistance

from . import build, rigs

FRAMES = 48


def baked(name: str):
    """A made-up body that stands, then walks along a bent curve: its armature, its mesh, what it is made of."""
    rig, skin, made = rigs.skinned(name)
    assert bpy.ops.nsm.bind() == {"FINISHED"}
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 24, 1, FRAMES
    rig.nsm.path = build.curve([(0, 0, 0), (0.3, -2, 0), (1.5, -4, 0)], "BEZIER")
    bpy.context.view_layer.objects.active = rig
    rig.nsm.path.nsm.speed = 1.3 * rig.dimensions[2] / 1.6
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    return rig, skin, made


def shown(skin: bpy.types.Object, frame: int) -> np.ndarray:
    """Vertices (V, 3) of the mesh as Blender shows them."""
    bpy.context.scene.frame_set(frame)
    seen = skin.evaluated_get(bpy.context.evaluated_depsgraph_get())
    places = np.empty(3 * len(seen.data.vertices), dtype=np.float32)
    seen.data.vertices.foreach_get("co", places)
    world = np.array(seen.matrix_world)
    return places.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]


@pytest.mark.parametrize("name", ["big feet", "no toes", "toy"])
def test_soles_stay_on_the_floor(engine, name):
    _, skin, made = baked(name)
    feet = np.concatenate([part for joint, (part, _) in made.parts.items() if joint.endswith(("Foot", "Toe"))])
    lows = np.array([shown(skin, frame)[feet, 2].min() for frame in range(1, FRAMES + 1, 3)])
    assert np.abs(lows).max() < 0.015 * max(made.size, 0.5)


@pytest.mark.parametrize("name", ["broad hips", "big belly", "long arms"])
def test_hands_stay_out_of_the_body(engine, name):
    _, skin, made = baked(name)
    hands = np.concatenate([made.parts[side + "Hand"][0] for side in ("Left", "Right")])
    for frame in range(1, FRAMES + 1, 4):
        vertices = shown(skin, frame)
        assert MeshDistance(shells(made, vertices, TRUNK)).depth_inside(vertices[hands]).max() < 0.01


def test_the_report_measures_the_mesh(engine, extension_module):
    rig, skin, made = baked("big feet")
    feet = np.concatenate([part for joint, (part, _) in made.parts.items() if joint.endswith(("Foot", "Toe"))])
    lows = [shown(skin, frame)[feet, 2].min() for frame in range(1, FRAMES + 1)]
    report = extension_module("scene.measure").Report.stored(rig)
    assert report.sole_depth_cm == pytest.approx(max(0.0, -100 * min(lows)), abs=1.0)
    assert 0 <= report.hand_depth_cm < 1.0
    assert not any("soles" in note or "hand" in note for note in report.notes)


def test_the_report_of_a_rig_without_a_mesh_tells_nothing_of_one(engine, extension_module):
    rig, skin, _ = baked("slim")
    bpy.data.objects.remove(skin)
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    assert extension_module("scene.measure").Report.stored(rig).sole_depth_cm is None
