# SPDX-License-Identifier: GPL-3.0-or-later
"""What the viewport shows of colliders, handles and sensors.

`Overlay` draws and never computes: cuboids become lines once, when they are new, and sensors are worked out by the
dependency graph's handler in `changes`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import bpy
import numpy as np
from mathutils import Matrix

from ..nsm_blender.errors import ColliderError
from ..nsm_blender.geometry.colliders import Cuboids
from ..nsm_blender.motion.rotations import Array
from . import colliders, curves, handles, meshes, sketches
from .overlay_settings import NSM_PG_overlay
from .sensing import Sensed

_ALPHA, _ALPHA_SELECTED, _ALPHA_OFF = 0.45, 0.95, 0.12
"""Opacity of a collider's lines: enabled, selected, disabled."""
_HANDLES = (1.0, 0.35, 0.55, 1.0)
"""Color of the handles' lines, as linear RGBA."""
_SENSED = {True: (1.0, 0.45, 0.1), False: (0.2, 0.6, 1.0)}
"""Colors of the environment's spheres and of the interaction's cells."""
_OPAQUE = 0.5
"""Opacity of a sensor's cell whose value is 1."""
_DOT = 2.0
"""Pixels of such a dot."""
_POINT_SHADERS = (4, 5, 0)
"""The first version of Blender with shaders for points; later ones warn of points in those for lines."""
_FAINT = (1.0, 1.0, 1.0, 0.12)
"""Color of the dots in a sensor's cells that sense nothing, as linear RGBA."""


@dataclass(eq=False)
class _Drawn:
    """What something became on the graphics card. key: when it differs from the thing's, it is old. batch: None where
    there is nothing to draw."""

    key: Any
    batch: Any


@dataclass(eq=False)
class _Lines:
    """An object's lines in its frame: corners (V, 3) and pairs of them (N, 2), of what `key` tells."""

    key: Any
    corners: Array
    pairs: Array


@dataclass(eq=False)
class Overlay:
    """The draw handler of all 3D viewports, and what it keeps between two drawings, by the objects' numbers."""

    running: ClassVar[Overlay | None] = None
    """The one that draws. Blender gives a draw handler out once and never again, so it has to be kept somewhere."""

    handle: Any = None
    shapes: dict[int, tuple[int, Cuboids]] = field(default_factory=dict)
    sensed: list[Sensed] = field(default_factory=list)
    _boxes: dict[int, _Lines] = field(default_factory=dict)
    _sketches: dict[int, _Lines] = field(default_factory=dict)
    _all_boxes: _Drawn | None = None
    _all_sketches: _Drawn | None = None
    _cells: list[_Drawn] = field(default_factory=list)

    def cuboids(self, obj: bpy.types.Object) -> Cuboids:
        """The cuboids that are stored on an object, decoded once. Raises ColliderError when they are damaged."""
        revision = colliders.of(obj).revision
        known = self.shapes.get(obj.session_uid)
        if known is None or known[0] != revision:
            known = self.shapes[obj.session_uid] = (revision, colliders.stored(obj))
        return known[1]

    def draw(self) -> None:
        """Blender calls this for each 3D viewport."""
        import gpu

        context = bpy.context
        space = context.space_data
        if context.scene is None or not isinstance(space, bpy.types.SpaceView3D) or not space.overlay.show_overlays:
            return
        settings = context.scene.nsm.overlay
        gpu.state.blend_set("ALPHA")
        gpu.state.depth_test_set("LESS_EQUAL")
        gpu.state.depth_mask_set(False)
        try:
            if settings.show_colliders or settings.show_handles:
                self._draw_colliders(context, settings)
            if settings.show_environment or settings.show_interaction:
                self._draw_cells()
        finally:
            gpu.state.blend_set("NONE")
            gpu.state.depth_test_set("NONE")
            gpu.state.depth_mask_set(True)

    def _draw_colliders(self, context: bpy.types.Context, overlay: NSM_PG_overlay) -> None:
        """All boxes in one go, and all handles: each call to the graphics card costs as much as hundreds of lines."""
        import gpu

        scale = Matrix.Scale(1 / curves.meters_per_unit(context.scene), 4)
        shown = [obj for obj in colliders.in_scene(context) if obj.visible_get()]
        places = [obj.matrix_world.copy().freeze() for obj in shown]
        if overlay.show_colliders:
            key = [
                (obj.session_uid, colliders.of(obj).revision, _color(obj, overlay), place)
                for obj, place in zip(shown, places, strict=True)
            ]
            smooth = gpu.shader.from_builtin("SMOOTH_COLOR")
            if self._all_boxes is None or self._all_boxes.key != key:
                lines = [self._box_lines(obj) for obj in shown]
                colors = [
                    np.tile(np.array(k[2], np.float32), (len(each.corners), 1))
                    for k, each in zip(key, lines, strict=True)
                ]
                corners, pairs = _joined(lines, [_rigid(place) @ scale for place in places])
                color = np.concatenate([np.zeros((0, 4), np.float32), *colors])
                self._all_boxes = _Drawn(key, _batch(smooth, "LINES", pairs, pos=corners, color=color))
            _draw(self._all_boxes.batch, smooth)
        if overlay.show_handles:
            key = [
                (obj.session_uid, _told(obj), place)
                for obj, place in zip(shown, places, strict=True)
                if colliders.of(obj).handles
            ]
            flat = gpu.shader.from_builtin("UNIFORM_COLOR")
            if self._all_sketches is None or self._all_sketches.key != key:
                used = [(obj, place) for obj, place in zip(shown, places, strict=True) if colliders.of(obj).handles]
                lines = [self._sketch_lines(obj) for obj, _ in used]
                corners, pairs = _joined(lines, [_rigid(place) @ scale for _, place in used])
                self._all_sketches = _Drawn(key, _batch(flat, "LINES", pairs, pos=corners))
            # Seats and grasps lie in or on the mesh, which would hide them.
            gpu.state.depth_test_set("NONE")
            flat.bind()
            flat.uniform_float("color", _HANDLES)
            _draw(self._all_sketches.batch, flat)
            gpu.state.depth_test_set("LESS_EQUAL")
        there = {obj.session_uid for obj in shown}
        for kept in (self._boxes, self._sketches, self.shapes):
            for uid in kept.keys() - there:
                del kept[uid]

    def _box_lines(self, obj: bpy.types.Object) -> _Lines:
        key = colliders.of(obj).revision
        known = self._boxes.get(obj.session_uid)
        if known is None or known.key != key:
            try:
                corners, pairs = sketches.boxes(self.cuboids(obj))
            except ColliderError:  # the operators say so; there is nothing to draw
                corners, pairs = np.zeros((0, 3), np.float32), np.zeros((0, 2), np.int32)
            known = self._boxes[obj.session_uid] = _Lines(key, corners, pairs)
        return known

    def _sketch_lines(self, obj: bpy.types.Object) -> _Lines:
        key = _told(obj)
        known = self._sketches.get(obj.session_uid)
        if known is None or known.key != key:
            try:
                ends = sketches.handles(handles.stored(obj))
            except ColliderError:
                ends = np.zeros((0, 3), np.float32)
            pairs = np.arange(len(ends), dtype=np.int32).reshape(-1, 2)
            known = self._sketches[obj.session_uid] = _Lines(key, ends, pairs)
        return known

    def _draw_cells(self) -> None:
        import gpu

        pointed = bpy.app.version >= _POINT_SHADERS
        flat = gpu.shader.from_builtin("POINT_UNIFORM_COLOR" if pointed else "UNIFORM_COLOR")
        smooth = gpu.shader.from_builtin("SMOOTH_COLOR")
        if [drawn.key for drawn in self._cells] != self.sensed:
            self._cells = []
            for sensed in self.sensed:
                vertices, triangles, alpha = sketches.cells(sensed)
                colors = np.empty((len(vertices), 4), np.float32)
                colors[:, :3], colors[:, 3] = _SENSED[sensed.round], _OPAQUE * alpha
                solid = _batch(smooth, "TRIS", triangles, pos=vertices, color=colors)
                free = sensed.places[sensed.values <= 0].astype(np.float32)
                dots = _batch(flat, "POINTS", pos=free)
                self._cells.append(_Drawn(sensed, (solid, dots)))
        if not pointed:
            gpu.state.point_size_set(_DOT)
        for drawn in self._cells:
            solid, dots = drawn.batch
            flat.bind()
            flat.uniform_float("color", _FAINT)
            if pointed:
                flat.uniform_float("size", _DOT)
            _draw(dots, flat)
            _draw(solid, smooth)


def start() -> None:
    """Draw from now on, where there is a window."""
    if Overlay.running is not None:
        return
    Overlay.running = Overlay()
    if not bpy.app.background:
        Overlay.running.handle = bpy.types.SpaceView3D.draw_handler_add(Overlay.running.draw, (), "WINDOW", "POST_VIEW")


def stop() -> None:
    """Draw no more."""
    if Overlay.running is not None and Overlay.running.handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(Overlay.running.handle, "WINDOW")
    Overlay.running = None


def _rigid(world: Matrix) -> Matrix:
    """Place and rotation of an object's matrix, without its scale."""
    place, turn, _ = world.decompose()
    return Matrix.LocRotScale(place, turn, None)


def _told(obj: bpy.types.Object) -> tuple[str, str, float, tuple[float, float, float]]:
    """What an object's handles are drawn from."""
    settings = colliders.of(obj)
    return settings.handles, settings.role, settings.angle, meshes.scale_of(obj)


def _joined(lines: list[_Lines], frames: list[Matrix]) -> tuple[Array, Array]:
    """Corners (V, 3) in the world and pairs of them (N, 2) of all lines, each given in its frame."""
    corners, pairs = [np.zeros((0, 3), np.float32)], [np.zeros((0, 2), np.int32)]
    count = 0
    for each, frame in zip(lines, frames, strict=True):
        matrix = np.array(frame, dtype=np.float32)
        corners.append(each.corners @ matrix[:3, :3].T + matrix[:3, 3])
        pairs.append(each.pairs + np.int32(count))
        count += len(each.corners)
    return np.concatenate(corners), np.concatenate(pairs)


def _batch(shader: Any, kind: Any, indices: Any = None, **attributes: Any) -> Any:
    """Arrays on the graphics card; an attribute (V, n) float32 each, and what they are joined to. None where there is
    nothing to draw: the `gpu` module refuses buffers without elements."""
    if any(len(values) == 0 for values in (*attributes.values(), *(() if indices is None else (indices,)))):
        return None
    from gpu_extras.batch import batch_for_shader

    return batch_for_shader(shader, kind, attributes, indices=indices)


def _draw(batch: Any, shader: Any) -> None:
    """Draw what `_batch` made, if anything."""
    if batch is not None:
        batch.draw(shader)


def _color(obj: bpy.types.Object, overlay: NSM_PG_overlay) -> tuple[float, float, float, float]:
    settings = colliders.of(obj)
    alpha = _ALPHA_SELECTED if obj.select_get() else _ALPHA
    return (*getattr(overlay, settings.role), alpha if settings.enabled else _ALPHA_OFF)
