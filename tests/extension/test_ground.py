# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that are used as ground, and paths over them, through the installed extension's operators."""

from __future__ import annotations

import json

import bpy
import numpy as np
import pytest

from . import build
from .odd_objects import collection, instance, link, mesh, node_group
from .shapes import boxes, chair, select
from .snapshot import difference, snapshot

RISE, GOING, COUNT = 0.17, 0.3, 5
BALL = 0.02
"""Meters of the bundled character's toe joint over its sole."""
FRAMES = 150


def stairs(name: str = "Stairs") -> bpy.types.Object:
    """A flight up toward -Y from y = -2 on, with a landing behind it."""
    return boxes(
        *(((-1, -8, 0), (1, -2 - GOING * i, RISE * (i + 1))) for i in range(COUNT)),
        name=name,
    )


def as_ground(*objects: bpy.types.Object) -> None:
    select(*objects)
    assert bpy.ops.nsm.wrap_collider(role="ground") == {"FINISHED"}
    assert all(obj.nsm.collider.role == "ground" for obj in objects)


def walker(points: list[tuple[float, float, float]], frames: int = FRAMES) -> bpy.types.Object:
    """The bundled character, which walks through these points."""
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = 30, 1.0
    scene.frame_start, scene.frame_end = 1, frames
    bpy.ops.nsm.add_character()
    rig = bpy.context.object
    rig.nsm.path = build.curve(points)
    rig.nsm.path.nsm.speed = 1.1
    return rig


def hips_height(rig: bpy.types.Object, frame: int) -> float:
    bpy.context.scene.frame_set(frame)
    graph = bpy.context.evaluated_depsgraph_get()
    return (rig.matrix_world @ rig.evaluated_get(graph).pose.bones["Hips"].head).z


def over_stairs(rig: bpy.types.Object, frame: int) -> list[float]:
    """Meters of the balls of both feet over the surface below them, less their height over the soles."""
    bpy.context.scene.frame_set(frame)
    bones = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    out = []
    for side in ("Left", "Right"):
        place = rig.matrix_world @ bones[f"{side}Toe"].head
        treads = [i for i in range(COUNT) if place.y < -2 - GOING * i]
        out.append(place.z - BALL - RISE * len(treads))
    return out


@pytest.fixture
def ground_of(extension_module):
    """A function that gives the ground of a character's shot: name -> vertices (V, 3) in meters at its size."""
    module = extension_module("scene.gather_keys")

    def gathered(rig: bpy.types.Object) -> dict[str, np.ndarray]:
        found = module.gather_shot(bpy.context, rig)
        return {mesh.name: np.array(mesh.vertices) * found.rig.scale for mesh in found.shot.ground}

    return gathered


def test_a_character_walks_up_the_stairs_below_its_curve_with_its_soles_on_them():
    as_ground(stairs())
    rig = walker([(0, 0, 0), (0, -6, 0)], frames=200)
    before = snapshot()
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    report = rig.nsm.report
    assert report.rig_error_mm_max < 0.1
    assert 0 <= report.sole_depth_cm < 3
    assert report.sole_gap_cm >= 0
    assert report.foot_slide_cm_per_s < 2
    assert hips_height(rig, 200) - hips_height(rig, 1) == pytest.approx(COUNT * RISE, abs=0.05)
    lower = [min(over_stairs(rig, frame)) for frame in range(1, 201, 2)]
    assert np.percentile(lower, 5) > -0.03
    assert np.percentile(lower, 95) < 0.03, "one foot or the other stands on the floor or on a tread"
    bpy.context.scene.frame_set(1)
    assert bpy.ops.nsm.remove_bake() == {"FINISHED"}
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize("above", [0.0, 1.0, 2.5])
def test_the_walk_begins_on_the_surface_nearest_to_the_curve_whatever_its_height(above):
    """At the curve's beginning there is a platform alone: solid, so that nothing can be stood on below its top."""
    as_ground(boxes(((-1, -3, 0), (1, 1, 1.0)), name="Platform"))
    rig = walker([(0, 0, above), (0, -2, above)], frames=40)
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    assert hips_height(rig, 1) == pytest.approx(1.0 + 0.93, abs=0.1)


def test_ground_is_read_as_it_is_displayed(ground_of):
    plank = boxes(((-0.5, -0.5, -0.1), (0.5, 0.5, 0.0)), name="Plank")
    array = plank.modifiers.new("Array", "ARRAY")
    array.count, array.relative_offset_displace = 3, (0, -1, 0)
    plank.scale, plank.location = (2, 1, 1), (0, -1, 0.3)
    tile = boxes(((-0.5, -0.5, 0), (0.5, 0.5, 0.1)), name="Tile")
    tiles = instance(collection(tile), name="Tiles")
    tiles.location = (0, -4, 0)
    nodes = link(bpy.data.objects.new("Nodes", mesh([], [], "Nodes")))

    def grid(group, _geometry):
        made = group.nodes.new("GeometryNodeMeshGrid")
        made.inputs["Size X"].default_value, made.inputs["Size Y"].default_value = 1.0, 0.5
        return made.outputs["Mesh"]

    nodes.modifiers.new("Nodes", "NODES").node_group = node_group(grid)
    nodes.location = (0, -6, 0.2)
    as_ground(plank, tiles, nodes)
    found = ground_of(walker([(0, 0, 0), (0, -8, 0)]))
    assert set(found) == {"Plank", "Tiles", "Nodes"}
    np.testing.assert_allclose(found["Plank"].min(axis=0), [-1, -3.5, 0.2], atol=1e-5)
    np.testing.assert_allclose(found["Plank"].max(axis=0), [1, -0.5, 0.3], atol=1e-5)
    np.testing.assert_allclose(found["Tiles"].max(axis=0), [0.5, -3.5, 0.1], atol=1e-5)
    np.testing.assert_allclose(found["Nodes"].min(axis=0), [-0.5, -6.25, 0.2], atol=1e-5)


def test_only_enabled_ground_around_the_path_belongs_to_the_shot(ground_of):
    field = boxes(((-300, -300, -0.2), (300, 300, 0.0)), name="Field")
    away, off = (boxes(((x, -1, 0), (x + 1, 1, 0.2)), name=name) for x, name in ((50, "Away"), (1, "Off")))
    as_ground(field, away, off)
    off.nsm.collider.enabled = False
    found = ground_of(walker([(0, 0, 0), (0, -4, 0)]))
    assert set(found) == {"Field"}
    assert np.abs(found["Field"]).max() < 10
    assert field.nsm.collider.size > 0.04, "the voxels of large ground are larger"


def test_without_ground_a_path_is_walked_at_its_own_height(ground_of):
    bpy.context.scene.cursor.location = (0, 0, 0)
    obstacle = boxes(((-1, -3, 0), (1, -2, 0.3)), name="Obstacle")
    select(obstacle)
    bpy.ops.nsm.wrap_collider(role="obstacle")
    assert ground_of(walker([(0, 0, 0.5), (0, -4, 0.5)])) == {}


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        ((-1, -4, 0), (1, -3, 2), "At x 0.00 m, y -3.0. m the path runs against 'Block', which rises 2.00 m"),
        ((-1, -4, 0.9), (1, -3, 1.1), "At x 0.00 m, y -3.0. m 'Block' hangs 0.90 m over the ground"),
    ],
)
def test_a_path_that_cannot_be_walked_is_refused_with_the_object_and_the_place(low, high, told):
    as_ground(boxes((low, high), name="Block"))
    walker([(0, 0, 0), (0, -6, 0)])
    before = snapshot()
    with pytest.raises(RuntimeError, match=told):
        bpy.ops.nsm.bake()
    assert difference(before, snapshot()) == {}


def test_a_low_ceiling_is_crouched_under():
    as_ground(boxes(((-1, -2.6, 1.45), (1, -2.4, 1.7)), name="Beam"))
    rig = walker([(0, 0, 0), (0, -5, 0)], frames=170)
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    upright, under = [], []
    for frame in range(1, 171, 3):
        bpy.context.scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        head = rig.matrix_world @ rig.evaluated_get(graph).pose.bones["Head"].tail
        (under if abs(head.y + 2.5) < 0.2 else upright).append(head.z)
    assert max(under) < 1.5 < max(upright)


def test_ground_that_moves_is_refused():
    lift = boxes(((-1, -4, 0), (1, -1, 0.1)), name="Lift")
    as_ground(lift)
    walker([(0, 0, 0), (0, -4, 0)])
    for frame, z in ((1, 0.0), (100, 1.0)):
        lift.location.z = z
        lift.keyframe_insert("location", frame=frame)
    with pytest.raises(RuntimeError, match="The ground 'Lift' moves in the frames that are baked"):
        bpy.ops.nsm.bake()


def test_changed_ground_is_noticed_and_the_next_bake_walks_on_it(ground_of):
    slab = boxes(((-1, -4, 0), (1, 1, 0.1)), name="Slab")
    as_ground(slab)
    rig = walker([(0, 0, 0), (0, -3, 0)], frames=40)
    for vertex in slab.data.vertices:
        vertex.co.z *= 3
    slab.data.update()
    bpy.context.view_layer.update()
    assert slab.nsm.collider.stale
    assert ground_of(rig)["Slab"][:, 2].max() == pytest.approx(0.3, abs=1e-5)
    slab.location.z = 0.2
    assert ground_of(rig)["Slab"][:, 2].max() == pytest.approx(0.5, abs=1e-5)


def test_a_cancelled_bake_on_ground_leaves_the_scene_as_it_was(extension_module):
    as_ground(stairs())
    rig = walker([(0, 0, 0), (0, -6, 0)])
    for stop in (0.0, 0.5, 0.88):
        before = snapshot()
        work = extension_module("operators.job").BakeJob(bpy.context, rig)
        while work.progress <= stop:
            work.step()
        work.cancel()
        assert difference(before, snapshot()) == {}


@pytest.fixture
def sent_up(extension_module):
    """A character that is sent up the stairs by a key, and a function that gives its shot."""
    as_ground(stairs())
    rig = walker([(0, 0, 0), (0, -6, 0)], frames=220)
    bpy.ops.nsm.add_goal(name="Up", attach=False, location=(0, -5, COUNT * RISE), use_facing=False)
    bpy.ops.nsm.add_action_key(action="walk", goal="Up")
    rig.nsm.animate_by = "ACTIONS"
    return rig, lambda: extension_module("scene.gather_keys").gather_shot(bpy.context, rig).shot


def test_keys_that_walk_find_their_way_over_ground_which_is_then_no_obstacle(sent_up):
    rig, shot = sent_up
    assert [mesh.name for mesh in shot().ground] == ["Stairs"]
    assert shot().colliders == []
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    assert hips_height(rig, 220) - hips_height(rig, 1) == pytest.approx(COUNT * RISE, abs=0.05)
    assert rig.nsm.report.goal_error_cm < 10


def test_a_character_walks_up_the_stairs_by_one_network_and_sits_down_there_by_the_other():
    as_ground(stairs())
    seat = chair()
    seat.location = (0, -6, COUNT * RISE)
    bpy.context.view_layer.update()
    select(seat)
    assert bpy.ops.nsm.wrap_collider(role="seat") == {"FINISHED"}
    assert bpy.ops.nsm.add_goal(name="Seat") == {"FINISHED"}
    rig = walker([(0, 0, 0), (0, -6, 0)], frames=400)
    bpy.ops.nsm.add_action_key(action="sit", goal="Seat")
    rig.nsm.animate_by = "ACTIONS"
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    standing, seated = hips_height(rig, 1), hips_height(rig, 400)
    assert seated - COUNT * RISE == pytest.approx(standing - 0.45, abs=0.15)
    assert rig.nsm.report.goal_error_cm < 10


def test_for_the_state_machine_ground_stays_a_collider_to_step_on(sent_up):
    rig, shot = sent_up
    rig.nsm.controller = "NSM"
    assert shot().ground == []
    assert [(thing.name, thing.role) for thing in shot().colliders] == [("Stairs", "ground")]


def test_floors_landscapes_and_stairs_are_taken_for_ground_by_themselves():
    floor = boxes(((-5, -4, -0.2), (5, 4, 0)), name="Floor")
    x, y = np.meshgrid(np.linspace(-30, 30, 41), np.linspace(-30, 30, 41))
    corners = np.stack([x, y, np.sin(x / 4) * np.cos(y / 5)], axis=-1).reshape(-1, 3)
    faces = [(i, i + 1, i + 42, i + 41) for i in range(41 * 40) if i % 41 != 40]
    hills = link(bpy.data.objects.new("Hills", mesh(corners.tolist(), faces, "Hills")))
    flight = boxes(*(((-0.6, 0.28 * i, 0), (0.6, 0.28 * 12, 0.17 * (i + 1))) for i in range(12)), name="Flight")
    table = boxes(((-0.8, -0.5, 0.7), (0.8, 0.5, 0.75)), ((-0.1, -0.1, 0), (0.1, 0.1, 0.7)), name="Table")
    select(floor, hills, flight, table)
    assert bpy.ops.nsm.wrap_collider() == {"FINISHED"}
    roles = {obj.name: obj.nsm.collider.role for obj in (floor, hills, flight, table)}
    assert roles == {"Floor": "ground", "Hills": "ground", "Flight": "ground", "Table": "surface"}


def test_the_saved_shot_holds_the_ground_and_is_baked_alike_without_blender(extension_module, tmp_path):
    as_ground(stairs())
    rig = walker([(0, 0, 0), (0, -4, 0)], frames=60)
    path = tmp_path / "shot.json"
    bpy.ops.nsm.save_shot(filepath=str(path))
    assert [mesh["name"] for mesh in json.loads(path.read_text())["ground"]] == ["Stairs"]
    loaded = extension_module("nsm_blender.shot.shot").Shot.load(path)
    motion = extension_module("nsm_blender").bake(loaded)
    bpy.ops.nsm.bake()
    assert hips_height(rig, 60) == pytest.approx(float(motion.positions[-1, 0, 2]), abs=0.01)
