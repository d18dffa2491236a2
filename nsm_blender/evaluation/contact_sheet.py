# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact sheets of motions, drawn without Blender: what an animation director looks at before calling a motion good.

Every row of a sheet shows the same moments from two sides: above from the character's left, below from its front.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ..files import write_whole
from ..geometry.body import CAPSULES
from ..geometry.colliders import Placed, Surroundings
from ..geometry.ground import GroundMesh
from ..motion.motion import Motion
from ..motion.root import direction
from ..motion.rotations import Array
from ..shot.shot import Shot

RATE = 8.0
"""Pictures a second: a lunge or a snap of a tenth of a second is seen."""
_COLUMNS = 12
"""Moments in a row of a sheet."""
_MOST = 240
"""Moments on a sheet at most: half a minute."""
_WIDTH, _HEIGHT = 150, 170
"""Size of a picture in pixels."""
_PIXELS = 78.0
"""Pixels of a meter: a standing character and a piece of furniture fit into a picture."""
_FLOOR = 22
"""Pixels from the lower edge of a picture to the ground under the character."""
_TILT = math.radians(12)
"""Angle by which the camera looks down, so that tops of tables and seats are seen."""
_NEAR = 1.6
"""Distance in meters from the character within which things are drawn."""
_FEET = (("LeftFoot", "LeftToe", 0.035), ("RightFoot", "RightToe", 0.035))
"""Bones of the feet with their radii in meters, which the body's capsules leave out."""
_EDGES = np.array([(a, b) for a in range(8) for b in range(a) if (a ^ b).bit_count() == 1])
"""Corners, numbered by their signs as bits, that the twelve edges of a cuboid join."""
_SIGNS = np.array([[1 - 2 * (corner >> axis & 1) for axis in range(3)] for corner in range(8)])
_LEFT, _RIGHT, _MIDDLE = (205, 70, 50), (50, 90, 190), (70, 70, 75)
"""Colors of the left limbs, the right limbs, and the trunk and head."""
_THING, _GROUND, _PAPER, _INK = (150, 150, 140), (170, 190, 165), (250, 250, 247), (40, 40, 40)


@dataclass(frozen=True, eq=False)
class _View:
    """A camera that looks at the character. across, depth: unit vectors (3,) to the right and away from the camera.
    middle: the world place (3,) in the middle of the picture's ground."""

    across: Array
    depth: Array
    up: Array
    middle: Array

    @staticmethod
    def toward(yaw: float, middle: Array) -> _View:
        """From a place before which a character that faces `yaw` would look at the camera."""
        ahead = np.append(direction(np.array(yaw)), 0.0)
        depth = -ahead * math.cos(_TILT) - np.array([0.0, 0.0, math.sin(_TILT)])
        across = np.cross(depth, [0.0, 0.0, 1.0])
        across /= np.linalg.norm(across)
        return _View(across, depth, np.cross(across, depth), middle)

    def pixels(self, points: Array) -> Array:
        """Pixels (..., 2) of world points (..., 3)."""
        away = points - self.middle
        out: Array = np.stack(
            (_WIDTH / 2 + _PIXELS * (away @ self.across), _HEIGHT - _FLOOR - _PIXELS * (away @ self.up)), axis=-1
        )
        return out


def draw(motion: Motion, shot: Shot | None, path: Path, first: float = 0.0, last: float = math.inf) -> None:
    """Write a picture (PNG) of a motion from second `first` to second `last`. shot: where it takes place, with what
    stands around. Raises UserError when the file cannot be written."""
    from PIL import Image, ImageDraw

    times = np.arange(first, min(last, (len(motion) - 1) / motion.fps), 1 / RATE)[:_MOST]
    rows = max(math.ceil(len(times) / _COLUMNS), 1)
    sheet = Image.new("RGB", (_COLUMNS * _WIDTH, 2 * rows * _HEIGHT), _PAPER)
    around = None if shot is None else _around(motion, shot)
    for number, time in enumerate(times):
        frame = round(time * motion.fps)
        row, column = divmod(number, _COLUMNS)
        for side, turn in enumerate((math.pi / 2, 0.3)):
            root = motion.root[frame].astype(float)
            tile = Image.new("RGB", (_WIDTH, _HEIGHT), _PAPER)
            pen = ImageDraw.Draw(tile)
            view = _View.toward(float(root[3]) + turn, root[:3])
            _scene(pen, view, shot, None if around is None else around.at(frame))
            _body(pen, view, motion, frame)
            pen.rectangle((0, 0, _WIDTH - 1, _HEIGHT - 1), outline=(225, 225, 220))
            pen.text((3, 1), _caption(motion, frame, float(time)), fill=_INK)
            sheet.paste(tile, (column * _WIDTH, (2 * row + side) * _HEIGHT))
    drawn = BytesIO()
    sheet.save(drawn, "PNG")
    write_whole(path, drawn.getbuffer())


def _caption(motion: Motion, frame: int, time: float) -> str:
    labels = [name for name, on in zip(motion.action_names, motion.actions[frame], strict=True) if on > 0.5]
    return f"{time:.2f} {' '.join(labels)}"


def _around(motion: Motion, shot: Shot) -> Surroundings:
    """The shot's colliders, those that the character moved where it moved them."""
    moved = motion.meta.get("things", {})
    return Surroundings([replace(c, poses=np.array(moved[c.name])) if moved.get(c.name) else c for c in shot.colliders])


def _scene(pen: Any, view: _View, shot: Shot | None, things: Placed | None) -> None:
    """The ground and what stands near."""
    for mesh in () if shot is None else shot.ground:
        _ground(pen, view, mesh)
    if shot is None or not shot.ground:
        pen.line((0, _HEIGHT - _FLOOR, _WIDTH, _HEIGHT - _FLOOR), fill=_GROUND)
    if things is None:
        return
    near = things.near(view.middle + np.array([0.0, 0.0, 0.8]), _NEAR)
    for center, half, rotation in zip(near.center, near.half, near.rotation, strict=True):
        corners = view.pixels((_SIGNS * half) @ rotation.T + center)
        for a, b in _EDGES:
            pen.line(_flat(corners[[a, b]]), fill=_THING)


def _ground(pen: Any, view: _View, mesh: GroundMesh) -> None:
    """The edges of the triangles near the character."""
    triangles = np.array(mesh.vertices, dtype=float)[np.array(mesh.triangles)]
    close = np.linalg.norm(triangles[..., :2] - view.middle[:2], axis=-1).min(1) < _NEAR
    for corners in view.pixels(triangles[close]):
        pen.polygon(_flat(corners), outline=_GROUND)


def _body(pen: Any, view: _View, motion: Motion, frame: int) -> None:
    """The body's capsules, the farthest first."""
    places = motion.positions[frame].astype(float)
    bones = [(motion.names.index(a), motion.names.index(b), r, a) for a, b, r in (*CAPSULES, *_FEET)]
    for a, b, radius, name in sorted(bones, key=lambda bone: -float((places[bone[0]] + places[bone[1]]) @ view.depth)):
        color = _LEFT if name.startswith("Left") else _RIGHT if name.startswith("Right") else _MIDDLE
        ends, width = view.pixels(places[[a, b]]), radius * _PIXELS
        pen.line(_flat(ends), fill=color, width=max(round(1.4 * width), 2))
        for x, y in ends:
            pen.ellipse((x - 0.7 * width, y - 0.7 * width, x + 0.7 * width, y + 0.7 * width), fill=color)
    head = view.pixels(places[motion.names.index("Head")] + np.array([0.0, 0.0, 0.09]))
    pen.ellipse((*(head - 0.1 * _PIXELS), *(head + 0.1 * _PIXELS)), fill=_MIDDLE)


def _flat(points: Array) -> Sequence[float]:
    out: list[float] = points.ravel().tolist()
    return out
