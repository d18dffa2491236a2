# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground that was recorded with a clip, told in a file beside it: nothing has to be guessed from the feet there."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...geometry.ground import Ground
from ...geometry.mesh import TriangleMesh
from ...geometry.shapes import block
from ...motion.retarget import leg_length, stride_ratio
from ...motion.rotations import from_yaw, rotate
from ...motion.skeleton import MODEL_SKELETON, Skeleton
from ..episodes.props import Prop, read_props, told_beside


def recorded_ground(clip: Path, performer: Skeleton, mirrored: bool = False) -> Ground | None:
    """The ground beside a clip file, as it lies under the clip on the model skeleton; None where none is told.

    performer: skeleton of the clip. mirrored: in x = 0, as a mirrored clip. Raises FileFormatError.
    """
    path = told_beside(clip)
    if path is None:
        return None
    meshes = [_mesh(prop) for prop in read_props(path) if prop.kind == "climbable"]
    if not meshes:
        return None
    stride, height = stride_ratio(performer), leg_length(MODEL_SKELETON) / leg_length(performer)
    factors = np.array([-stride if mirrored else stride, stride, height])
    return Ground.of([TriangleMesh(mesh.vertices * factors, mesh.triangles) for mesh in meshes])


def _mesh(prop: Prop) -> TriangleMesh:
    """A block or a mesh where it stood."""
    if prop.mesh is not None:
        return prop.mesh
    assert prop.size is not None
    width, depth, height = prop.size.tolist()
    box = block((-width / 2, -depth / 2, 0.0), (width / 2, depth / 2, height)).mesh
    turn = np.broadcast_to(from_yaw(np.array(prop.facing or 0.0)), (len(box.vertices), 4))
    return TriangleMesh(rotate(turn, box.vertices) + prop.place, box.triangles)
