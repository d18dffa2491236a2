# SPDX-License-Identifier: GPL-3.0-or-later
"""What hands hold, as constraints: palms on a box where it is taken and left, a box between them, a hand at
a handle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..geometry.colliders import PLACE, Collider, Cuboids, Placed
from ..geometry.collision import Balls, Obstacles
from ..geometry.scene_state import pose_at, to_world
from ..models.nsm import CONTACTS, FPS
from ..motion.easing import eased
from ..motion.filters import runs, without_short_runs
from ..motion.ik import ARMS, REACH, solve_limb
from ..motion.rotations import Array, between, multiply, wrap_angle
from ..motion.skeleton import MODEL_SKELETON
from ..rollout.held_objects import PALM_THICKNESS, TOUCHES, Grip, Hold, between_palms, carried_pose, grasp_of, palm
from .foot_contacts import SHORTEST
from .footholds import way_onto
from .seating import Seating
from .terms import CLEAR, At, Load

FIRM = round(0.05 * FPS)
"""Frames before and after a grasp, and a release, in which the palms are at the box."""
SPACING = 0.12
"""Meters between the points of a carried box that are kept out of things."""
OUTSIDE = 1e-3
"""Meters from a face at which another cuboid hides it."""
GRIP = 0.05
"""Share of a firm constraint with which a hand keeps to a handle or an arm rest: it slips off before it drags the body
into a door."""
STRAIGHT = 0.99
"""Cosine between two ways out from which they are the same."""
SPREAD = 1.0 * FPS
"""Frames over which a box that lies off the hands comes between them, and hands that let go are free again."""
WRIST_ABOVE_TOP = (0.05, 0.11)
"""Least and largest height in meters of a wrist above the top that its hand leans on, as people lean on a box."""
WRIST_ABOVE_REST = 0.035
"""Meters of a wrist above the arm rest that its hand lies on."""
REST_REACH = 0.12
"""Meters from an arm rest, or from the top of what is climbed, within which a hand that touches something lies on
it."""


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
        turn += weight * float(wrap_angle(grasp_of(hold.handles, pose)[1] - angle[frame]))
    poses = carried_pose(hold.handles, hold.lying, middle, angle + turn)
    held = np.zeros(count, dtype=bool)
    held[hold.taken + FIRM : max(last - FIRM, 0)] = True
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

    # In the corner of a seat a box may rest a little in seat and backrest, and is then far from out on any one side.
    far, ways = obstacles.ways_out(to_world(own, hold.lying), hold.taken)
    resting = eased(count, -1, 0, hold.taken + SPREAD / 2, hold.taken + SPREAD)

    def gives(points: Array, frames: Array, thing: int, normals: Array) -> Array:
        along = normals @ ways[thing].T
        way = along.argmax(axis=1)
        straight = along[np.arange(len(way)), way] > STRAIGHT
        return np.maximum(deep[thing, points], straight * resting[frames] * far[thing, points, way])

    balls = Balls(np.zeros(len(own)), np.zeros(len(own), dtype=int), gives)
    itself = Obstacles([collider], [poses], held[:, None], -np.inf)
    return at, Load(held, poses, own, palms[0] - palms[1], obstacles, balls, itself)


def gripping(grip: Grip, places: Array, rotations: Array, poses: Array) -> At:
    """A constraint of a body with joints at places (T, J, 3) and world rotations (T, J, 4): the palm of a hand at the
    handle of a door with poses (T, 7) while it turns, as far as the arm reaches from where its shoulder is."""
    limb = ARMS[grip.side]
    shoulder, wrist = (places[:, MODEL_SKELETON.index(name)] for name in (limb.upper, limb.end))
    away = to_world(grip.place, poses) + wrist - palm(places, rotations, grip.side) - shoulder
    bones = MODEL_SKELETON.offsets[MODEL_SKELETON.indices([limb.middle, limb.end])]
    longest = REACH * np.linalg.norm(bones, axis=1).sum()
    away *= np.minimum(1.0, longest / np.linalg.norm(away, axis=1, keepdims=True))
    return At(grip.side + "Hand", shoulder + away, _held_on(len(places), grip.first, grip.last))


def resting(seating: Seating, places: Array, collider: Collider, contacts: Array, rate: float) -> list[At]:
    """Constraints of a sitting body with joints at places (T, J, 3): hands that lie on arm rests stay there, still.
    contacts: (T, 5) labels of CONTACTS. rate: frames of the collider's poses for each of the body's."""
    rests = getattr(collider.handles, "arm_rests", [])
    if not rests:
        return []
    out = []
    tops = to_world(np.array(rests), pose_at(collider, seating.settled * rate))
    end = len(contacts) if seating.left is None else seating.left
    for side in ARMS:
        column = CONTACTS.index(side + "Hand")
        wrist = places[:, MODEL_SKELETON.index(side + "Hand")]
        for start, stop in runs(without_short_runs(contacts[:, column] > TOUCHES, SHORTEST, SHORTEST)):
            if stop <= seating.first or start >= end:
                continue
            place = wrist[start:stop].mean(0)
            top = tops[np.linalg.norm(tops[:, :2] - place[:2], axis=1).argmin()]
            target = np.array([*place[:2], top[2] + WRIST_ABOVE_REST])
            if np.linalg.norm((top - place)[:2]) > 2 * REST_REACH or abs(target[2] - place[2]) > REST_REACH:
                continue
            out.append(At(side + "Hand", np.broadcast_to(target, wrist.shape), _held_on(len(places), start, stop - 1)))
    return out


def leaning(places: Array, contacts: Array, near: Callable[[int], Placed]) -> list[At]:
    """Constraints of a body with joints at places (T, J, 3) that climbs: hands that lean on a top stay there, still.
    contacts: (T, 5) labels of CONTACTS. near: the cuboids that are climbed, at a frame."""
    out = []
    for side in ARMS:
        column = CONTACTS.index(side + "Hand")
        wrist = places[:, MODEL_SKELETON.index(side + "Hand")]
        for start, stop in runs(without_short_runs(contacts[:, column] > TOUCHES, SHORTEST, SHORTEST)):
            placed = near((start + stop) // 2)
            place = wrist[start:stop].mean(0)
            tops = placed.center[:, 2] + placed.half[:, 2]
            ways = np.array([way_onto(placed, number, place[:2]) for number in range(len(placed))]).reshape(-1, 2)
            heights = np.clip(place[2], tops + WRIST_ABOVE_TOP[0], tops + WRIST_ABOVE_TOP[1])
            off = np.append(ways, (heights - place[2])[:, None], axis=1)
            far = np.linalg.norm(off, axis=1)
            if far.min(initial=np.inf) > REST_REACH:
                continue
            target = place + off[far.argmin()]
            out.append(At(side + "Hand", np.broadcast_to(target, wrist.shape), _held_on(len(places), start, stop - 1)))
    return out


def _held_on(count: int, first: int, last: int) -> Array:
    """Weights (count,) of a hand that keeps to a place from one frame to another."""
    out = np.zeros(count)
    out[first : last + 1] = GRIP
    return out


def surface(cuboids: Cuboids) -> Array:
    """Points (N, 3) on the outer faces of a thing made of cuboids, about SPACING apart on each."""
    out = []
    for middle, half in zip(cuboids.center, cuboids.half, strict=True):
        ticks = [np.linspace(-h, h, max(2, int(np.ceil(2 * h / SPACING)) + 1)) for h in half]
        grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 3)
        outward = np.sign(grid) * (np.abs(np.abs(grid) - half) < 1e-9)
        beyond = (middle + grid + OUTSIDE * outward)[:, None] - cuboids.center
        hidden = (np.abs(beyond) < cuboids.half).all(axis=2).any(axis=1)
        out.append((middle + grid)[outward.any(axis=1) & ~hidden])
    return np.concatenate(out) if out else np.zeros((0, 3))


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


def settled(hold: Hold, carried: Array, poses: Array) -> None:
    """Put a box with poses (T, 7), in place, where it was carried (T, 7) while it is held; where it was taken and where
    it is left it lies in its place."""
    count = len(poses)
    last = count if hold.left is None else hold.left
    blend = min(SPREAD, (last - hold.taken) / 2)
    carried = carried.copy()
    # What it is off its place where it is taken, or left, fades within a second.
    off = _faded(count, hold.taken, hold.taken + blend)[:, None] * (hold.lying - carried[hold.taken])[PLACE]
    if hold.goal is not None:
        put = 1 - _faded(count, last - blend, last)
        off += put[:, None] * (hold.goal - carried[last - 1])[PLACE]
    carried[:, PLACE] += off
    poses[hold.taken : last] = carried[hold.taken : last]


def with_palms(
    places: Array, rotations: Array, holds: Sequence[Hold], things: Mapping[str, Array]
) -> tuple[Array, Array]:
    """A body with joints at places (T, J, 3) and world rotations (T, J, 4), its arms bent so that the palms lie on the
    faces of what it holds, at the poses (T, 7) of things, as far as they reach. The hands keep their own directions."""
    out, count = rotations.copy(), len(places)
    for side, limb in ARMS.items():
        upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
        shift, weight = np.zeros((count, 3)), np.zeros(count)
        for hold in holds:
            last = count if hold.left is None else hold.left
            mine = eased(count, hold.taken - 2 * FIRM, hold.taken - FIRM, last - 1, last - 1 + SPREAD)
            face = np.array(hold.handles.left if side == "Left" else hold.handles.right)
            off = pressed(face, hold, things[hold.name]) - palm(places, rotations, side)
            # A character that lets go takes its hands along, wherever it goes.
            off[last:] = off[last - 1]
            more = mine > weight
            shift[more], weight[more] = off[more], mine[more]
        on = weight > 0
        if on.any():
            wanted = places[:, end] + weight[:, None] * shift
            turned, bent, _ = solve_limb(limb, places[:, upper], wanted, out[:, upper], out[:, middle])
            out[on, upper], out[on, middle] = turned[on], bent[on]
    return MODEL_SKELETON.positions(places[:, 0], out), out


def with_wrists(wanted: Array, rotations: Array) -> Array:
    """World rotations (T, J, 4) with each arm turned as a whole so that its wrist lies in the direction of the joint
    places (T, J, 3) that the network predicted besides: those are steadier than what its rotations add up to along an
    arm. The bend of the elbow is left: bent to the very distance, a nearly straight arm would jerk its elbow."""
    places, out = MODEL_SKELETON.positions(wanted[:, 0], rotations), rotations.copy()
    for limb in ARMS.values():
        upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
        turn = between(places[:, end] - places[:, upper], wanted[:, end] - places[:, upper])
        out[:, upper], out[:, middle] = multiply(turn, out[:, upper]), multiply(turn, out[:, middle])
    return out


def _faded(count: int, start: float, end: float) -> Array:
    """Weight (count,) that is 1 up to frame `start` and falls to 0 at `end`, smoothly."""
    return eased(count, -2, -1, start, end)
