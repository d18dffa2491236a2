# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact of a finished motion with the true meshes of its scene: penetration, and distances of contact surfaces.

The engine works with voxels and cuboids, which are larger than the meshes; a viewer sees the meshes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...geometry.body import CAPSULES
from ...geometry.colliders import PLACE, QUATERNION, Collider, Cuboids
from ...geometry.mesh import TriangleMesh
from ...geometry.mesh_distance import MeshDistance, samples
from ...geometry.shapes import block
from ...motion.ik import ARMS
from ...motion.motion import Motion
from ...motion.root import direction
from ...motion.rotations import Array, conjugate, normalize, rotate
from ...motion.skeleton import MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from ...naturalness.case import Case
from ...rollout.held_objects import PALM_THICKNESS, palm

RATE = 20.0
"""Frames per second that are measured: every third frame of a motion at 60 fps."""
SPACING = 0.06
"""Distance in meters between neighboring sample points along a bone, about the radius of most capsules."""
CARRIED_SPACING = 0.03
"""Distance in meters between neighboring sample points on a carried thing's surface; twice that on the things it
meets."""
FOOT = 0.03
"""Radius in meters of the capsule from a foot to its toe."""
CUSHION = 0.05
"""Depth in meters by which a body sinks into what it rests on, where contact is intended: flesh and upholstery give
way."""
SOLE = 0.02
"""Depth in meters that a foot's capsule may have in what the foot stands on: the toe joint is lower than its radius."""
TOWARD = 0.5
"""Cosine of the largest angle between the way out of a surface and up (or ahead) at which it counts as a seat's top (or
as a backrest's front)."""
WRIST = 0.65
"""Share of the forearm from which on it may touch what the hand holds."""
LOWEST = 0.01
"""Height in meters above its lowest point up to which the underside of a placed thing is measured."""
BACKREST = 0.6
"""Distance in meters behind the trunk within which a backrest is sought."""
_MOVED = 1e-3
"""Change of a pose, in meters or in a quaternion's parts, above which a thing has been moved."""
_BONES = (*CAPSULES, ("LeftFoot", "LeftToe", FOOT), ("RightFoot", "RightToe", FOOT))
"""Capsules with those of the feet."""
_TRUNK = ("Hips", "Neck")
"""Joints at the ends of the trunk."""
_SITTING = ("Hips", "LeftUpLeg", "RightUpLeg")
"""Capsules that rest on a seat."""


@dataclass(frozen=True)
class Worst:
    """The deepest penetration of a kind. cm: depth; frame: of the motion; part: bone or thing that is inside
    `thing`."""

    cm: float = 0.0
    frame: int = 0
    part: str = ""
    thing: str = ""


@dataclass(frozen=True, eq=False)
class MeshContact:
    """Measured contacts.

    body, feet, carried: deepest centimeters in each measured frame, outside intended contact; carried from when a thing
    is taken, one thing after another. deepest: the deeper of body and carried things, in each measured frame.
    placed_mm: by thing, from its lowest points up to its support, negative inside it. palms_cm: from palms to the
    surface that they hold, in each frame. pelvis_seat_cm, back_cm: of each time of sitting, at its middle; back_cm is
    missing without a backrest.
    """

    body: Array
    feet: Array
    carried: Array
    deepest: Array
    body_worst: Worst
    carried_worst: Worst
    placed_mm: dict[str, float] = field(default_factory=dict)
    palms_cm: list[float] = field(default_factory=list)
    pelvis_seat_cm: list[float] = field(default_factory=list)
    back_cm: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """A number for each name; names of what does not occur in the motion are left out."""
        out = {"body_p99_cm": _percentile(self.body), "body_max_cm": float(self.body.max(initial=0.0))}
        out |= {"feet_p99_cm": _percentile(self.feet)}
        if len(self.carried):
            out |= {"carried_p99_cm": _percentile(self.carried), "carried_max_cm": float(self.carried.max())}
        if self.placed_mm:
            out["placed_height_mm"] = max(self.placed_mm.values(), key=abs)
        for name in ("palms_cm", "pelvis_seat_cm", "back_cm"):
            values = getattr(self, name)
            if values:
                out[name] = _percentile(np.array(values))
        return out


def mesh_contact(case: Case, motion: Motion) -> dict[str, float]:
    """Figures of `contact_of`: body_p99_cm, body_max_cm, feet_p99_cm, carried_p99_cm, carried_max_cm,
    placed_height_mm, palms_cm, pelvis_seat_cm, back_cm; those that do not occur in the motion are left out."""
    return contact_of(case, motion).figures()


def contact_of(case: Case, motion: Motion, frames: Array | None = None) -> MeshContact:
    """Contact of a motion with the meshes of its case, at the poses that the motion gives them
    (`motion.meta["things"]`). frames: (F,) that are measured, in order; None: `RATE` a second."""
    things = _things(case, motion)
    if frames is None:
        frames = np.arange(0, len(motion), max(round(motion.fps / RATE), 1))
    body, feet, body_worst = _body(case, motion, things, frames)
    carried, carried_worst, palms = _carried(motion, things, frames)
    deepest = np.max([body, *(np.pad(one, (len(frames) - len(one), 0)) for one in carried)], axis=0)
    ground = 0.0 if case.shot.start is None else float(case.shot.start[2])
    placed = {
        thing.name: _height(thing, things, ground) for thing in things if thing.role == "carryable" and thing.placed
    }
    pelvis, back = _seated(case, motion, things)
    in_turn = np.concatenate([np.zeros(0), *carried])
    return MeshContact(body, feet, in_turn, deepest, body_worst, carried_worst, placed, palms, pelvis, back)


class _Thing:
    """A thing of the scene: its meshes in its own frame, and its pose (7,) at frames of the motion."""

    def __init__(self, collider: Collider, parts: list[TriangleMesh], poses: Array) -> None:
        self.name, self.role, self._poses = collider.name, collider.role, poses
        self.parts = parts
        self.mesh = MeshDistance(parts)
        change = np.abs(poses - poses[0]).max(axis=1) > _MOVED
        self.moves = bool(change.any())
        self.first = int(change.argmax())
        """Frame at which the thing begins to move."""
        still = np.flatnonzero(np.abs(poses - poses[-1]).max(axis=1) > 0)
        self.last = int(still[-1]) + 1 if len(still) else 0
        """Frame from which on the thing keeps its last pose."""
        self.placed = self.moves and self.last < len(poses) - 1

    def poses(self, frames: Array) -> Array:
        """Poses (F, 7) at some frames; beyond its own frames it keeps the pose at the end."""
        return np.asarray(self._poses[np.clip(frames, 0, len(self._poses) - 1)])

    def local(self, points: Array, frames: Array) -> Array:
        """Points (N, 3) of the world at frames (N,) in the thing's frame."""
        poses = self.poses(frames)
        return np.asarray(rotate(conjugate(poses[:, QUATERNION]), points - poses[:, PLACE]))

    def world(self, points: Array, frames: Array) -> Array:
        """Points (N, 3) of the thing's frame in the world at frames (N,)."""
        pose = self.poses(frames)
        return np.asarray(rotate(pose[:, QUATERNION], points) + pose[:, PLACE])

    def turned(self, vectors: Array, frames: Array) -> Array:
        """Vectors (N, 3) of the thing's frame in the world."""
        return np.asarray(rotate(self.poses(frames)[:, QUATERNION], vectors))


def _things(case: Case, motion: Motion) -> list[_Thing]:
    moved = motion.meta.get("things", {})
    out = []
    for collider in case.shot.colliders:
        poses = np.array(moved.get(collider.name, collider.poses), dtype=float)
        poses[:, QUATERNION] = normalize(poses[:, QUATERNION])
        out.append(_Thing(collider, case.meshes.get(collider.name) or _blocks(collider.cuboids), poses))
    return out


def _blocks(cuboids: Cuboids) -> list[TriangleMesh]:
    """Cuboids as meshes, for a thing without a known mesh."""
    return [
        block(tuple(center - half), tuple(center + half)).mesh
        for center, half in zip(cuboids.center, cuboids.half, strict=True)
    ]


def _body(case: Case, motion: Motion, things: list[_Thing], frames: Array) -> tuple[Array, Array, Worst]:
    """Deepest centimeters of the body and of the feet in each frame, and the worst of all."""
    goals = {goal.name: goal.collider for goal in case.shot.goals}
    sat_on = {goals.get(key.goal, "") for key in case.shot.keys if key.action == "sit"}
    opened = {goals.get(key.goal, "") for key in case.shot.keys if key.action == "open"}
    points, radii, bones, shares = _points(motion.positions[frames].astype(float))
    count = points.shape[1]
    at = np.repeat(frames, count)
    flat, radius = points.reshape(-1, 3), np.tile(radii, len(frames))
    bone, share = np.tile(bones, len(frames)), np.tile(shares, len(frames))
    is_foot = np.char.endswith(bone, "Foot")
    ahead = np.append(direction(motion.root[at, 3].astype(float)), np.zeros((len(at), 1)), axis=1)
    body, feet, worst = np.zeros(len(frames)), np.zeros(len(frames)), Worst()
    for thing in things:
        local = thing.local(flat, at)
        found = thing.mesh.nearest(local, radius)
        depth = found.depth(radius)
        deep = np.flatnonzero(depth > 0)
        if not len(deep):
            continue
        out = thing.turned(found.outward(local)[deep], at[deep])
        give = np.zeros(len(deep))
        if thing.name in sat_on:
            below = (out[:, 2] > TOWARD) & (np.isin(bone[deep], _SITTING) | np.char.endswith(bone[deep], "Arm"))
            behind = (np.einsum("ni,ni->n", out, ahead[deep]) > TOWARD) & np.isin(bone[deep], _TRUNK)
            give[below | behind] = CUSHION
        if thing.name in opened or (thing.role == "carryable" and thing.moves):
            give[np.char.endswith(bone[deep], "ForeArm") & (share[deep] >= WRIST)] = CUSHION
        give[is_foot[deep] & (out[:, 2] > TOWARD)] = SOLE
        depth[deep] = np.maximum(depth[deep] - give, 0)
        by_frame = depth.reshape(len(frames), count)
        feet = np.maximum(feet, np.where(is_foot.reshape(by_frame.shape), by_frame, 0).max(axis=1))
        body = np.maximum(body, by_frame.max(axis=1))
        most = int(depth.argmax())
        if 100 * depth[most] > worst.cm:
            worst = Worst(100 * float(depth[most]), int(at[most]), str(bone[most]), thing.name)
    return 100 * body, 100 * feet, worst


def _points(places: Array) -> tuple[Array, Array, Array, Array]:
    """Points (F, P, 3) along the bones of bodies with joints at places (F, J, 3), their radii (P,), the names (P,) of
    their bones, and their shares (P,) of the bones' lengths."""
    out, radii, bones, shares = [], [], [], []
    for start, end, radius in _BONES:
        a, b = MODEL_SKELETON.indices([start, end])
        length = float(np.linalg.norm(places[0, b] - places[0, a]))
        share = np.linspace(0, 1, max(math.ceil(length / SPACING), 1) + 1)
        out.append(places[:, a, None] + share[:, None] * (places[:, b] - places[:, a])[:, None])
        radii += [radius] * len(share)
        bones += [start] * len(share)
        shares += share.tolist()
    return np.concatenate(out, axis=1), np.array(radii), np.array(bones), np.array(shares)


def _carried(motion: Motion, things: list[_Thing], frames: Array) -> tuple[list[Array], Worst, list[float]]:
    """Deepest centimeters of each carried thing in other things in each frame from when it is taken, the worst of all,
    and centimeters from the palms to the held surfaces."""
    rows: list[Array] = []
    palms: list[float] = []
    worst = Worst()
    for thing in things:
        if thing.role != "carryable" or not thing.moves:
            continue
        at = frames[frames >= thing.first]
        if not len(at):
            # It is taken in the very last frames, which are not looked at.
            continue
        deep = np.zeros(len(at))
        surface = samples(thing.parts, CARRIED_SPACING)
        for other in things:
            if other is thing:
                continue
            depth = _depths(thing, surface, other, at)
            deep = np.maximum(deep, depth)
            most = int(depth.argmax())
            if 100 * depth[most] > worst.cm:
                worst = Worst(100 * float(depth[most]), int(at[most]), thing.name, other.name)
        rows.append(100 * deep)
        palms += _palms(motion, thing, frames[(frames >= thing.first) & (frames < thing.last)])
    return rows, worst, palms


def _depths(thing: _Thing, surface: Array, other: _Thing, frames: Array) -> Array:
    """Depths (F,) in meters of a thing, with points (P, 3) on its surface, in another thing at each frame.

    Points of each that are inside the other count, so that a thin board in a box is found, too.
    """
    out = np.zeros(len(frames))
    reach = float(np.linalg.norm(surface, axis=1).max(initial=0.0))
    middle = other.local(thing.poses(frames)[:, PLACE], frames)
    gap = np.maximum(other.mesh.low - middle, middle - other.mesh.high).max(axis=1)
    both = np.concatenate((thing.poses(frames), other.poses(frames)), axis=1)
    fresh = np.append(True, np.abs(np.diff(both, axis=0)).max(axis=1) > 0)
    rows = np.flatnonzero((gap <= reach) & fresh)
    if not len(rows):
        return out
    at = np.repeat(frames[rows], len(surface))
    mine = other.local(thing.world(np.tile(surface, (len(rows), 1)), at), at)
    deep = other.mesh.depth_inside(mine).reshape(len(rows), -1).max(axis=1)
    theirs = samples(other.parts, 2 * CARRIED_SPACING)
    theirs = theirs[((theirs >= mine.min(axis=0)) & (theirs <= mine.max(axis=0))).all(axis=1)]
    if len(theirs):
        at = np.repeat(frames[rows], len(theirs))
        back = thing.local(other.world(np.tile(theirs, (len(rows), 1)), at), at)
        deep = np.maximum(deep, thing.mesh.depth_inside(back).reshape(len(rows), -1).max(axis=1))
    # Where neither moved since the frame before, the depth is the same.
    source = np.maximum.accumulate(np.where(fresh, np.arange(len(frames)), 0))
    out[rows] = deep
    return np.asarray(out[source])


def _palms(motion: Motion, thing: _Thing, frames: Array) -> list[float]:
    """Distances in centimeters between each palm's skin and the thing's surface, in each frame."""
    out: list[float] = []
    for side in ARMS:
        places, turned = motion.positions[frames].astype(float), motion.rotations[frames].astype(float)
        found = thing.mesh.nearest(thing.local(palm(places, turned, side), frames), np.inf)
        signed = np.where(found.inside, -found.distance, found.distance)
        out += (100 * np.abs(signed - PALM_THICKNESS)).tolist()
    return out


def _height(thing: _Thing, things: list[_Thing], ground: float) -> float:
    """Height in millimeters of a thing over what is under it in the end; negative inside it."""
    frame = len(thing._poses) - 1
    surface = samples(thing.parts, CARRIED_SPACING)
    points = thing.world(surface, np.full(len(surface), frame))
    lowest = points[points[:, 2] < points[:, 2].min() + LOWEST]
    top = np.full(len(lowest), ground)
    at = np.full(len(lowest), frame)
    for other in things:
        if other is thing:
            continue
        # Things that carry others stand upright: straight below in their frame is below in the world.
        local = other.local(lowest + np.array([0.0, 0.0, CUSHION]), at)
        rise = other.mesh.top_below(local) - local[:, 2] + CUSHION
        top = np.maximum(top, lowest[:, 2] + rise)
    return 1000 * float((lowest[:, 2] - top).min())


def _seated(case: Case, motion: Motion, things: list[_Thing]) -> tuple[list[float], list[float]]:
    """Distances in centimeters from the sitting place to the seat's surface, and from the back to the backrest, of each
    seating."""
    goals = {goal.name: goal.collider for goal in case.shot.goals}
    by_name = {thing.name: thing for thing in things}
    outcomes = motion.meta.get("keys", [])
    pelvis, back = [], []
    for number, outcome in enumerate(outcomes):
        thing = by_name.get(goals.get(outcome["goal"], ""))
        if outcome["action"] != "sit" or outcome["trouble"] or outcome["done"] is None or thing is None:
            continue
        after = [one["set_off"] for one in outcomes[number + 1 :] if one["set_off"] is not None]
        frame = int(min((outcome["arrived"] + min(after, default=len(motion) - 1)) // 2, len(motion) - 1))
        places = motion.positions[frame].astype(float)
        joints = places[MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])]
        under = joints - [0.0, 0.0, SEAT_BELOW_HIP_JOINTS]
        at = np.full(2, frame)
        height = joints[:, 2] - np.array(
            [thing.mesh.first_hit(one[None], _down(thing, frame))[0] for one in thing.local(joints, at)]
        )
        if np.isfinite(height).any():
            pelvis.append(100 * abs(float(np.mean((under[:, 2] - height)[np.isfinite(height)]))))
        gap = _to_backrest(motion, thing, frame)
        if gap is not None:
            back.append(gap)
    return pelvis, back


def _down(thing: _Thing, frame: int) -> Array:
    turn = conjugate(thing.poses(np.array([frame]))[:, QUATERNION])
    return np.asarray(rotate(turn, np.array([[0.0, 0.0, -1.0]]))[0])


def _to_backrest(motion: Motion, thing: _Thing, frame: int) -> float | None:
    """Distance in centimeters from the back of the trunk to what is behind it at a frame; None where nothing is."""
    places = motion.positions[frame].astype(float)
    radius = next(radius for start, _, radius in CAPSULES if start == "Hips")
    hips, top = places[MODEL_SKELETON.indices(["Hips", "Spine2"])]
    points = hips + np.linspace(0.2, 1.0, 5)[:, None] * (top - hips)
    way = -np.append(direction(motion.root[frame, 3].astype(float)), 0.0)
    turn = conjugate(thing.poses(np.array([frame]))[:, QUATERNION])
    gaps = thing.mesh.first_hit(thing.local(points, np.full(len(points), frame)), rotate(turn, way[None])[0]) - radius
    return 100 * max(float(gaps.min()), 0.0) if gaps.min() < BACKREST else None


def _percentile(values: Array) -> float:
    return float(np.percentile(values, 99)) if len(values) else 0.0
