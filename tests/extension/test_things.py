# SPDX-License-Identifier: GPL-3.0-or-later
"""Boxes and doors that a bake moves: their keys, taking them away again, and bakes on top of each other."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion, Vector

from . import build
from .snapshot import difference, snapshot

FRAMES = 20


@pytest.fixture
def rig(engine):
    """A character with the keys to take the box A and put it on a table, which it does by no network."""
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, FRAMES
    add_box("Box", (1.0, -2.0, 0.7), (0.4, 0.3, 0.3))
    bpy.ops.nsm.wrap_collider(role="carryable", use_children=True)
    bpy.ops.nsm.add_goal(name="On Box")
    rig = build.armature(engine)
    bpy.ops.nsm.add_action_key(action="pick_up", goal="On Box")
    return rig


def add_box(name: str, place: tuple[float, float, float], size: tuple[float, float, float]) -> bpy.types.Object:
    bpy.ops.mesh.primitive_cube_add(size=1, location=place, calc_uvs=False)
    box = bpy.context.object
    box.name = name
    box.data.transform(Matrix.Diagonal((*size, 1)))
    return box


class Made:
    """A motion that was made already, as the work of a job."""

    def __init__(self, motion) -> None:
        self.done, self.progress, self._motion = True, 1.0, motion

    def step(self) -> None:
        """Nothing is left to do."""

    def motion(self):
        """The motion."""
        return self._motion


@pytest.fixture
def job(extension_module, engine):
    """A function that begins to write a bake in which things go along poses, name -> (F, 7) in world meters."""
    gather_keys, jobs = extension_module("scene.gather_keys"), extension_module("operators.job")
    module, model = extension_module("nsm_blender.motion.motion"), extension_module("nsm_blender.motion.skeleton")

    def begin(rig, **poses):
        gathered = gather_keys.gather_shot(bpy.context, rig)
        skeleton, count = model.MODEL_SKELETON, len(gathered.frames)
        places = skeleton.rest_positions() + np.array([0, 0, model.HIPS_HEIGHT])
        rotations = np.zeros((count, len(skeleton), 4), np.float32)
        rotations[..., 0] = 1
        names = model.CONTACT_JOINTS
        things = {
            name: (np.array(where) / ([gathered.rig.scale] * 3 + [1] * 4)).tolist() for name, where in poses.items()
        }
        motion = module.Motion(
            skeleton.names, skeleton.parents, np.tile(places, (count, 1, 1)).astype(np.float32), rotations,
            np.zeros((count, 4), np.float32), np.zeros((count, len(names)), np.float32), names,
            np.zeros(count, np.float32), np.zeros((count, 0), np.float32), (), 30.0, {"things": things},
        )  # fmt: skip
        return jobs.MotionJob(gathered, rig, Made(motion), f"{rig.name} Bake")

    return begin


@pytest.fixture
def resting(extension_module):
    """A function that gives the poses (F or 1, 7) of colliders as a bake of `rig` would find them."""
    module = extension_module("scene.gather_keys")
    return lambda rig: {thing.name: thing.poses for thing in module.gather_shot(bpy.context, rig).shot.colliders}


def carried(start: np.ndarray, turn: float = 2.0, lift: float = 0.5) -> np.ndarray:
    """Poses (F, 7) from a start (7,): lifted, carried aside and turned about +Z."""
    share = np.linspace(0, 1, FRAMES)
    out = np.tile(np.asarray(start, dtype=float), (FRAMES, 1))
    out[:, :3] += share[:, None] * [1.0, -0.5, lift]
    for row, part in zip(out, share, strict=True):
        row[3:] = Quaternion((0, 0, 1), turn * part) @ Quaternion(row[3:])
    return out


def frame_of(obj: bpy.types.Object) -> np.ndarray:
    """The pose (7,) of an object as Blender shows it now: place in meters, rotation without scale."""
    world = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world
    place, turn, _ = world.decompose()
    return np.array([*(place * bpy.context.scene.unit_settings.scale_length), *turn])


def assert_follows(obj: bpy.types.Object, poses: np.ndarray) -> None:
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        found, wanted = frame_of(obj), poses[frame - 1]
        assert np.allclose(found[:3], wanted[:3], atol=2e-5), frame
        assert abs(abs(found[3:] @ wanted[3:]) - 1) < 1e-5, frame


def world_of(obj: bpy.types.Object) -> Matrix:
    return obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world.copy()


def _plain(box):
    pass


def _euler_of_another_order(box):
    box.rotation_mode, box.rotation_euler = "YXZ", (0.2, -0.3, 2.9)


def _quaternion(box):
    box.rotation_mode, box.rotation_quaternion = "QUATERNION", (0.5, 0.5, 0.5, 0.5)


def _axis_angle(box):
    box.rotation_mode, box.rotation_axis_angle = "AXIS_ANGLE", (1.0, 0.3, 0.2, 0.9)


def _scaled(box):
    box.scale = (0.5, 2.0, 1.5)


def _mirrored(box):
    box.scale = (-1.0, 1.0, 1.0)
    box.rotation_euler.z = 0.6
    box.nsm.collider.stale = True


def _with_deltas(box):
    box.delta_location, box.delta_rotation_euler = (0.1, 0.2, 0.3), (0.3, 0.1, -0.4)
    box.rotation_euler = (0.1, 0.2, 0.3)


def parent_of(box, keep: bool = False) -> bpy.types.Object:
    parent = bpy.data.objects.new("Table", None)
    bpy.context.scene.collection.objects.link(parent)
    parent.location, parent.rotation_euler, parent.scale = (0.3, 0.2, 0.1), (0.1, 0.2, 0.3), (2, 2, 2)
    bpy.context.view_layer.update()
    box.parent = parent
    if keep:
        box.matrix_parent_inverse = parent.matrix_world.inverted()
    return parent


def _parented(box):
    parent_of(box)


def _parented_keeping_its_place_on_an_uneven_parent(box):
    parent = parent_of(box)
    parent.scale = (1, 2, 3)
    bpy.context.view_layer.update()
    box.matrix_parent_inverse = parent.matrix_world.inverted()


def _on_a_moving_parent(box):
    parent = parent_of(box, keep=True)
    for frame, x in ((1, 0.0), (FRAMES, 1.0)):
        parent.location.x = x
        parent.rotation_euler.z = x
        parent.keyframe_insert("location", frame=frame)
        parent.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_set(1)


def _animated(box):
    for frame, x in ((1, 1.0), (FRAMES, 2.0)):
        box.location.x = x
        box.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(1)


def _in_inches(box):
    bpy.context.scene.unit_settings.scale_length = 0.0254
    box.location = Vector(box.location) / 0.0254
    box.scale = (1 / 0.0254,) * 3
    bpy.data.objects["Rig"].scale = (1 / 0.0254,) * 3


def _small_character(_box):
    bpy.data.objects["Rig"].scale = (0.5, 0.5, 0.5)


STATES = [
    _plain, _euler_of_another_order, _quaternion, _axis_angle, _scaled, _mirrored, _with_deltas, _parented,
    _parented_keeping_its_place_on_an_uneven_parent, _on_a_moving_parent, _animated, _in_inches, _small_character,
]  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_a_carried_box_goes_where_the_engine_says_and_comes_back_when_the_bake_is_removed(rig, job, resting, state):
    box = bpy.data.objects["Box"]
    state(box)
    bpy.context.view_layer.update()
    bpy.context.scene.frame_set(7)
    before, was, scale = snapshot(), resting(rig)["Box"][0], world_of(box).to_scale()
    poses = carried(was * np.array([rig.scale.x * bpy.context.scene.unit_settings.scale_length] * 3 + [1] * 4))
    own = box.animation_data.action if box.animation_data else None
    job(rig, Box=poses).run()
    assert "This bake moves 'Box'" in rig.nsm.report.notes
    action = box.animation_data.action
    assert action != own and action.name == "Box Bake"
    assert_follows(box, poses)
    assert np.allclose(world_of(box).to_scale(), scale, rtol=1e-4)
    bpy.context.scene.frame_set(7)
    assert bpy.ops.nsm.remove_bake() == {"FINISHED"}
    assert difference(before, snapshot()) == {}


def test_the_keys_are_one_generated_key_a_frame_of_place_and_rotation_without_jumps(
    rig, job, resting, extension_module
):
    box = bpy.data.objects["Box"]
    job(rig, Box=carried(resting(rig)["Box"][0], turn=6.0)).run()
    found = extension_module("scene.actions").of(box)
    assert sorted((c.data_path, c.array_index) for c in found) == [
        (path, i) for path in ("location", "rotation_euler") for i in range(3)
    ]
    for curve in found:
        assert tuple(curve.range()) == (1, FRAMES)
        assert {key.type for key in curve.keyframe_points} == {"GENERATED"}
        assert np.abs(np.diff([curve.evaluate(frame) for frame in range(1, FRAMES + 1)])).max() < 1


def test_a_door_leaf_turns_about_its_hinge_with_its_handle(rig, job, resting):
    leaf = add_box("Leaf", (3.0, 0.0, 1.0), (0.9, 0.05, 2.0))
    knob = add_box("Knob", (3.4, -0.08, 1.0), (0.06, 0.1, 0.06))
    leaf.select_set(True)
    bpy.context.view_layer.objects.active = leaf
    bpy.ops.nsm.wrap_collider(role="door", as_one=True)
    bpy.ops.nsm.add_goal(name="Through", collider="Leaf")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.nsm.add_action_key(action="open", goal="Through")
    start, hinge = resting(rig)["Leaf"][0], np.array([2.55, 0.0])
    poses = np.tile(start, (FRAMES, 1))
    for row, angle in zip(poses, np.linspace(0, math.pi / 2, FRAMES), strict=True):
        c, s = math.cos(angle), math.sin(angle)
        row[:2] = hinge + np.array([[c, -s], [s, c]]) @ (start[:2] - hinge)
        row[3:] = Quaternion((0, 0, 1), angle)
    job(rig, Leaf=poses).run()
    assert_follows(leaf, poses)
    assert np.allclose(world_of(knob).translation, (2.55 + 0.08, 0.85, 1.0), atol=1e-4)
    assert np.allclose(world_of(leaf) @ Vector((-0.45, 0, 0)), (2.55, 0.0, 1.0), atol=1e-4)
    bpy.ops.nsm.remove_bake()
    bpy.context.scene.frame_set(FRAMES)
    assert np.allclose(world_of(knob).translation, (3.4, -0.08, 1.0), atol=1e-6)


def test_children_go_along_by_themselves_and_get_no_keys(rig, job, resting):
    box = bpy.data.objects["Box"]
    lid = add_box("Lid", (1.0, -2.0, 0.9), (0.4, 0.3, 0.02))
    lid.parent, lid.matrix_parent_inverse = box, box.matrix_world.inverted()
    poses = carried(resting(rig)["Box"][0])
    job(rig, Box=poses).run()
    bpy.context.scene.frame_set(FRAMES)
    assert lid.animation_data is None
    assert (world_of(lid).translation - world_of(box).translation).length == pytest.approx(0.2, abs=1e-5)


def _constrained(box):
    box.constraints.new("COPY_LOCATION").target = bpy.data.objects["Rig"]


def _driven(box):
    box.driver_add("location", 0).driver.expression = "1"


def _simulated(box):
    bpy.context.view_layer.objects.active = box
    bpy.ops.rigidbody.object_add()
    bpy.context.view_layer.objects.active = bpy.data.objects["Rig"]


def _on_an_uneven_parent(box):
    parent_of(box).scale = (1, 2, 1)


def _in_a_solo_track(box):
    box.animation_data_create().nla_tracks.new().is_solo = True


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_constrained, "has constraints"),
        (_driven, "has a driver"),
        (_simulated, "rigid body simulation"),
        (_on_an_uneven_parent, "scaled unevenly"),
        (_in_a_solo_track, "plays solo"),
    ],
)
def test_a_thing_that_keys_would_not_move_is_refused_with_the_reason(rig, change, sentence):
    change(bpy.data.objects["Box"])
    before = snapshot()
    with pytest.raises(RuntimeError, match=sentence):
        bpy.ops.nsm.bake()
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize("state", [_plain, _animated, _on_a_moving_parent])
def test_a_second_bake_finds_the_thing_where_it_was_before_the_first(rig, job, resting, state):
    box = bpy.data.objects["Box"]
    state(box)
    before, first = resting(rig), snapshot()
    job(rig, Box=carried(before["Box"][0])).run()
    bpy.ops.nsm.keep_bake()
    once = snapshot()
    for frame in (1, FRAMES):
        bpy.context.scene.frame_set(frame)
        again = resting(rig)
        assert np.array_equal(again["Box"], before["Box"])
    bpy.context.scene.frame_set(1)
    assert difference(once, snapshot()) == {}, "looking does not touch"
    other = carried(before["Box"][0], turn=-1.0)
    job(rig, Box=other).run()
    assert_follows(box, other)
    bpy.context.scene.frame_set(1)
    for earlier in (once, first):
        bpy.ops.nsm.remove_bake()
        left = difference(earlier, snapshot())
        assert all(".report." in path for path in left), left  # the figures are those of the last bake
    assert not any("[Box" in path for path in left)


@pytest.mark.parametrize("state", [_plain, _animated, _on_a_moving_parent])
def test_the_next_bake_replaces_the_last_one_with_all_that_it_gave_to_things(rig, job, resting, state):
    box = bpy.data.objects["Box"]
    state(box)
    before, first = resting(rig), snapshot()
    for turn in (1.0, -1.0, 0.5):
        moved = carried(before["Box"][0], turn=turn)
        job(rig, Box=moved).run()
        assert_follows(box, moved)
        assert len([action for action in bpy.data.actions if "Bake" in action.name]) == 2
    bpy.context.scene.frame_set(1)
    bpy.ops.nsm.remove_bake()
    left = difference(first, snapshot())
    assert all(".report." in path for path in left), left


@pytest.mark.parametrize("state", [_plain, _animated])
def test_what_the_next_bake_leaves_alone_stays_where_it_is_by_itself(rig, job, resting, state):
    box = bpy.data.objects["Box"]
    state(box)
    places = []
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        places.append(frame_of(box))
    job(rig, Box=carried(resting(rig)["Box"][0])).run()
    rig.nsm.keys[0].action = "walk"
    job(rig).run()
    assert_follows(box, np.array(places))
    bpy.ops.nsm.remove_action_key()
    rig.nsm.path = build.curve([(0, 0, 0), (0, -2, 0)])
    job(rig).run()
    assert_follows(box, np.array(places))


def test_a_character_takes_what_another_has_put_down_and_each_can_be_baked_again(rig, job, resting, engine):
    box = bpy.data.objects["Box"]
    start = resting(rig)["Box"]
    first = carried(start[0])
    job(rig, Box=first).run()
    other = build.armature(engine, "Other")
    bpy.ops.nsm.add_action_key(action="pick_up", goal="On Box")
    assert np.allclose(resting(other)["Box"], first, atol=1e-4), "where the first one carries it"
    second = carried(first[-1], lift=-0.3)
    second[: FRAMES // 2] = first[: FRAMES // 2]
    job(other, Box=second).run()
    assert_follows(box, second)
    assert np.array_equal(resting(rig)["Box"], start), "the first one begins at the beginning"
    bpy.context.view_layer.objects.active = rig
    with pytest.raises(RuntimeError, match=r"moved again by a later bake, 'Box Bake\.001'"):
        bpy.ops.nsm.remove_bake()
    third = carried(start[0], turn=0.5)
    job(rig, Box=third).run()
    assert np.allclose(resting(other)["Box"], third, atol=1e-4), "the later one follows the new bake of the first"
    for character in (rig, other, rig):
        bpy.context.view_layer.objects.active = character
        bpy.ops.nsm.remove_bake()
    assert box.animation_data is None
    assert not bpy.data.actions


def test_a_copy_of_a_baked_character_sees_the_thing_as_the_bake_moves_it(rig, job, resting):
    poses = carried(resting(rig)["Box"][0])
    job(rig, Box=poses).run()
    other = rig.copy()
    other.animation_data.action = rig.animation_data.action.copy()
    bpy.context.scene.collection.objects.link(other)
    assert np.allclose(resting(other)["Box"], poses, atol=1e-4)
    assert bpy.ops.nsm.remove_bake() == {"FINISHED"}
    assert bpy.data.objects["Box"].animation_data is None


@pytest.mark.parametrize("steps", [1, 10, 14])
@pytest.mark.parametrize("state", [_plain, _animated])
def test_a_cancelled_bake_leaves_the_things_as_they_were(rig, job, resting, state, steps):
    state(bpy.data.objects["Box"])
    before = snapshot()
    work = job(rig, Box=carried(resting(rig)["Box"][0]))
    for _ in range(steps):
        work.step()
    if not work.done:
        work.cancel()
        assert difference(before, snapshot()) == {}


def test_an_error_after_the_things_were_written_leaves_everything_as_it_was(
    rig, job, resting, extension_module, monkeypatch
):
    work = job(rig, Box=carried(resting(rig)["Box"][0]))
    before = snapshot()

    def fail(*_args, **_kwargs):
        raise RuntimeError("the disk caught fire")

    monkeypatch.setattr(extension_module("scene.measure"), "_evaluate", fail)
    with pytest.raises(RuntimeError, match="the disk caught fire"):
        work.run()
    assert difference(before, snapshot()) == {}


def test_a_thing_deleted_during_the_bake_ends_it_and_leaves_nothing(rig, job, resting):
    work = job(rig, Box=carried(resting(rig)["Box"][0]))
    work.step()
    bpy.data.objects.remove(bpy.data.objects["Box"])
    with pytest.raises(Exception, match="The bake stopped: the object 'Box' was deleted"):
        work.run()
    assert not bpy.data.actions


def test_keys_made_by_hand_on_a_thing_survive_the_removal(rig, job, resting):
    box = bpy.data.objects["Box"]
    job(rig, Box=carried(resting(rig)["Box"][0])).run()
    box.keyframe_insert("location", frame=100)
    bpy.ops.nsm.remove_bake()
    kept = bpy.data.actions["Box Bake"]
    assert kept.use_fake_user and box.animation_data is None
    assert not kept.keys(), "an ordinary action"


def test_an_action_that_the_animator_gave_the_thing_meanwhile_stays(rig, job, resting):
    box = bpy.data.objects["Box"]
    job(rig, Box=carried(resting(rig)["Box"][0])).run()
    box.animation_data.action = None
    _animated(box)
    own = box.animation_data.action
    bpy.ops.nsm.remove_bake()
    assert box.animation_data.action == own
    assert list(bpy.data.actions) == [own]


def test_bakes_and_their_things_survive_save_and_load(rig, job, resting, tmp_path):
    start = resting(rig)["Box"]
    job(rig, Box=carried(start[0])).run()
    path = str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    rig, box = bpy.data.objects["Rig"], bpy.data.objects["Box"]
    assert np.allclose(resting(rig)["Box"], start, atol=1e-6)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.nsm.remove_bake()
    assert box.animation_data is None
    assert not bpy.data.actions
