# SPDX-License-Identifier: GPL-3.0-or-later
"""What hands hold, as constraints: palms on a box where it is taken and left, a box between them, a hand at
a handle."""

from __future__ import annotations

import numpy as np

from ..geometry.colliders import Collider, Cuboids
from ..geometry.collision import Balls, Obstacles
from ..geometry.scene_state import to_world
from ..models.nsm import FPS
from ..motion.easing import eased
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..rollout.held_objects import PALM_THICKNESS, Grip, Hold, between_palms, carried_pose, grasp_of, palm
from .whole_body import CLEAR, At, Load

FIRM = round(0.05 * FPS)
"""Frames before and after a grasp, and a release, in which the palms are at the box."""
SPACING = 0.12
"""Meters between the points of a carried box that are kept out of things."""
BLEND = 0.5 * FPS
"""Frames in which a hand comes to a handle, and leaves it."""


def pressed(face: Array, hold: Hold, poses: Array) -> Array:
    """Where the middle of a palm is (..., 3) that lies on a face (3,) of a box at poses (..., 7)."""
    out = to_world(face, poses)
    away = out - grasp_of(hold.handles, poses)[0]
    return np.asarray(out + PALM_THICKNESS * away / np.linalg.norm(away, axis=-1, keepdims=True))


def carrying(
    hold: Hold, places: Array, rotations: Array, collider: Collider, obstacles: Obstacles
) -> tuple[list[At], Load]:
    """Constraints of a body with joints at places (T, J, 3) and world rotations (T, J, 4) that holds a box."""
    count = len(places)
    last = count if hold.left is None else hold.left
    ends = [(hold.taken, hold.lying)] + ([(last - 1, hold.goal)] if hold.goal is not None else [])
    middle, angle = between_palms(places, rotations)
    blend = min(FPS, (last - hold.taken) / 2)
    turn = np.zeros(count)
    for frame, pose in ends:
        weight = eased(count, frame - blend, frame, frame, frame + blend)
        turn += weight * _wrapped(grasp_of(hold.handles, pose)[1] - angle[frame])
    poses = carried_pose(hold.handles, hold.lying, middle, angle + turn)
    held = np.zeros(count, dtype=bool)
    held[hold.taken : last] = True
    at, palms = [], []
    for side, face in (("Left", hold.handles.left), ("Right", hold.handles.right)):
        wrist = places[:, MODEL_SKELETON.index(side + "Hand")]
        to_wrist = wrist - palm(places, rotations, side)
        palms.append(pressed(np.array(face), hold, poses) + to_wrist - wrist)
        for frame, pose in ends:
            weight = np.zeros(count)
            weight[max(frame - FIRM, 0) : min(frame + FIRM + 1, last)] = 1.0
            at.append(At(side + "Hand", pressed(np.array(face), hold, pose) + to_wrist, weight))
    own = surface(collider.cuboids)
    deep = np.max([_depths(obstacles, to_world(own, pose), frame) for frame, pose in ends], axis=0)

    def gives(points: Array, _frames: Array, thing: int, _normals: Array) -> Array:
        return np.asarray(deep[thing, points])

    balls = Balls(np.zeros(len(own)), np.zeros(len(own), dtype=int), gives)
    itself = Obstacles([collider], [poses], held[:, None], -np.inf)
    return at, Load(held, to_world(own, poses[:, None]), palms[0] - palms[1], obstacles, balls, itself)


def gripping(grip: Grip, places: Array, rotations: Array, poses: Array) -> At:
    """A hand at the handle of a door with poses (T, 7)."""
    wrist = places[:, MODEL_SKELETON.index(grip.side + "Hand")]
    target = to_world(grip.place, poses) + wrist - palm(places, rotations, grip.side)
    return At(
        grip.side + "Hand", target, eased(len(poses), grip.first - BLEND, grip.first, grip.last, grip.last + BLEND)
    )


def surface(cuboids: Cuboids) -> Array:
    """Points (N, 3) on the faces of cuboids, about SPACING apart."""
    out = []
    for middle, half in zip(cuboids.centre, cuboids.half, strict=True):
        ticks = [np.linspace(-h, h, max(2, int(np.ceil(2 * h / SPACING)) + 1)) for h in half]
        grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 3)
        out.append(grid[(np.abs(np.abs(grid) - half) < 1e-9).any(axis=1)] + middle)
    return np.concatenate(out)


def _depths(obstacles: Obstacles, points: Array, frame: int) -> Array:
    """Meters (C, N) by which points (N, 3) are in each thing at a frame, or nearer to it than they keep to others."""
    count = len(points)
    out = np.zeros((obstacles.count, count))
    balls = Balls(np.zeros(count), np.arange(count), _none)
    found = obstacles.contacts(balls, points[None], np.array([frame]), CLEAR)
    out[found.thing, found.ball] = np.maximum(found.depth + CLEAR, 0)
    return out


def _none(balls: Array, _frames: Array, _thing: int, _normals: Array) -> Array:
    return np.zeros(len(balls))


def _wrapped(angle: Array) -> float:
    return float((angle + np.pi) % (2 * np.pi) - np.pi)
