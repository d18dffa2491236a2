# SPDX-License-Identifier: GPL-3.0-or-later
"""What the viewport shows; the drawing itself needs a real window, but not what is drawn."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import bpy
import numpy as np
import pytest

from .layouts import drawn
from .shapes import box, chair, select


@pytest.fixture
def sensed(extension_module):
    """A function that gives what the overlay shows of the sensors after the scene has changed."""
    overlay = extension_module("scene.overlays").Overlay

    def after():
        bpy.context.view_layer.update()
        return overlay.running.sensed

    return after


def wrap(obj, role):
    select(obj)
    bpy.ops.nsm.wrap_collider(role=role)
    return obj


def test_the_panel_leads_from_nothing_to_a_seat_with_warnings():
    assert "Select an object to use" in drawn("NSM_PT_things")
    obj = wrap(chair(), "seat")
    shown = drawn("NSM_PT_things")
    assert f"Chair: {obj.nsm.collider.count} cuboids" in shown
    assert {"Refresh", "Remove", "Use As: Seat"} <= set(shown)
    assert {"Propose Handles", "Check Handles", "Flip"} <= set(drawn("NSM_PT_handles"))
    bpy.ops.nsm.turn_facing()
    assert obj.nsm.collider.warnings.splitlines()[0][:30] in " ".join(drawn("NSM_PT_handles"))
    obj.scale.z = 1.2
    bpy.context.view_layer.update()
    assert "Chair has changed: refresh" in drawn("NSM_PT_things")


def test_a_selected_handle_shows_its_collider_in_the_panel():
    obj = wrap(chair(), "seat")
    select(obj.children[0])
    assert "Use As: Seat" in drawn("NSM_PT_things")
    assert bpy.ops.nsm.turn_facing() == {"FINISHED"}


def test_the_environment_sensor_follows_the_empty_that_is_dragged(sensed):
    wrap(box(1.0), "obstacle")
    probe = bpy.data.objects.new("Probe", None)
    bpy.context.scene.collection.objects.link(probe)
    overlay = bpy.context.scene.nsm.overlay
    overlay.source, overlay.show_environment = probe, True
    probe.location.x = 5
    (far,) = sensed()
    assert far.values.max() == 0
    probe.location.x = 0.8
    (near,) = sensed()
    assert near.values.max() == 1
    # What is opaque lies at the box.
    assert np.abs(near.places[near.values == 1]).max() <= 0.5
    overlay.show_environment = False
    assert sensed() == []


def test_the_interaction_sensor_covers_the_active_collider(sensed):
    obj = wrap(chair(), "seat")
    obj.location.y = 3
    bpy.context.scene.nsm.overlay.show_interaction = True
    (cells,) = sensed()
    assert cells.places.shape == (512, 3)
    assert cells.places.mean(axis=0) == pytest.approx([0, 3, 0.48], abs=0.1)
    assert 0 < (cells.values > 0).mean() < 0.9


def test_a_damaged_collider_does_not_stop_the_viewport(sensed):
    obj = wrap(box(), "obstacle")
    bpy.context.scene.nsm.overlay.show_environment = True
    bpy.context.scene.nsm.overlay.source = obj
    other = wrap(box(name="Other"), "obstacle")
    other.nsm.collider.boxes = "nonsense"
    other.nsm.collider.revision += 1
    obj.location.x = 1
    assert sensed() == []


class Graphics:
    """Stands for the `gpu` module, which needs a window; like it, refuses buffers without elements."""

    def __init__(self, monkeypatch):
        self.drawn = []
        state = SimpleNamespace(**{
            name: lambda *_: None for name in ("blend_set", "depth_test_set", "depth_mask_set", "point_size_set")
        })  # fmt: skip
        shader = SimpleNamespace(bind=lambda: None, uniform_float=lambda *_: None)
        fake = SimpleNamespace(state=state, shader=SimpleNamespace(from_builtin=lambda _: shader))
        monkeypatch.setitem(sys.modules, "gpu", fake)
        monkeypatch.setitem(sys.modules, "gpu_extras.batch", SimpleNamespace(batch_for_shader=self.batch))

    def batch(self, _shader, kind, content, indices=None):
        """A batch that notes that it was drawn."""
        counts = [len(values) for values in content.values()] + ([] if indices is None else [len(indices)])
        if not all(counts):
            raise ValueError("an empty buffer")
        return SimpleNamespace(draw=lambda _: self.drawn.append((kind, counts[-1])))


@pytest.mark.parametrize(("away", "kinds"), [(5.0, ["POINTS"]), (0.8, ["POINTS", "TRIS"])])
def test_the_sensor_is_drawn_also_where_nothing_is_near(sensed, extension_module, monkeypatch, away, kinds):
    wrap(box(1.0), "obstacle")
    probe = bpy.data.objects.new("Probe", None)
    bpy.context.scene.collection.objects.link(probe)
    overlay = bpy.context.scene.nsm.overlay
    overlay.source, overlay.show_environment = probe, True
    probe.location.x = away
    sensed()
    graphics = Graphics(monkeypatch)
    extension_module("scene.overlays").Overlay.running._draw_cells()
    assert [kind for kind, _ in graphics.drawn] == kinds


def test_a_scene_without_colliders_draws_nothing(extension_module, monkeypatch):
    graphics = Graphics(monkeypatch)
    overlay = extension_module("scene.overlays").Overlay()
    overlay._draw_colliders(bpy.context, bpy.context.scene.nsm.overlay)
    assert graphics.drawn == []


def test_cuboids_become_boxes_of_twelve_edges(extension_module):
    colliders = extension_module("nsm_blender.geometry.colliders")
    cuboids = colliders.Cuboids(np.array([[0.0, 0, 0], [5, 0, 0]]), np.array([[1.0, 1, 1], [0.5, 1, 2]]))
    corners, edges = extension_module("scene.sketches").boxes(cuboids)
    lengths = np.linalg.norm(corners[edges[:, 0]] - corners[edges[:, 1]], axis=1)
    assert sorted(lengths.tolist()) == [1] * 4 + [2] * 12 + [2] * 4 + [4] * 4
