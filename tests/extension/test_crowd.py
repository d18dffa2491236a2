# SPDX-License-Identifier: GPL-3.0-or-later
"""Synthesis along curves: one character, live while the curve changes, and a crowd."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from . import build
from .snapshot import difference, snapshot
from .test_manifold import select


@pytest.fixture
def live(extension_module):
    """The module of live synthesis, which is off again after the test."""
    module = extension_module("operators.live")
    yield module
    module.stop()


def hips(rig, frame):
    """World place of the character's hips at a frame."""
    bpy.context.scene.frame_set(frame)
    return np.array(rig.matrix_world @ rig.pose.bones["Hips"].head)


def test_a_synthesis_writes_one_new_action_that_follows_the_curve(engine, extension_module):
    rig, _ = build.shot(engine, frames=60)
    assert bpy.ops.nsm.synthesize() == {"FINISHED"}
    (action,) = bpy.data.actions
    assert rig.animation_data.action == action
    for curve in extension_module("scene.actions").of(rig):
        assert tuple(curve.range()) == (1, 60)
        assert {key.type for key in curve.keyframe_points} == {"GENERATED"}
    report = rig.nsm.report
    assert (report.frames, report.frames_measured) == (60, 60)
    assert 0 < report.rig_error_mm_max < 0.05
    assert report.path_error_cm < 20
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data is None
    assert not bpy.data.actions


def test_the_step_settings_are_those_of_the_engine(engine, extension_module):
    rig, _ = build.shot(engine)
    found = extension_module("operators.synthesis_job").options(rig)
    assert found == extension_module("nsm_blender.manifold.synthesis").Options()
    rig.nsm.manifold.synthesis.frequency = 1.5
    rig.nsm.manifold.synthesis.sway = 0.0
    found = extension_module("operators.synthesis_job").options(rig)
    assert (found.stepping.frequency, found.sway) == (1.5, 0.0)


@pytest.mark.parametrize("progress", [0.05, 0.86, 0.95])
def test_a_cancelled_synthesis_leaves_everything_as_it_was(engine, extension_module, progress):
    rig, _ = build.shot(engine)
    before = snapshot()
    job = extension_module("operators.synthesis_job").SynthesisJob(bpy.context, rig)
    while job.progress < progress:
        job.step()
    assert not job.done
    job.cancel()
    assert difference(before, snapshot()) == {}


def bend(way):
    """Move the curve's middle point, and let Blender's handlers see it."""
    way.data.splines[0].bezier_points[1].co.x += 1.0
    way.data.update_tag()
    bpy.context.view_layer.update()


def wait(handler):
    """Let the handler's timer come due."""
    assert bpy.app.timers.is_registered(handler._timer)
    handler.forget()
    assert handler._timer() is None


def test_live_synthesis_follows_a_curve_that_changes(engine, live):
    rig, way = build.shot(engine, frames=60)
    bpy.ops.nsm.synthesize()
    assert not live.running()
    bpy.ops.nsm.live_synthesis()
    (handler,) = live._handlers()
    first, before = rig.animation_data.action.name, hips(rig, 30)
    bend(way)
    wait(handler)
    assert rig.animation_data.action.name == first
    assert len(bpy.data.actions) == 1
    assert np.linalg.norm(hips(rig, 30) - before) > 0.05
    keys = rig.animation_data.action
    bpy.context.view_layer.update()
    handler._timer()
    assert rig.animation_data.action == keys  # nothing has changed since
    bpy.ops.nsm.remove_bake()
    assert not bpy.data.actions


@pytest.mark.parametrize("change", ["moved", "another mesh", "a modifier"])
def test_live_synthesis_follows_its_ground(engine, live, change):
    rig, _ = build.shot(engine, frames=60)
    ground = ramp()
    other = ramp()
    rig.nsm.manifold.synthesis.ground = ground
    bpy.ops.nsm.synthesize()
    bpy.ops.nsm.live_synthesis()
    (handler,) = live._handlers()
    before = hips(rig, 30)
    other.location.z = 3  # no character walks on it
    bpy.context.view_layer.update()
    assert not bpy.app.timers.is_registered(handler._timer)
    if change == "moved":
        ground.location.z += 1
    elif change == "another mesh":
        ground.data.transform(Matrix.Translation((0, 0, 1)))
        ground.data.update()
    else:
        displaced = ground.modifiers.new("Displace", "DISPLACE")
        displaced.direction, displaced.strength, displaced.mid_level = "Z", 1, 0
    bpy.context.view_layer.update()
    wait(handler)
    assert hips(rig, 30)[2] - before[2] == pytest.approx(1, abs=0.05)
    keys = rig.animation_data.action.name
    handler._timer()
    assert rig.animation_data.action.name == keys  # nothing has changed since


def test_live_synthesis_leaves_characters_that_were_not_synthesized(engine, live):
    rig, way = build.shot(engine)
    bpy.ops.nsm.bake()
    action = rig.animation_data.action
    bpy.ops.nsm.live_synthesis()
    bend(way)
    wait(live._handlers()[0])
    assert rig.animation_data.action == action


def test_live_synthesis_ends_with_the_button_with_a_new_file_and_with_the_extension(engine, live):
    handlers = bpy.app.handlers.depsgraph_update_post
    before = len(handlers)
    bpy.ops.nsm.live_synthesis()
    bpy.ops.nsm.live_synthesis()
    assert len(handlers) == before
    bpy.ops.nsm.live_synthesis()
    bpy.ops.wm.read_homefile(use_empty=True)
    assert not live.running()
    bpy.ops.nsm.live_synthesis()
    _, way = build.shot(engine)
    bend(way)
    (handler,) = live._handlers()
    assert bpy.app.timers.is_registered(handler._timer)
    live.stop()  # what unregistering calls
    assert len(bpy.app.handlers.depsgraph_update_post) == before
    assert not bpy.app.timers.is_registered(handler._timer)


@pytest.fixture
def crowd_scene(engine):
    """A character with a mesh on the first of three selected curves, as (character, curves)."""
    rig, way = build.shot(engine, frames=30)
    mesh = bpy.data.objects.new("Body", bpy.data.meshes.new("Body"))
    bpy.context.scene.collection.objects.link(mesh)
    mesh.parent = rig
    mesh.modifiers.new("Armature", "ARMATURE").object = rig
    ways = [way, *(build.curve([(x, 0, 0), (x, -4, 0)], name=f"Way {x}") for x in (3, 6))]
    select(*ways, rig)
    return rig, ways


def way_start(way):
    """Where a curve at the origin begins, (x, y)."""
    spline = way.data.splines[0]
    return np.array((spline.bezier_points or spline.points)[0].co)[:2]


def test_a_crowd_has_a_character_for_each_selected_curve(crowd_scene):
    rig, ways = crowd_scene
    assert bpy.ops.nsm.synthesize_crowd() == {"FINISHED"}
    characters = [obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE"]
    assert len(characters) == 3
    assert {obj.nsm.path for obj in characters} == set(ways)
    assert len({obj.animation_data.action for obj in characters}) == 3
    for obj in characters:
        assert obj.nsm.report.rig_error_mm_max < 0.05
        (body,) = obj.children
        assert body.data.name == "Body"
        assert body.modifiers[0].object == obj
        assert np.linalg.norm(hips(obj, 1)[:2] - way_start(obj.nsm.path)) < 0.3
    copies = [obj for obj in characters if obj != rig]
    assert {obj.data for obj in copies} == {rig.data}
    assert len({round(obj.nsm.manifold.synthesis.phase, 3) for obj in characters}) == 3


@pytest.mark.parametrize("progress", [0.02, 0.06, 0.6, 0.97])
def test_a_cancelled_crowd_leaves_everything_as_it_was(crowd_scene, extension_module, progress):
    before = snapshot()
    job = extension_module("operators.synthesis_job").CrowdJob(bpy.context)
    while job.progress < progress:
        job.step()
    assert not job.done
    job.cancel()
    assert difference(before, snapshot()) == {}


def test_an_exception_in_a_crowd_leaves_everything_as_it_was(crowd_scene, extension_module, monkeypatch, capfd):
    before = snapshot()
    monkeypatch.setattr(extension_module("scene.measure"), "_filling_in", lambda *_: 1 / 0)
    with pytest.raises(RuntimeError, match="division by zero"):
        bpy.ops.nsm.synthesize_crowd()
    assert difference(before, snapshot()) == {}
    capfd.readouterr()


def test_a_crowd_without_curves_or_characters_says_what_is_missing(engine):
    rig, way = build.shot(engine)
    select(rig)
    assert not bpy.ops.nsm.synthesize_crowd.poll()
    bpy.data.objects.remove(rig)
    select(way)
    with pytest.raises(RuntimeError, match="No character is there to copy"):
        bpy.ops.nsm.synthesize_crowd()


def ramp():
    """A mesh that rises by half a meter for each meter to -Y, above the floor."""
    mesh = bpy.data.meshes.new("Ramp")
    mesh.from_pydata([(-9, 1, 0), (9, 1, 0), (9, -9, 5), (-9, -9, 5)], [], [(0, 1, 2, 3)])
    obj = bpy.data.objects.new("Ramp", mesh)
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.update()
    return obj


def test_heights_are_those_of_the_ground_or_of_the_curve(engine, extension_module):
    terrain = extension_module("scene.terrain")
    places = np.array([[[0.0, -1.0], [2.0, -3.0]]])
    assert terrain.of_object(bpy.context, ramp(), 1.0)(places) == pytest.approx(np.array([[1.0, 2.0]]), abs=1e-5)
    assert terrain.under_curves([np.array([(0, 0, 0), (0, -4, 0)])]) is None
    level = terrain.under_curves([np.array([(0, 0, 2), (0, -4, 2)])])
    assert level(places) == pytest.approx(np.array([[2.0, 2.0]]))
    rising = terrain.under_curves([np.array([(0, 0, 0), (0, -4, 2)]), np.array([(50, 0, 9), (50, -4, 9)])])
    assert rising(places) == pytest.approx(np.array([[0.5, 1.5]]), abs=0.03)


def test_a_synthesis_walks_on_its_ground(engine):
    rig, _ = build.shot(engine, frames=60)
    flat = [place_on(rig, bpy.ops.nsm.synthesize, frame) for frame in (1, 60)]
    rig.nsm.manifold.synthesis.ground = ramp()
    risen = [place_on(rig, bpy.ops.nsm.synthesize, frame) for frame in (1, 60)]
    for below, above in zip(flat, risen, strict=True):
        assert above[2] - below[2] == pytest.approx(0.5 * (1 - above[1]), abs=0.25)
    rig.nsm.manifold.synthesis.ground.data.clear_geometry()
    with pytest.raises(RuntimeError, match="'Ramp' has no surface"):
        bpy.ops.nsm.synthesize()


def place_on(rig, operator, frame):
    """Where the hips are at a frame of a fresh synthesis."""
    operator()
    return hips(rig, frame)
