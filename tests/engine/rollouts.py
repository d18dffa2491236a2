# SPDX-License-Identifier: GPL-3.0-or-later
"""Rollouts of a character in the T-pose, the things around it, and what is measured of its cleaned-up motion."""

from __future__ import annotations

import numpy as np

from nsm_blender.cleanup.seating import HIP_JOINTS, sitting_place
from nsm_blender.geometry.body import depth
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.roles import Carryable, Seat
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.models.nsm import ACTIONS, CONTACTS, FPS
from nsm_blender.motion.easing import smoothstep
from nsm_blender.motion.ik import ARMS, solve_limb
from nsm_blender.motion.rotations import Array, from_axis_angle, from_yaw
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON
from nsm_blender.rollout.held_objects import PALM, PALM_THICKNESS, Hands, Hold, between_palms, carried_pose
from nsm_blender.rollout.nsm import SceneRecord

COUNT, SAT = 300, 120
CUBOIDS = Cuboids(np.array([[0.0, 0.0, 0.2]]), np.array([[0.2, 0.2, 0.2]]))
SEAT = Collider("seat", CUBOIDS, role="seat", handles=Seat([0, 0, 0.4], [0, -1, 0], 0.4, 0.4, [[0.7, 0, 0.85]]))
FEET = MODEL_SKELETON.indices(["LeftFoot", "LeftToe", "RightFoot", "RightToe"])
TOES = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
WRISTS = MODEL_SKELETON.indices(["LeftHand", "RightHand"])


def record(places: Array | None = None, touching: tuple[str, ...] = ("LeftFoot", "RightFoot")) -> SceneRecord:
    """A character in the T-pose with joints at `places` (T, J, 3), which stands over the origin by default."""
    standing = MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT - 0.01])
    places = np.tile(standing, (COUNT, 1, 1)) if places is None else places
    count, joints = places.shape[:2]
    contacts = np.zeros((count, len(CONTACTS)))
    contacts[:, [CONTACTS.index(name) for name in touching]] = 1
    root = np.concatenate((places[:, 0, :2], np.zeros((count, 2))), axis=1)
    return SceneRecord(
        root,
        places,
        np.tile(np.array([1.0, 0, 0, 0]), (count, joints, 1)),
        np.zeros((count, len(ACTIONS))),
        contacts,
        np.zeros(count),
        np.ones((count, 1)),
    )


def block(middle: list[float], half: list[float], name: str = "block") -> Collider:
    """A cuboid that stands still."""
    return Collider(name, Cuboids(np.zeros((1, 3)), np.array([half])), np.array([[*middle, 1.0, 0, 0, 0]]))


def empty_hands(*things: Collider) -> Hands:
    return Hands(Scenery(Surroundings(list(things))))


def deepest(places: Array, thing: Collider, every: int = 10) -> float:
    """Meters by which a body with joints at places (T, J, 3) is in a thing at the most."""
    around = Surroundings([thing])
    return max(depth(frame, 0.0, around, [], sits=False, handles=False) for frame in places[::every])


def acceleration(places: Array) -> Array:
    """m/s2 (T - 2, ...) of places (T, ..., 3)."""
    out: Array = np.linalg.norm(np.diff(places, 2, axis=0), axis=-1) * FPS**2
    return out


def sits_at(places: Array) -> Array:
    """Places (T, 3) at which bodies with joints at places (T, J, 3) sit."""
    return np.array([sitting_place(frame[0], frame[HIP_JOINTS]) for frame in places])


def rising(count: int, start: int, end: int) -> Array:
    """(count,) that rise from 0 at a frame to 1 at another, smoothly."""
    out: Array = smoothstep((np.arange(count) - start) / (end - start))
    return out


def bone_lengths(places: Array) -> Array:
    """Meters (T, J - 1) of the bones of bodies with joints at places (T, J, 3)."""
    out: Array = np.linalg.norm(places[:, 1:] - places[:, list(MODEL_SKELETON.parents[1:])], axis=-1)
    return out


WIDE = 0.1
"""Meters from the middle of the carried box to each of its faces."""
BOX = Cuboids(np.zeros((1, 3)), np.full((1, 3), WIDE))
HANDLES = Carryable([WIDE, 0, 0], [-WIDE, 0, 0], [0, 1, 0])


def at(place: Array) -> Array:
    """Pose (..., 7) of what lies straight at a place (..., 3)."""
    return np.concatenate((place, np.broadcast_to([1.0, 0, 0, 0], (*place.shape[:-1], 4))), axis=-1)


def holding(middle: Array, hips: Array | None = None, ahead: Array | None = None) -> SceneRecord:
    """A character that faces -Y with its palms on both sides of a box whose middles (T, 3) are as seen from below it.

    hips: heights (T,) of its hips; it stands straight by default. ahead: meters (T,) that it has glided from the
    origin.
    """
    out = record(np.tile(record().places[:1], (len(middle), 1, 1)), ("LeftFoot", "RightFoot", "LeftHand", "RightHand"))
    if hips is not None:
        out.places[:, 0, 2] = hips
    out.actions[:, ACTIONS.index("carry")] = 1
    if ahead is not None:
        out.places[..., 1] -= ahead[:, None]
        out.root[:, 1] -= ahead
        out.contacts[np.gradient(ahead)[:, None] * np.char.endswith(CONTACTS, "Foot") > 0] = 0
        middle = middle - np.stack((0 * ahead, ahead, 0 * ahead), axis=1)
    places = MODEL_SKELETON.positions(out.places[:, 0], out.rotations)
    for side, limb in ARMS.items():
        upper, elbow, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
        sign = 1.0 if side == "Left" else -1.0
        fingers = from_yaw(np.full(len(middle), -sign * np.pi / 2))
        wrist = middle + np.array([sign * (WIDE + PALM_THICKNESS), PALM, 0.0])
        # From arms that hang, with the elbows behind, forearms bend forward.
        hangs = from_axis_angle(np.array([0.0, 1.0, 0.0]), np.array(sign * np.radians(75)))
        out.rotations[:, [upper, elbow]] = hangs
        out.rotations[:, upper], out.rotations[:, elbow], _ = solve_limb(
            limb, places[:, upper], wrist, out.rotations[:, upper], out.rotations[:, elbow]
        )
        out.rotations[:, end] = fingers
    posed = MODEL_SKELETON.positions(out.places[:, 0], out.rotations)
    out.places[:, WRISTS] = posed[:, WRISTS]
    return out


def hands_with(
    rolled: SceneRecord, lying: Array, taken: int, left: int | None = None, goal: Array | None = None
) -> tuple[Collider, Hands]:
    """A box that hands take from a pose (7,) at a frame, and put down at another."""
    box = Collider("box", BOX, lying[None], "carryable", HANDLES)
    hands = empty_hands(box)
    count = len(rolled.root)
    middle, angle = between_palms(rolled.places, rolled.rotations)
    held = carried_pose(HANDLES, lying, middle, angle)
    last = count if left is None else left
    hands.tracks = [
        {"box": lying if frame < taken else held[frame] if frame < last or goal is None else goal}
        for frame in range(count)
    ]
    hands.holds = [Hold("box", HANDLES, lying, taken, 0, left, goal, None if left is None else 1)]
    return box, hands


def box_in(poses: Array, thing: Collider) -> Array:
    """Meters (T,) by which the carried box at poses (T, 7), not turned, would have to move to be out of a thing of one
    cuboid that stands still."""
    assert np.abs(poses[:, 4:]).max() < 0.02
    apart = np.abs(poses[:, :3] - np.asarray(thing.poses)[0, :3] - thing.cuboids.center[0])
    out: Array = np.maximum((thing.cuboids.half[0] + WIDE - apart).min(axis=1), 0)
    return out


def body_in_box(places: Array, poses: Array) -> Array:
    """Meters (T,) by which bodies with joints at places (T, J, 3), but for their arms, are in a box at poses (T, 7)."""
    around = Surroundings([Collider("box", BOX, poses)])
    return np.array([depth(now, frame, around, ["box"], False, True) for frame, now in enumerate(places)])
