# SPDX-License-Identifier: GPL-3.0-or-later
"""Doors in rooms, opened and gone through by the shipped network without being walked into."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.baking.nsm import SceneBake
from nsm_blender.evaluation.nsm_bodies import penetration
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.furniture import make
from nsm_blender.geometry.roles import Door
from nsm_blender.motion.motion import Motion
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot

SEED = 100006
HIGH = 2.3


def wall(name: str, low: tuple[float, float], high: tuple[float, float]) -> Collider:
    a, b = np.array([[*low, 0.0]]), np.array([[*high, HIGH]])
    return Collider(name, Cuboids((a + b) / 2, (b - a) / 2))


def doorway(*walls: Collider) -> list[Collider]:
    """A door in a wall along X; its middle is at the origin."""
    piece = make("door", SEED)
    assert piece.fixture is not None and isinstance(piece.handles, Door)
    frame = piece.fixture.boxes
    edge = float((frame.center + frame.half)[:, 0].max())
    sides = [wall("left", (-3.0, -0.05), (-edge, 0.05)), wall("right", (edge, -0.05), (3.0, 0.05))]
    leaf = Collider("leaf", piece.boxes, role="door", handles=piece.handles)
    return [leaf, Collider("frame", frame), *sides, *walls]


def opened(start: list[float], colliders: list[Collider]) -> Motion:
    """The shot of a character that opens the door and goes through."""
    goals = [Goal("way out", [0.0, 0.0, 0.0], None, "leaf")]
    shot = Shot("actor", 30.0, 660, keys=[ActionKey("open", "way out")], goals=goals, colliders=colliders, start=start)
    motion = SceneBake(shot).motion()
    key = motion.meta["keys"][0]
    assert key["trouble"] == "" and key["arrived"] is not None
    return motion


def depths(motion: Motion, colliders: list[Collider]) -> np.ndarray:
    return penetration(motion, Surroundings(colliders), ["leaf"])


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_character_beside_a_closet_opens_it_from_before_its_door(side: float) -> None:
    """He stands behind the plane of the shut leaf, and not in the closet."""
    walls = [
        wall("closet left", (-1.2, min(0, 1.6 * side)), (-1.1, max(0, 1.6 * side))),
        wall("closet right", (1.1, min(0, 1.6 * side)), (1.2, max(0, 1.6 * side))),
    ]
    leaf, frame, *_ = doorway()
    edge = float((frame.cuboids.center + frame.cuboids.half)[:, 0].max())
    front = [wall("left", (-1.2, -0.05), (-edge, 0.05)), wall("right", (edge, -0.05), (1.2, 0.05))]
    things = [leaf, frame, *front, *walls]
    motion = opened([2.2, 1.2 * side, 0.0, 0.0], things)
    reached = int(motion.meta["keys"][0]["arrived"])
    assert motion.root[reached, 1] * side > 0.4
    before = np.flatnonzero(motion.root[:, 1] * side < -0.4)
    assert len(before) and before[0] < reached
    assert depths(motion, things).max() < 0.05


def test_a_character_that_pulls_a_door_open_in_a_corner_stays_out_of_the_wall_beside_it() -> None:
    leaf, frame, *walls = doorway()
    handles = leaf.handles
    assert isinstance(handles, Door)
    strikes = float(np.sign(handles.handle[0] - handles.hinge[0]))
    swings = strikes * float(np.sign(handles.angle))
    edge = float((frame.cuboids.center + frame.cuboids.half)[:, 0].max()) + 0.2
    x, y = sorted((strikes * edge, strikes * (edge + 0.1))), sorted((0.0, swings * 3.0))
    things = [leaf, frame, *walls, wall("corner", (x[0], y[0]), (x[1], y[1]))]
    motion = opened([-0.5 * strikes, 2.2 * swings, 0.0, 0.0], things)
    assert (motion.root[:, 0] * strikes < edge - 0.2).all()
    assert depths(motion, things).max() < 0.05
