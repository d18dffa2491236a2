# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes of action keys as curves: found round things, shown, edited, followed, forgotten."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from . import build


@pytest.fixture
def rig(engine):
    """A character that is to walk to A, with a wall across the straight way."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 200
    bpy.ops.mesh.primitive_cube_add(size=1, location=(0.4, -2, 1), scale=(2.4, 0.2, 2))
    bpy.context.object.name = "Wall"
    bpy.ops.nsm.wrap_collider(role="obstacle")
    rig = build.armature(engine)
    bpy.ops.nsm.add_goal(location=(0, -4, 0), name="A", attach=False)
    bpy.ops.nsm.add_action_key(action="walk", goal="A")
    return rig


@pytest.fixture
def polyline(extension_module):
    """A function that evaluates a curve object."""
    module = extension_module("scene.curves")
    return lambda obj: module.polyline(bpy.context, obj).points


@pytest.fixture
def gathered(extension_module):
    """A function that gives the action keys as the engine gets them."""
    module = extension_module("scene.gather_keys")
    return lambda rig: module.gather(bpy.context, rig).shot.keys


def distance_from_wall(points: np.ndarray) -> float:
    """Meters between the nearest of places and the wall, on the ground."""
    apart = np.maximum(np.abs(points[:, :2] - (0.4, -2)) - (1.2, 0.1), 0)
    return float(np.linalg.norm(apart, axis=1).min())


def test_a_route_leads_round_the_wall_as_a_curve(rig, polyline):
    bpy.ops.nsm.show_routes()
    way = polyline(rig.nsm.keys[0].route)
    assert np.linalg.norm(way[0, :2]) < 0.05
    assert np.linalg.norm(way[-1, :2] - (0, -4)) < 0.05
    assert distance_from_wall(way) > 0.25


@pytest.mark.parametrize(
    ("location", "scale", "told"),
    [
        ((-5.25, -2, 1), (8, 0.2, 2), "key 1: the character goes sideways"),
        ((-4.8, -2, 1.9), (8, 0.2, 1), "key 1: the character crouches"),
    ],
)
def test_where_the_character_crouches_or_goes_sideways_is_told(rig, capfd, location, scale, told):
    """The only way past the wall leads through a gap, or under a beam."""
    for where, size in ((location, scale), ((5.5, -2, 1), (8, 0.2, 2))):
        bpy.ops.mesh.primitive_cube_add(size=1, location=where, scale=size)
        bpy.ops.nsm.wrap_collider(role="obstacle")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.nsm.show_routes()
    assert told in capfd.readouterr().out
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    bpy.data.objects.remove(bpy.data.objects["Cube.001"])
    bpy.ops.nsm.show_routes()
    assert "key" not in capfd.readouterr().out


def test_a_route_that_was_found_is_no_command(rig, gathered):
    bpy.ops.nsm.show_routes()
    assert gathered(rig)[0].route == []


def test_showing_again_moves_the_curve_and_makes_no_second(rig, polyline):
    bpy.ops.nsm.show_routes()
    curve = rig.nsm.keys[0].route
    bpy.data.objects["A"].location = (3, -4, 0)
    bpy.ops.nsm.show_routes()
    assert rig.nsm.keys[0].route == curve
    assert len([obj for obj in bpy.data.objects if obj.type == "CURVE"]) == 1
    assert np.linalg.norm(polyline(curve)[-1, :2] - (3, -4)) < 0.05


def _moved_point(curve):
    curve.data.splines[0].bezier_points[2].co.x -= 0.5


def _moved_object(curve):
    curve.location.x -= 0.5


def _bent_handle(curve):
    point = curve.data.splines[0].bezier_points[2]
    point.handle_left_type = point.handle_right_type = "FREE"
    point.handle_left.x -= 0.5


@pytest.mark.parametrize("edit", [_moved_point, _moved_object, _bent_handle])
def test_an_edited_curve_is_followed_and_stays_as_it_is(rig, gathered, polyline, edit):
    bpy.ops.nsm.show_routes()
    curve = rig.nsm.keys[0].route
    edit(curve)
    bpy.context.view_layer.update()
    mine = polyline(curve)
    assert np.allclose(gathered(rig)[0].route, mine)
    bpy.ops.nsm.show_routes()
    assert np.allclose(polyline(rig.nsm.keys[0].route), mine)


def test_an_edited_curve_is_still_the_animators_after_saving(rig, gathered, tmp_path):
    bpy.ops.nsm.show_routes()
    file = str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    rig = bpy.data.objects["Rig"]
    assert gathered(rig)[0].route == []
    _moved_point(rig.nsm.keys[0].route)
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    assert gathered(bpy.data.objects["Rig"])[0].route != []


def test_a_forgotten_route_is_found_again(rig, gathered):
    bpy.ops.nsm.show_routes()
    _moved_point(rig.nsm.keys[0].route)
    bpy.ops.nsm.forget_route()
    assert rig.nsm.keys[0].route is None
    assert not [obj for obj in bpy.data.objects if obj.type == "CURVE"]
    assert gathered(rig)[0].route == []
    with pytest.raises(RuntimeError, match="no route of its own"):
        bpy.ops.nsm.forget_route()


def test_a_curve_of_the_animators_is_followed_and_outlives_its_key(rig, gathered):
    way = build.curve([(0, 0, 0), (-2, -2, 0), (0, -4, 0)])
    bpy.ops.nsm.add_action_key(goal="A", route="Way")
    assert len(gathered(rig)[1].route) == 3
    bpy.ops.nsm.forget_route(index=1)
    assert gathered(rig)[1].route == []
    rig.nsm.keys[1].route = way
    bpy.ops.nsm.remove_action_key(index=1)
    assert bpy.data.objects["Way"].type == "CURVE"


def test_the_route_of_a_removed_key_goes_with_it(rig):
    bpy.ops.nsm.show_routes()
    bpy.ops.nsm.remove_action_key()
    assert not [obj for obj in bpy.data.objects if obj.type == "CURVE"]


def test_a_goal_in_the_wall_has_no_route_and_the_reason_names_the_wall(rig):
    bpy.data.objects["A"].location = (0.4, -2, 0)
    with pytest.raises(RuntimeError, match=r"Action key 1 .Walk A.: .*Wall"):
        bpy.ops.nsm.show_routes()
    assert not [obj for obj in bpy.data.objects if obj.type == "CURVE"]


def test_a_small_character_has_its_route_in_the_scenes_size(rig, polyline):
    rig.scale = (0.5, 0.5, 0.5)
    bpy.ops.nsm.show_routes()
    way = polyline(rig.nsm.keys[0].route)
    assert np.linalg.norm(way[-1, :2] - (0, -4)) < 0.05
    assert distance_from_wall(way) > 0.25
