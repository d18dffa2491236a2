# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bake shows while it runs: a figure of lines, and the boxes and doors that it moves, drawn over the views.

Nothing of it is in the scene: a cancelled bake leaves the scene untouched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from ..nsm_blender.geometry.colliders import PLACE, QUATERNION, Cuboids
from ..nsm_blender.motion.rotations import Array, to_matrix
from ..nsm_blender.motion.skeleton import MODEL_SKELETON
from . import sketches

_COLOR = (1.0, 0.75, 0.2, 1.0)
"""Color of the figure and of the moved things, as linear RGBA."""
_WIDTH = 3.0
"""Pixels of a line."""
_CHILDREN = [joint for joint, parent in enumerate(MODEL_SKELETON.parents) if parent >= 0]
_PARENTS = [MODEL_SKELETON.parents[joint] for joint in _CHILDREN]


def figure(places: Array) -> Array:
    """Ends (2 N, 3) of the lines between joints at `places` (J, 3)."""
    return np.stack([places[_PARENTS], places[_CHILDREN]], axis=1).reshape(-1, 3)


def thing(cuboids: Cuboids, pose: Array) -> Array:
    """Ends (2 N, 3) of the edges of cuboids whose frame is at `pose` (7,)."""
    corners, pairs = sketches.boxes(cuboids)
    turn = to_matrix(np.asarray(pose[QUATERNION], dtype=float))
    ends: Array = (corners @ turn.T + pose[PLACE])[pairs.ravel()]
    return ends


class Ghost:
    """Draws lines in all 3D viewports until it is closed."""

    def __init__(self) -> None:
        self._ends = np.zeros((0, 3), np.float32)
        self._handle: Any = bpy.types.SpaceView3D.draw_handler_add(self._draw, (), "WINDOW", "POST_VIEW")

    def show(self, lines: Sequence[Array]) -> None:
        """Draw these lines from now on: ends (2 N, 3) in the world's Blender units."""
        self._ends = np.concatenate(lines).astype(np.float32)
        _redraw()

    def close(self) -> None:
        """Draw no more."""
        bpy.types.SpaceView3D.draw_handler_remove(self._handle, "WINDOW")
        _redraw()

    def _draw(self) -> None:
        """Blender calls this for each 3D viewport."""
        import gpu
        from gpu_extras.batch import batch_for_shader

        region = bpy.context.region
        if not len(self._ends) or region is None:
            return
        shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
        shader.bind()
        shader.uniform_float("color", _COLOR)
        shader.uniform_float("lineWidth", _WIDTH)
        shader.uniform_float("viewportSize", (region.width, region.height))
        batch_for_shader(shader, "LINES", {"pos": self._ends.tolist()}).draw(shader)


def _redraw() -> None:
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                for region in area.regions:
                    if region.type == "WINDOW":
                        region.tag_redraw()
