# SPDX-License-Identifier: GPL-3.0-or-later
"""The furnished demo room."""

from __future__ import annotations

import bpy
import numpy as np
import pytest


@pytest.fixture
def gathered(extension_module):
    """A function that gives the scene's colliders by name."""
    module = extension_module("scene.colliders")
    return lambda: {thing.name: thing for thing in module.gather(bpy.context, np.arange(1, 4))}


def test_the_room_has_the_furniture_of_the_demo_with_roles_and_handles(gathered):
    assert bpy.ops.nsm.add_demo_room() == {"FINISHED"}
    roles = {name: thing.role for name, thing in gathered().items()}
    wanted = {
        "Door": "door",
        "Table": "surface",
        "Chair": "seat",
        "Armchair": "seat",
        "Desk": "surface",
        "Stool": "seat",
        "Shelf": "surface",
        "Box": "carryable",
        "Low Beam": "obstacle",
        "Step": "climbable",
    }
    assert wanted.items() <= roles.items()
    assert all((thing.handles is None) == (thing.role == "obstacle") for thing in gathered().values())


def test_its_colliders_are_the_shapes_themselves_at_the_cursor_and_in_any_unit(engine, gathered, extension_module):
    import importlib

    bpy.context.scene.unit_settings.scale_length = 0.01
    bpy.context.scene.cursor.location = (200, 0, 0)
    bpy.ops.nsm.add_demo_room()
    for item in importlib.import_module(f"{engine.__name__}.geometry.rooms").demo_room():
        truth, found = item.collider(), gathered()[item.name]
        assert np.allclose(found.cuboids.center, truth.cuboids.center, atol=1e-5)
        assert np.allclose(found.cuboids.half, truth.cuboids.half, atol=1e-5)
        assert np.allclose(found.poses[0, :3], truth.poses[0, :3] + (2, 0, 0), atol=1e-5)
        mesh = bpy.data.objects[item.name]
        low = np.min([mesh.matrix_world @ v.co for v in mesh.data.vertices], axis=0) / 100
        assert np.allclose(low - (2, 0, 0), item.mesh().vertices.min(axis=0), atol=1e-4)


def test_a_second_room_is_another_one_and_the_selection_stays():
    bpy.ops.nsm.add_character()
    rig = bpy.context.object
    bpy.ops.nsm.add_demo_room()
    bpy.ops.nsm.add_demo_room()
    assert bpy.context.object == rig
    assert bpy.data.objects["Table.001"].data != bpy.data.objects["Table"].data
