# SPDX-License-Identifier: GPL-3.0-or-later
"""From what the NSM predicted to a body with rigid bones (4): feet planted, hips on the seat, palms on the box.

The last correction moves no palm and no part of a sitting trunk farther than 3 cm, by shifting and turning together,
spread over a second; how far they were off before and after it is reported. What it does not reach stays off. Who
would be in something is moved out of it besides, see `body_clear`; what is reported is where one is in the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..geometry.colliders import PLACE, Collider, Cuboids, Placed, Surroundings
from ..geometry.roles import Carryable
from ..geometry.scene_state import pose_at, to_world
from ..models.nsm import CONTACTS, FPS
from ..motion.contacts import firm_contacts
from ..motion.easing import eased
from ..motion.filters import gaussian, runs, velocity, without_short_runs
from ..motion.foot_lock import plant_feet
from ..motion.ik import solve_limb
from ..motion.rotations import Array, from_yaw, make_continuous, multiply, rotate, wrap_angle
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from ..planning.occupancy_grid import CROUCHED, ObstacleOutlines
from ..rollout.held_objects import (
    ARMS,
    PALM_THICKNESS,
    TOUCHES,
    Grip,
    Hands,
    Hold,
    between_palms,
    carried_pose,
    grasp_of,
    palm,
)
from ..rollout.nsm import SceneRecord
from ..rollout.pose import limit_elbows, limit_feet, look_at, pivoted
from .allowed_contacts import Room, hips_limit
from .carried_object_clearance import EVERY, REACH, Carried, held_off, kept_out
from .climbing import climbing
from .leg_collision import Legs
from .overhead_clearance import sinking
from .reach_crouch import stooped
from .seated_feet import keep_feet, lean_back
from .seating import HIP_JOINTS, Seating, sitting_place

FARTHEST = 0.03
"""Metres by which the last correction moves anything."""
TRUNK = 0.2
"""Metres from the spine to the shoulders: a trunk that is turned moves no farther there."""
SPREAD = 1.0
"""Seconds over which it comes in and goes."""
WRIST_ABOVE_REST = 0.035
"""Metres of a wrist above the arm rest that its hand lies on."""
REST_REACH = 0.12
"""Metres from an arm rest within which a hand that touches something lies on it."""
OVERHEAD = 0.1
"""Metres beside the head's joint within which something above is in its way."""
SMOOTH = 0.05 * FPS
"""Frames over which a carried box's moves out of other things are smoothed."""
_COMES_FREE = round(0.3 * FPS)
"""Frames after it was taken in which a box comes to where it does not touch the body, and before it is put down."""
GAZE = 0.4 * FPS, 0.25 * FPS
"""Frames before the hands take or leave a thing from which the face is turned to it, and after which it is free."""
GAZE_BLEND = 0.7 * FPS
"""Frames in which the face turns there and back."""
STRETCHED = 0.75, 0.95
"""Shares of an arm's length up to which a hand stays where it is while the trunk leans back, and does not."""
_HAND_BLEND = 0.5
_SHORTEST = 3
"""Frames: shorter contacts and gaps are flicker of the label."""
_DOWN = 0.045
"""Metres above its height in stance below which a heel or toe is on the ground,"""
_SLOW = 0.6
"""m/s at which it may move meanwhile."""
_FEET = ("LeftFoot", "RightFoot")
_LEGS_MIDDLE, _LEGS_REACH = np.array([0.0, 0.0, 0.4]), 1.1


@dataclass(frozen=True)
class Correction:
    """How far one thing was off, before the last correction (raw) and after it. key: number of the key that asked for
    it; what: "hips", or "hands" with a box taken, or "box" put down."""

    key: int
    what: str
    raw_cm: float
    raw_deg: float
    cm: float
    deg: float


@dataclass(frozen=True, eq=False)
class Posed:
    """T frames at 60 fps: joint places (T, J, 3), world rotations (T, J, 4), root (T, 4), contacts (T, 4) of
    CONTACT_JOINTS, poses (T, 7) of the things that were moved."""

    places: Array
    rotations: Array
    root: Array
    contacts: Array
    things: dict[str, Array]
    corrections: list[Correction]

    def told(self) -> list[dict[str, Any]]:
        """The corrections as JSON's plain data."""
        return [asdict(one) for one in self.corrections]


def posed(
    record: SceneRecord, seatings: Sequence[Seating], hands: Hands, colliders: Sequence[Collider], rate: float = 1.0
) -> Posed:
    """The whole rollout with rigid bones and settled contacts. rate: collider poses per frame of the rollout."""
    out = list[Correction]()
    count = len(record.root)
    hips, rotations, root = record.places[:, 0].copy(), limit_elbows(record.rotations), record.root.copy()
    rotations = limit_feet(rotations, FPS)
    wanted = pivoted(record.places, rotations)
    contacts = firm_contacts(foot_contacts(record), wanted, FPS)
    keep_feet(record, seatings, contacts, wanted, rotations)
    for seating in seatings:
        out.append(_seat(seating, hips, rotations, root))
    by_name = {collider.name: collider for collider in colliders}
    things = _tracks(hands, by_name, count, rate)
    hips[:, 2] -= _ducked(record, [collider for collider in colliders if collider.name not in things])
    lower = stooped(record, hands.holds)
    hips[:, 2] -= lower
    places, planted = _planted(record, hips, rotations, contacts, wanted)
    steps = Surroundings([collider for collider in colliders if collider.role == "climbable"])
    near = _around(root, steps, rate)
    if climb := climbing(places, planted, root[:, 3], contacts, near, steps.names, float(root[0, 2])):
        contacts, rotations = climb.contacts, climb.leaning(rotations)
        hips += climb.hips
        wanted[:, climb.toes] = places[:, climb.toes]
        places, planted = _shifted(climb.feet, record, hips, rotations, contacts, wanted)
    room = Room(record, hands, colliders, things, rate)
    clear = room.around_body(places, root[:, 3], seatings)
    aside = clear.hips(places, planted, hips_limit(count, seatings))
    if aside.any():
        hips[:, :2] += aside
        root[:, :2] += aside
        places, planted = _planted(record, hips, rotations, contacts, wanted)
        out = [_sat(one, seating, hips, rotations, root) for one, seating in zip(out, seatings, strict=True)]
    if shifts := Legs(places, planted, contacts, room.around_legs(places)).shifts():
        places, planted = _shifted(shifts, record, hips, rotations, contacts, wanted)
    places, rotations = clear.above(places, planted)
    resting = places
    hips, rotations, lean = lean_back(places, rotations, root[:, 3], seatings, by_name, rate)
    places = MODEL_SKELETON.positions(hips, rotations)
    targets = _Targets(places, rotations)
    targets.stay(resting, lean)
    for hold in hands.holds:
        targets.hold(hold, things[hold.name], by_name[hold.name].cuboids, root[:, 3], room)
    for seating in seatings:
        targets.rest(seating, by_name[seating.aim.thing], record.contacts, rate)
    for grip in hands.grips:
        targets.grip(grip, things.get(grip.name))
    before = places, rotations
    places, rotations = clear.arms(*targets.reached())
    rotations = _looking(places, rotations, hands, things)
    places = MODEL_SKELETON.positions(places[:, 0], rotations)
    for hold in hands.holds:
        out += _held(hold, before, (places, rotations), lower)
    out.sort(key=lambda one: one.key)
    return Posed(places, make_continuous(rotations), root, contacts, things, out)


def _planted(record: SceneRecord, hips: Array, rotations: Array, contacts: Array, wanted: Array) -> tuple[Array, Array]:
    """Places and rotations of rigid bones with the toes, in contact, where they are wanted: (T, J, 3)."""
    ground = np.array([0.0, 0.0, float(record.root[0, 2])])
    level = bool(np.ptp(record.root[:, 2]) < 1e-6)
    places, turned = plant_feet(
        (hips - ground)[None],
        rotations[None],
        contacts[None],
        wanted=(wanted - ground)[None],
        own_heights=not level,
    )
    return places[0] + ground, turned[0]


def _ducked(record: SceneRecord, colliders: Sequence[Collider]) -> Array:
    """Metres (T,) by which one ducks more than the network has it, under what stands still and lets one pass so."""
    heads = record.places[:, MODEL_SKELETON.index("Head")]
    still = ObstacleOutlines.of(Surroundings([collider for collider in colliders if len(collider.poses) == 1]).at(0))
    above = still[still.low >= record.root[0, 2] + CROUCHED]
    under = above.distances(heads[:, :2]) < OVERHEAD
    return sinking(heads[:, 2], np.where(under, above.low, np.inf).min(axis=1, initial=np.inf))


def _shifted(
    shifts: dict[str, Array], record: SceneRecord, hips: Array, rotations: Array, contacts: Array, wanted: Array
) -> tuple[Array, Array]:
    """Planted again with the toes of some sides moved by shifts (T, 3); wanted changes in place."""
    for side, shift in shifts.items():
        wanted[:, MODEL_SKELETON.index(side + "Toe")] += shift
    return _planted(record, hips, rotations, contacts, wanted)


def _around(root: Array, surroundings: Surroundings, rate: float) -> Callable[[int], Placed]:
    """What is near the legs at a frame."""
    return lambda frame: surroundings.near(frame * rate, root[frame, :3] + _LEGS_MIDDLE, _LEGS_REACH)


def foot_contacts(record: SceneRecord) -> Array:
    """Contacts (T, 4) of CONTACT_JOINTS, 0 or 1, from the two labels of the feet: heel or toe, whichever is low and
    slow; the toe when neither is."""
    out = np.zeros((len(record.root), len(CONTACT_JOINTS)), dtype=np.float32)
    ground = record.root[:, 2]
    for foot in _FEET:
        on = without_short_runs(record.contacts[:, CONTACTS.index(foot)] > TOUCHES, _SHORTEST, _SHORTEST)
        parts = []
        for joint, height in ((foot, ANKLE_HEIGHT), (foot.replace("Foot", "Toe"), TOE_HEIGHT)):
            place = record.places[:, MODEL_SKELETON.index(joint)]
            slow = np.linalg.norm(velocity(place[:, :2], FPS), axis=1) < _SLOW
            parts.append(slow & (place[:, 2] - ground < height + _DOWN))
        heel, toe = parts
        toe = toe | ~heel
        for joint, part in ((foot, heel), (foot.replace("Foot", "Toe"), toe)):
            out[:, CONTACT_JOINTS.index(joint)] = on & without_short_runs(part & on, _SHORTEST, _SHORTEST)
    return out


def allowed(shift: Array, turn: Array, half: Array | float, angle: Array) -> tuple[Array, Array]:
    """How much of a shift (..., 3) and of a turn (...) about +Z moves neither of two points farther than FARTHEST.

    The points lie `half` metres to both sides of the middle that is shifted, on a level line at `angle` (...) about +Z.
    The turn comes first: what is askew shows more than what is a little beside its place.
    """
    most = 2 * np.arcsin(np.clip(FARTHEST / (2 * np.asarray(half)), 0, 1))
    turn = np.clip(turn, -most, most)
    across = angle + turn / 2
    moved = np.stack((-np.sin(across), np.cos(across), np.zeros_like(across)), axis=-1)
    moved *= (2 * half * np.sin(turn / 2))[..., None]
    squared = np.maximum(np.sum(shift * shift, axis=-1), 1e-12)
    along = np.abs(np.sum(shift * moved, axis=-1))
    room = np.maximum(FARTHEST**2 - np.sum(moved * moved, axis=-1), 0)
    share = np.clip((np.sqrt(along**2 + squared * room) - along) / squared, 0, 1)
    return share[..., None] * shift, turn


def _seat(seating: Seating, hips: Array, rotations: Array, root: Array) -> Correction:
    """Turn and move the body, in place, so that it sits where it should, as far as the correction goes."""
    count, blend = len(hips), SPREAD * FPS
    first, last = seating.settled, count if seating.left is None else seating.left
    weight = eased(count, first - blend, first, last, last + blend)
    turn = float(wrap_angle(np.array(seating.aim.facing - root[first, 3])))
    raw_cm, raw_deg = _seat_error(seating, hips, rotations, root)
    # The body turns about its hips, under which it sits: that leaves the place as it is.
    off = seating.aim.place - _sitting_place(hips[first], rotations[first])
    off, turned = allowed(off, np.array(turn), TRUNK, root[first, 3])
    yaw = weight * turned
    rotations[:] = multiply(np.broadcast_to(from_yaw(yaw)[:, None], rotations.shape), rotations)
    root[:, 3] += yaw
    shift = weight[:, None] * off
    hips += shift
    root[:, :2] += shift[:, :2]
    return Correction(seating.key, "hips", raw_cm, raw_deg, *_seat_error(seating, hips, rotations, root))


def _sat(one: Correction, seating: Seating, hips: Array, rotations: Array, root: Array) -> Correction:
    """The correction of someone whose hips were moved since."""
    cm, deg = _seat_error(seating, hips, rotations, root)
    return replace(one, cm=cm, deg=deg)


def _seat_error(seating: Seating, hips: Array, rotations: Array, root: Array) -> tuple[float, float]:
    """Centimetres and degrees at the end of sitting down."""
    first = seating.settled
    off = _sitting_place(hips[first], rotations[first]) - seating.aim.place
    turn = float(wrap_angle(np.array(seating.aim.facing - root[first, 3])))
    return 100 * float(np.linalg.norm(off)), float(np.degrees(abs(turn)))


def _held(hold: Hold, before: tuple[Array, Array], after: tuple[Array, Array], lower: Array) -> list[Correction]:
    """How far the palms were off a box when it was taken, and the box off its place when it was put down. before, after
    the correction: joint places (T, J, 3) and world rotations (T, J, 4); lower: (T,) metres by which one stoops.

    Where palms are taken farther than a correction may, so that nothing comes to them by itself, what is told of a
    grasp is what such a correction leaves.
    """

    def meets(frame: int, pose: Array, key: int, what: str) -> Correction:
        wanted, square = grasp_of(hold.handles, pose)
        errors = []
        for places, rotations, down in ((*before, lower[frame]), (*after, 0.0)):
            middle, angle = between_palms(places[frame], rotations[frame])
            turn = float(wrap_angle(np.array(square - angle)))
            errors.append((wanted - middle - [0.0, 0.0, down], turn, angle))
        (off, turn, angle), (end, end_turn, _) = errors
        cm, deg = 100 * float(np.linalg.norm(end)), float(np.degrees(abs(end_turn)))
        if what == "hands":
            half = float(np.linalg.norm(np.array(hold.handles.left) - np.array(hold.handles.right))) / 2
            shift, turned = allowed(off, np.array(turn), half + PALM_THICKNESS, angle)
            cm = max(cm, 100 * float(np.linalg.norm(off - shift)))
            deg = max(deg, float(np.degrees(abs(turn - turned))))
        return Correction(key, what, 100 * float(np.linalg.norm(off)), float(np.degrees(abs(turn))), cm, deg)

    out = [meets(hold.taken, hold.lying, hold.key_taken, "hands")]
    if hold.goal is not None and hold.left is not None and hold.key_left is not None:
        out.append(meets(hold.left - 1, hold.goal, hold.key_left, "box"))
    return out


def _sitting_place(hips: Array, rotations: Array) -> Array:
    """`scene_errands.sitting_place` (3,) of rigid bones: hips (3,), world rotations (J, 4)."""
    turned = np.tile(rotations[0], (len(HIP_JOINTS), 1))
    return sitting_place(hips, hips + rotate(turned, MODEL_SKELETON.offsets[HIP_JOINTS]))


def _tracks(hands: Hands, colliders: dict[str, Collider], count: int, rate: float) -> dict[str, Array]:
    """Poses (T, 7) of all things that were moved."""
    names = sorted({name for moved in hands.tracks for name in moved})
    return {
        name: np.array(
            [
                moved.get(name, pose_at(colliders[name], frame * rate))
                for frame, moved in enumerate(hands.tracks[:count])
            ]
        )
        for name in names
    }


def _looking(places: Array, rotations: Array, hands: Hands, things: dict[str, Array]) -> Array:
    """World rotations (T, J, 4) with the face turned to what is taken, put down or opened, while that is done."""
    count = len(places)
    gazes = [
        (grasp_of(hold.handles, things[hold.name])[0], moment, moment)
        for hold in hands.holds
        for moment in (hold.taken, hold.left)
        if moment is not None
    ]
    gazes += [
        (to_world(grip.place, things[grip.name]), grip.first, min(grip.last, grip.first + round(GAZE[1])))
        for grip in hands.grips
        if grip.name in things
    ]
    weight, target = np.zeros(count), np.zeros((count, 3))
    for place, first, last in gazes:
        mine = eased(count, first - GAZE[0] - GAZE_BLEND, first - GAZE[0], last + GAZE[1], last + GAZE[1] + GAZE_BLEND)
        more = mine > weight
        weight[more], target[more] = mine[more], place[more]
    return look_at(places, rotations, target, weight)


def _missed(
    middle: Array, angle: Array, frame: int, grasp: Carryable, pose: Array, share: Array
) -> tuple[Array, Array]:
    """By how much a box at a pose (7,) is off the middle (T, 3) and angle (T,) between the palms in a frame, metres
    (T, 3) and radians (T,): so much of it as `share` (T,) says."""
    wanted, square = grasp_of(grasp, pose)
    out: Array = share[:, None] * (wanted - middle[frame])
    return out, share * float(wrap_angle(square - angle[frame]))


class _Targets:
    """Where the wrists of a posed body (places (T, J, 3), rotations (T, J, 4)) are to be."""

    def __init__(self, places: Array, rotations: Array) -> None:
        self._places, self._rotations = places, rotations
        self._shift = {side: np.zeros((len(places), 3)) for side in ARMS}
        self._weight = {side: np.zeros(len(places)) for side in ARMS}

    def hold(self, hold: Hold, poses: Array, cuboids: Cuboids, facing: Array, room: Room) -> None:
        """Put the palms on a box while it is held, and the box, in place, where it was taken and where it is left, and
        between them before the body, which faces these angles (T,), and out of other things."""
        count = len(poses)
        last = count if hold.left is None else hold.left
        blend = min(SPREAD * FPS, (last - hold.taken) / 2)
        frames = slice(hold.taken, last)
        middle, angle = between_palms(self._places, self._rotations)
        # As far from the hands as it was in its place, and will be, which fades within a second: else it would be on
        # its way ahead of hands that still come down, or stay behind those that rise.
        away = _faded(count, hold.taken, hold.taken + blend)
        near = away.copy()
        off, turn = _missed(middle, angle, hold.taken, hold.handles, hold.lying, away)
        if hold.goal is not None:
            put = 1 - _faded(count, last - blend, last)
            near = np.maximum(near, put)
            more = _missed(middle, angle, last - 1, hold.handles, hold.goal, put)
            off, turn = off + more[0], turn + more[1]
        poses[frames] = carried_pose(hold.handles, hold.lying, (middle + off)[frames], (angle + turn)[frames])
        free = eased(count, hold.taken, hold.taken + _COMES_FREE, *_until(last, count, hold.goal is not None))
        off = np.zeros((count, 3))
        off[frames] = held_off(poses[frames], cuboids, self._places[frames], facing[frames])
        off *= free[:, None]
        poses[:, PLACE] += off
        aside = self._kept_out(hold, poses, cuboids, facing, room)
        poses[:, PLACE] += aside
        off += aside
        self._press(hold, poses, last, near, off)

    def _kept_out(self, hold: Hold, poses: Array, cuboids: Cuboids, facing: Array, room: Room) -> Array:
        """Metres (T, 3) by which a box is to be moved besides, out of the things around it."""
        count = len(poses)
        last = count if hold.left is None else hold.left
        keys = np.append(np.arange(hold.taken, last - 1, EVERY), last - 1)
        angle = grasp_of(hold.handles, poses)[1]
        carried = Carried.of(poses[keys], cuboids, angle[keys])
        ends = np.stack((hold.lying, hold.lying if hold.goal is None else hold.goal))
        arms = np.zeros((len(keys), 2, 4))
        for number, (side, limb) in enumerate(ARMS.items()):
            upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
            face = to_world(np.array(hold.handles.left if side == "Left" else hold.handles.right), poses[keys])
            wrist = face - palm(self._places[keys], self._rotations[keys], side) + self._places[keys, end]
            arms[:, number, :3] = wrist - self._places[keys, upper]
            arms[:, number, 3] = np.linalg.norm(MODEL_SKELETON.offsets[[middle, end]], axis=1).sum()
        moved = kept_out(
            carried,
            room.around_held(carried, keys, REACH),
            Carried.of(ends, cuboids, grasp_of(hold.handles, ends)[1]),
            self._places[keys],
            facing[keys],
            arms,
            hold.goal is not None,
        )
        out = np.zeros((count, 3))
        if moved.any():
            frames = np.arange(hold.taken, last)
            free = np.stack([np.interp(frames, keys, column) for column in moved.T], axis=1)
            # Mirrored about the ends, the smooth move is still none there, and next to them as large as is needed for
            # hands that sink as they take the box, or are still low as they leave it.
            around = math.ceil(3 * SMOOTH)
            free = np.pad(free, ((around, around), (0, 0)), mode="reflect", reflect_type="odd")
            out[frames] = gaussian(free, SMOOTH)[around:-around]
        return out

    def _press(self, hold: Hold, poses: Array, last: int, near: Array, held: Array) -> None:
        """The palms onto the faces: across the box as far as needed, along them no farther than a correction may.

        near (T,): how much the box is bound to a place, where it lies or will: so much the hands are at it there, as
        far as the arms reach.
        held (T, 3): by how much it is held off the body: the hands go along.
        """
        count, blend = len(poses), _HAND_BLEND * FPS
        weight = eased(count, hold.taken - blend, hold.taken, last - 1, last - 1 + SPREAD * FPS)
        middle, angle = between_palms(self._places, self._rotations)
        wanted, square = grasp_of(hold.handles, poses)
        along, turn = wanted - held - middle, wrap_angle(square - angle)
        half = (to_world(np.array(hold.handles.left), poses) - to_world(np.array(hold.handles.right), poses)) / 2
        size = np.linalg.norm(half, axis=1) + PALM_THICKNESS
        shift, turned = allowed(along, turn, size, angle)
        shift += near[:, None] * (along - shift) + held
        across = angle + turned + near * (turn - turned)
        level = np.stack((np.cos(across), np.sin(across), np.zeros(count)), axis=1)
        for side, sign in (("Left", 1.0), ("Right", -1.0)):
            off = middle + shift + sign * size[:, None] * level - palm(self._places, self._rotations, side)
            # Who lets go takes the hands along, wherever he goes.
            off[last:] = off[last - 1]
            self._add(side, off, weight)

    def stay(self, places: Array, weight: Array) -> None:
        """Keep the wrists where they are at joint places (T, J, 3), and as far from the hips, as much as weight (T,)
        says; arms that would be stretched for it go along with the trunk."""
        slide = self._places[:, 0] - places[:, 0]
        slide[:, 2] = 0.0
        for side, limb in ARMS.items():
            upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
            length = float(np.linalg.norm(MODEL_SKELETON.offsets[[middle, end]], axis=1).sum())
            wrist = places[:, end] + slide
            far = np.linalg.norm(wrist - self._places[:, upper], axis=1) / length
            bent = np.clip((STRETCHED[1] - far) / (STRETCHED[1] - STRETCHED[0]), 0, 1)
            self._add(side, wrist - self._places[:, end], weight * bent)

    def rest(self, seating: Seating, collider: Collider, contacts: Array, rate: float) -> None:
        """Keep the hands that lie on arm rests still, and on them."""
        rests = getattr(collider.handles, "arm_rests", [])
        if not rests:
            return
        count = len(contacts)
        tops = to_world(np.array(rests), pose_at(collider, seating.settled * rate))
        end = count if seating.left is None else seating.left
        for side in ARMS:
            column = CONTACTS.index(side + "Hand")
            wrist = self._places[:, MODEL_SKELETON.index(side + "Hand")]
            for start, stop in runs(without_short_runs(contacts[:, column] > TOUCHES, _SHORTEST, _SHORTEST)):
                if stop <= seating.first or start >= end:
                    continue
                place = wrist[start:stop].mean(0)
                top = tops[np.linalg.norm(tops[:, :2] - place[:2], axis=1).argmin()]
                target = np.array([*place[:2], top[2] + WRIST_ABOVE_REST])
                if np.linalg.norm((top - place)[:2]) > 2 * REST_REACH or abs(target[2] - place[2]) > REST_REACH:
                    continue
                blend = _HAND_BLEND * FPS
                self._add(side, target - wrist, eased(count, start - blend, start, stop - 1, stop - 1 + blend))

    def grip(self, grip: Grip, poses: Array | None) -> None:
        """Keep a hand at the handle of a door while it turns."""
        if poses is None or grip.last <= grip.first:
            return
        blend = _HAND_BLEND * FPS
        handle = to_world(grip.place, poses)
        weight = eased(len(poses), grip.first - blend, grip.first, grip.last, grip.last + blend)
        self._add(grip.side, handle - palm(self._places, self._rotations, grip.side), weight)

    def _add(self, side: str, shift: Array, weight: Array) -> None:
        """Another wish for a hand: the stronger one counts in each frame."""
        more = weight > self._weight[side]
        self._shift[side][more] = shift[more]
        self._weight[side] = np.maximum(self._weight[side], weight)

    def reached(self) -> tuple[Array, Array]:
        """The body with its arms bent so: places and rotations."""
        rotations = self._rotations.copy()
        for side, limb in ARMS.items():
            weight = self._weight[side]
            if not weight.any():
                continue
            upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
            target = self._places[:, end] + weight[:, None] * self._shift[side]
            turned, bent, _ = solve_limb(
                limb, self._places[:, upper], target, rotations[:, upper], rotations[:, middle]
            )
            moved = weight > 0
            # The hand keeps its own direction, so that its palm goes where its wrist goes.
            rotations[moved, upper], rotations[moved, middle] = turned[moved], bent[moved]
        return MODEL_SKELETON.positions(self._places[:, 0], rotations), rotations


def _until(last: int, count: int, put_down: bool) -> tuple[float, float]:
    """Frames up to which, and at which no more, a box that is held up to frame `last` is free to move."""
    return (last - 1 - _COMES_FREE, last - 1) if put_down else (count, count + 1)


def _faded(count: int, start: float, end: float) -> Array:
    """Weight (count,) that is 1 up to frame `start` and falls to 0 at `end`, smoothly."""
    return eased(count, -2, -1, start, end)
