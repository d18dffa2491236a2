# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals placed, dropped and turned, and handles moved: what the mouse sets is set here as the redo panel would."""

from __future__ import annotations

import math
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from . import build
from .shapes import box, chair, select


@pytest.fixture
def facing_of(extension_module):
    module = extension_module("scene.goals")

    def facing(goal):
        bpy.context.view_layer.update()
        return module.facing_of(np.array(goal.matrix_world))

    return facing


def seat(place=(0.0, 3.0, 0.0)):
    obj = chair()
    obj.location = place
    select(obj)
    bpy.ops.nsm.wrap_collider(role="seat")
    bpy.context.view_layer.update()
    return obj


def only_goal():
    (goal,) = (obj for obj in bpy.data.objects if obj.nsm.goal.is_goal)
    return goal


def test_a_goal_is_placed_on_the_floor_with_the_facing_it_was_given(facing_of):
    assert bpy.ops.nsm.place_goal(location=(1, 2, 0), use_facing=True, facing=0.7) == {"FINISHED"}
    goal = only_goal()
    assert tuple(goal.location) == (1, 2, 0)
    assert facing_of(goal) == pytest.approx(0.7)
    assert goal.nsm.goal.uses is None
    assert goal.select_get()


def test_a_goal_dropped_on_a_seat_uses_it_and_goes_along_with_it():
    thing = seat()
    bpy.ops.nsm.add_goal(name="Spot", location=(-2, -2, 0), attach=False)
    goal = bpy.data.objects["Spot"]
    bpy.ops.nsm.place_goal(goal="Spot", thing="Chair", location=(0.05, 3, 0.45))
    assert goal.nsm.goal.uses == goal.parent == thing
    assert len([obj for obj in bpy.data.objects if obj.nsm.goal.is_goal]) == 1
    thing.location.x += 2
    bpy.context.view_layer.update()
    assert goal.matrix_world.translation.x == pytest.approx(2.05)


def test_a_goal_dropped_on_the_floor_again_is_free():
    seat()
    bpy.ops.nsm.place_goal(thing="Chair", location=(0, 3, 0.45))
    goal = only_goal()
    bpy.ops.nsm.place_goal(goal=goal.name, location=(1, 1, 0))
    bpy.context.view_layer.update()
    assert goal.parent is None
    assert goal.nsm.goal.uses is None
    assert tuple(goal.matrix_world.translation) == pytest.approx((1, 1, 0))


def test_a_goal_keeps_the_parent_that_the_animator_gave_it():
    cart = box(name="Cart")
    cart.location = (5, 0, 0)
    bpy.context.view_layer.update()
    bpy.ops.nsm.add_goal(name="Spot", location=(5, 1, 0), attach=False)
    goal = bpy.data.objects["Spot"]
    goal.parent = cart
    bpy.ops.nsm.place_goal(goal="Spot", location=(2, 2, 0), use_facing=True, facing=1.0)
    bpy.context.view_layer.update()
    assert goal.parent == cart
    assert tuple(goal.matrix_world.translation) == pytest.approx((2, 2, 0), abs=1e-5)


def test_sitting_on_an_own_mesh_is_one_placement(engine):
    rig, _ = build.shot(engine)
    own = chair("My Chair")
    own.location = (0, 3, 0)
    bpy.context.view_layer.update()
    bpy.ops.nsm.place_goal(action="sit", thing="My Chair", location=(0, 3, 0.45))
    (key,) = rig.nsm.keys
    assert key.action == "sit"
    assert key.goal.nsm.goal.uses == own
    assert own.nsm.collider.role == "seat"
    assert rig.nsm.animate_by == "ACTIONS"


def test_an_action_is_added_where_the_3d_cursor_is(engine):
    rig, _ = build.shot(engine)
    thing = seat()
    select(rig)
    bpy.context.scene.cursor.location = (0, 3, 0.5)
    bpy.ops.nsm.add_action_key(action="sit", place="CURSOR")
    assert rig.nsm.keys[0].goal.nsm.goal.uses == thing
    bpy.context.scene.cursor.location = (4, 4, 0)
    bpy.ops.nsm.add_action_key(action="walk", place="CURSOR")
    assert tuple(rig.nsm.keys[1].goal.location) == (4, 4, 0)
    with pytest.raises(RuntimeError, match="nothing at the 3D cursor"):
        bpy.ops.nsm.add_action_key(action="sit", place="CURSOR")
    assert len(rig.nsm.keys) == 2


def test_turning_a_goal_lays_its_arrow_down_also_on_a_turned_thing(facing_of):
    thing = seat()
    bpy.ops.nsm.place_goal(thing="Chair", location=(0, 3, 0.45))
    goal = only_goal()
    thing.rotation_euler.z = 1.0
    select(goal)
    bpy.ops.nsm.turn_goal(facing=0.4)
    assert facing_of(goal) == pytest.approx(0.4, abs=1e-5)
    bpy.ops.nsm.turn_goal(use_facing=False)
    assert facing_of(goal) is None


def test_a_seat_is_moved_raised_and_turned(extension_module):
    thing = seat()
    stored = extension_module("scene.handles").stored
    before = stored(thing)
    bpy.ops.nsm.move_handle(offset=(0.05, -0.1, 0.02), angle=math.pi / 2)
    after = stored(thing)
    assert np.array(after.place) - before.place == pytest.approx([0.05, -0.1, 0.02], abs=1e-5)
    assert before.facing == pytest.approx([0, -1, 0], abs=1e-4)
    assert after.facing == pytest.approx([1, 0, 0], abs=1e-4)
    assert (after.width, after.depth) == pytest.approx((before.width, before.depth))


def test_without_a_seat_no_handle_is_moved():
    select(box())
    assert not bpy.ops.nsm.move_handle.poll()
    assert not bpy.ops.nsm.turn_goal.poll()


def looking_down(extension_module):
    """A view of 100 by 100 pixels from 10 m above the origin, 10 m wide at the floor, X to the right, Y up."""
    region = SimpleNamespace(width=100, height=100, x=0, y=0)
    matrix = Matrix.Translation((0, 0, -10))
    window = Matrix(((2, 0, 0, 0), (0, 2, 0, 0), (0, 0, -1, -0.02), (0, 0, -1, 0)))
    perspective = window @ matrix
    data = SimpleNamespace(
        is_perspective=True,
        view_matrix=matrix,
        window_matrix=window,
        perspective_matrix=perspective,
        view_perspective="PERSP",
    )
    return extension_module("scene.picking").View(region, data)


def test_the_mouse_finds_the_seat_through_the_character_and_the_floor_beside(engine, extension_module):
    picking, view = extension_module("scene.picking"), looking_down(extension_module)
    bpy.ops.nsm.add_character()
    thing = seat((0, 0, 0))
    found = picking.under(bpy.context, view, 50, 50)
    assert found.thing == thing
    assert found.place.z == pytest.approx(0.45, abs=0.01)
    beside = picking.under(bpy.context, view, 90, 50)
    assert beside.thing is None
    assert tuple(beside.place) == pytest.approx((4, 0, 0), abs=1e-3)


def test_a_part_of_a_collider_stands_for_all_of_it(extension_module):
    picking = extension_module("scene.picking")
    sofa, cushion = box(name="Sofa"), box(0.5, name="Cushion")
    cushion.parent = sofa
    cushion.location.z = 1.2
    select(sofa)
    bpy.ops.nsm.wrap_collider(role="surface")
    assert picking.thing_of(bpy.context, cushion) == sofa
    assert picking.at(bpy.context, Vector((0, 0, 1.5))) == [sofa]


def event(kind, x=50, y=50, **held):
    keys = {"ctrl": False, "alt": False, "shift": False, "oskey": False} | held
    return SimpleNamespace(type=kind, value="PRESS", mouse_x=x, mouse_y=y, **keys)


def screen(lock_camera=False, perspective="PERSP"):
    """A context with a viewport of 100 by 100 pixels whose sidebar takes the right fifth, and a timeline below."""
    space = SimpleNamespace(lock_camera=lock_camera, region_3d=SimpleNamespace(view_perspective=perspective))
    place = {"x": 0, "y": 0, "width": 100, "height": 100}
    regions = [SimpleNamespace(type="WINDOW", **place), SimpleNamespace(type="UI", **(place | {"x": 80, "width": 20}))]
    viewport = SimpleNamespace(type="VIEW_3D", regions=regions, spaces=SimpleNamespace(active=space), **place)
    timeline = SimpleNamespace(type="DOPESHEET_EDITOR", regions=[], **(place | {"y": -50, "height": 50}))
    areas = [timeline, viewport]
    return SimpleNamespace(window=SimpleNamespace(screen=SimpleNamespace(areas=areas)))


@pytest.mark.parametrize("kind", ["MIDDLEMOUSE", "WHEELUPMOUSE", "NDOF_MOTION", "TRACKPADPAN", "NUMPAD_1", "NUMPAD_0"])
def test_the_view_can_be_turned_while_a_bake_runs(extension_module, kind):
    is_navigation = extension_module("operators.view_navigation").is_navigation
    assert is_navigation(screen(), event(kind))
    assert not is_navigation(screen(), event(kind, x=90)), "the sidebar's wheel changes values"
    assert not is_navigation(screen(), event(kind, y=-20)), "the timeline's wheel changes frames"
    assert not is_navigation(screen(lock_camera=True, perspective="CAMERA"), event(kind)), "it would move the camera"


@pytest.mark.parametrize("kind", ["G", "DEL", "LEFTMOUSE", "SPACE", "NUMPAD_ENTER", "NUMPAD_SLASH", "TAB"])
def test_nothing_that_changes_the_scene_goes_on_to_blender_while_a_bake_runs(extension_module, kind):
    is_navigation = extension_module("operators.view_navigation").is_navigation
    assert not is_navigation(screen(), event(kind))


def test_what_sets_the_camera_or_the_frame_is_no_looking_around(extension_module):
    is_navigation = extension_module("operators.view_navigation").is_navigation
    assert not is_navigation(screen(), event("NUMPAD_0", ctrl=True))
    assert not is_navigation(screen(), event("WHEELUPMOUSE", alt=True))
