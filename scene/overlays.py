# SPDX-License-Identifier: GPL-3.0-or-later
"""What the viewport shows of colliders, handles and sensors.

`Overlay` draws and never computes: cuboids become lines once, when they are new, and sensors are worked out by the
dependency graph's handler in `changes`.

Blender reads the annotations of a PropertyGroup as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from dataclasses import dataclass, field
from typing import Any, ClassVar, Optional

import bpy
import numpy as np
from bpy.props import BoolProperty, PointerProperty
from mathutils import Matrix

from ..nsm_blender.errors import ColliderError
from ..nsm_blender.geometry.colliders import Cuboids
from . import colliders, curves, handles, sketches
from .sensing import Sensed

_COLOURS = {
    "obstacle": (0.75, 0.78, 0.82),
    "seat": (0.25, 0.75, 1.0),
    "door": (1.0, 0.65, 0.15),
    "carryable": (1.0, 0.9, 0.2),
    "surface": (0.45, 0.95, 0.45),
    "climbable": (0.8, 0.5, 1.0),
    "ground": (0.55, 0.45, 0.35),
}
"""Colours of the roles, as linear RGB."""
_ALPHA, _ALPHA_SELECTED, _ALPHA_OFF = 0.45, 0.95, 0.12
_HANDLES = (1.0, 0.35, 0.55, 1.0)
_SENSED = (1.0, 0.45, 0.1)
_OPAQUE = 0.7
"""Opacity of a sensor's cell whose value is 1."""
_FAINT = (1.0, 1.0, 1.0, 0.12)

_OPTIONS: set[str] = set()


def _sense_again(settings: "NSM_PG_overlay", _context: bpy.types.Context) -> None:
    """Have the dependency graph's handler called, which works out what is sensed."""
    settings.id_data.update_tag()


class NSM_PG_overlay(bpy.types.PropertyGroup):
    """What is shown in the viewport."""

    show_colliders: BoolProperty(
        name="Colliders",
        description="Show the cuboids of the colliders, coloured by role",
        default=True,
        options=_OPTIONS,
    )
    show_handles: BoolProperty(
        name="Facings and Handles",
        description="Show where seats face, doors swing and hands take hold",
        default=True,
        options=_OPTIONS,
    )
    show_environment: BoolProperty(
        name="Environment Sensor",
        description="Show what the character senses around itself; what is nearer to a collider is more opaque",
        default=False,
        options=_OPTIONS,
        update=_sense_again,
    )
    show_interaction: BoolProperty(
        name="Interaction Sensor",
        description="Show what is sensed of the active collider when it is used",
        default=False,
        options=_OPTIONS,
        update=_sense_again,
    )
    source: PointerProperty(
        name="Sense From",
        description="Object that senses, such as an empty to drag about; without one it is the character",
        type=bpy.types.Object,
        update=_sense_again,
    )


CLASSES = (NSM_PG_overlay,)


@dataclass(eq=False)
class _Drawn:
    """What an object's shape became on the graphics card. key: when it differs from the object's, it is old."""

    key: Any
    batch: Any


@dataclass(eq=False)
class Overlay:
    """The draw handler of all 3D viewports, and what it keeps between two drawings, by the objects' numbers."""

    running: ClassVar[Optional["Overlay"]] = None
    """The one that draws. Blender gives a draw handler out once and never again, so it has to be kept somewhere."""

    handle: Any = None
    shapes: dict[int, tuple[int, Cuboids]] = field(default_factory=dict)
    sensed: list[Sensed] = field(default_factory=list)
    _boxes: dict[int, _Drawn] = field(default_factory=dict)
    _sketches: dict[int, _Drawn] = field(default_factory=dict)
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

    def _draw_colliders(self, context: bpy.types.Context, settings: NSM_PG_overlay) -> None:
        import gpu

        shader = gpu.shader.from_builtin("UNIFORM_COLOR")
        shader.bind()
        scale = Matrix.Scale(1 / curves.metres_per_unit(context.scene), 4)
        shown = {obj: _rigid(obj) @ scale for obj in colliders.in_scene(context) if obj.visible_get()}
        if settings.show_colliders:
            for obj, frame in shown.items():
                shader.uniform_float("color", _colour(obj))
                _draw_at(frame, self._box_batch(shader, obj), shader)
        if settings.show_handles:
            # Seats and grasps lie in or on the mesh, which would hide them.
            gpu.state.depth_test_set("NONE")
            shader.uniform_float("color", _HANDLES)
            for obj, frame in shown.items():
                if colliders.of(obj).handles:
                    _draw_at(frame, self._sketch_batch(shader, obj), shader)
            gpu.state.depth_test_set("LESS_EQUAL")
        there = {obj.session_uid for obj in shown}
        for drawn in (self._boxes, self._sketches, self.shapes):
            for uid in drawn.keys() - there:
                del drawn[uid]

    def _box_batch(self, shader: Any, obj: bpy.types.Object) -> Any:
        key = colliders.of(obj).revision
        known = self._boxes.get(obj.session_uid)
        if known is None or known.key != key:
            try:
                corners, edges = sketches.boxes(self.cuboids(obj))
            except ColliderError:  # the operators say so; there is nothing to draw
                corners, edges = np.zeros((1, 3), np.float32), np.zeros((0, 2), np.int32)
            batch = _batch(shader, "LINES", edges, pos=corners)
            known = self._boxes[obj.session_uid] = _Drawn(key, batch)
        return known.batch

    def _sketch_batch(self, shader: Any, obj: bpy.types.Object) -> Any:
        settings = colliders.of(obj)
        key = (settings.handles, settings.role, settings.angle)
        known = self._sketches.get(obj.session_uid)
        if known is None or known.key != key:
            try:
                lines = sketches.handles(handles.stored(obj))
            except ColliderError:
                lines = np.zeros((0, 3), np.float32)
            known = self._sketches[obj.session_uid] = _Drawn(key, _batch(shader, "LINES", pos=lines))
        return known.batch

    def _draw_cells(self) -> None:
        import gpu

        flat, smooth = gpu.shader.from_builtin("UNIFORM_COLOR"), gpu.shader.from_builtin("SMOOTH_COLOR")
        if [drawn.key for drawn in self._cells] != self.sensed:
            self._cells = []
            for sensed in self.sensed:
                vertices, triangles, alpha = sketches.cells(sensed)
                colours = np.empty((len(vertices), 4), np.float32)
                colours[:, :3], colours[:, 3] = _SENSED, _OPAQUE * alpha
                solid = _batch(smooth, "TRIS", triangles, pos=vertices, color=colours)
                free = sensed.places[sensed.values <= 0].astype(np.float32)
                dots = _batch(flat, "POINTS", pos=free)
                self._cells.append(_Drawn(sensed, (solid, dots)))
        gpu.state.point_size_set(2.0)
        for drawn in self._cells:
            solid, dots = drawn.batch
            flat.bind()
            flat.uniform_float("color", _FAINT)
            dots.draw(flat)
            solid.draw(smooth)


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


def _rigid(obj: bpy.types.Object) -> Matrix:
    """Place and rotation of an object, without its scale."""
    place, turn, _ = obj.matrix_world.decompose()
    return Matrix.LocRotScale(place, turn, None)


def _draw_at(frame: Matrix, batch: Any, shader: Any) -> None:
    """Draw lines that are given in a frame."""
    import gpu

    with gpu.matrix.push_pop():  # type: ignore[func-returns-value]  # a context manager, which the stubs lack
        gpu.matrix.multiply_matrix(frame)
        batch.draw(shader)


def _batch(shader: Any, kind: Any, indices: Any = None, **attributes: Any) -> Any:
    """Arrays on the graphics card; an attribute (V, n) float32 each, and what they are joined to."""
    from gpu_extras.batch import batch_for_shader

    return batch_for_shader(shader, kind, attributes, indices=indices)


def _colour(obj: bpy.types.Object) -> tuple[float, float, float, float]:
    settings = colliders.of(obj)
    alpha = _ALPHA_SELECTED if obj.select_get() else _ALPHA
    return (*_COLOURS[settings.role], alpha if settings.enabled else _ALPHA_OFF)
