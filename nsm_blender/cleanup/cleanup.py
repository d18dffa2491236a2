# SPDX-License-Identifier: GPL-3.0-or-later
"""From what the NSM predicted to a body with rigid bones (4): feet planted, hips on the seat, palms on the box.

The last correction moves no palm and no part of a sitting trunk farther than 3 cm, by shifting and turning together,
spread over a second; how far they were off before and after it is reported. What it does not reach stays off. Who
would be in something is moved out of it besides, see `body_clear`; what is reported is where one is in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..geometry.colliders import Collider, Placed, Surroundings
from ..geometry.scene_state import pose_at, to_world
from ..models.nsm import FPS
from ..motion.contacts import firm_contacts
from ..motion.easing import eased
from ..motion.foot_lock import plant_feet
from ..motion.rotations import Array, make_continuous
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..rollout.held_objects import (
    Hands,
    grasp_of,
)
from ..rollout.nsm import SceneRecord
from ..rollout.pose import limit_elbows, limit_feet, look_at, pivoted
from .allowed_contacts import Room
from .corrections import Correction, held, resettled, seated
from .foot_contacts import foot_contacts
from .footholds import footholds
from .hand_targets import HandTargets, carrying, gripping, with_wrists
from .kinematics import HIPS
from .seated_feet import keep_feet, lean_back
from .seating import Seating
from .whole_body import Wanted, WholeBody, stood

GAZE = 0.4 * FPS, 0.25 * FPS
"""Frames before the hands take or leave a thing from which the face is turned to it, and after which it is free."""
GAZE_BLEND = 0.7 * FPS
"""Frames in which the face turns there and back."""
_LEGS_MIDDLE, _LEGS_REACH = np.array([0.0, 0.0, 0.4]), 1.1


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
    rotations = with_wrists(record.places, limit_feet(rotations, FPS))
    wanted = pivoted(record.places, rotations)
    contacts = firm_contacts(foot_contacts(record), wanted, FPS)
    keep_feet(record, seatings, contacts, wanted, rotations)
    for seating in seatings:
        out.append(seated(seating, hips, rotations, root))
    by_name = {collider.name: collider for collider in colliders}
    things = _tracks(hands, by_name, count, rate)
    places, planted = _planted(record, hips, rotations, contacts, wanted)
    steps = Surroundings([collider for collider in colliders if collider.role == "climbable"])
    contacts, shifts = footholds(places, contacts, _around(root, steps, rate), float(root[0, 2]))
    if shifts:
        toes = MODEL_SKELETON.indices([side + "Toe" for side in shifts])
        wanted[:, toes] = places[:, toes]
        places, planted = _shifted(shifts, record, hips, rotations, contacts, wanted)
    room = Room(record, hands, colliders, things, rate)
    before = places, planted
    aims = _wanted(room, places, planted, root, contacts, hands, seatings, by_name, things, rate)
    body = WholeBody(places, planted, aims)
    moves = stood(body.displacements(), body.stands)
    places, rotations = body.posed(moves)
    root[:, :2] += moves[:, HIPS][:, :2]
    targets = HandTargets(places, rotations)
    for hold, load in zip(hands.holds, aims.loads, strict=True):
        targets.hold(hold, load.moved(before[0], places), things[hold.name])
    for seating in seatings:
        targets.rest(seating, by_name[seating.aim.thing], record.contacts, rate)
    for grip in hands.grips:
        targets.grip(grip, things.get(grip.name))
    places, rotations = targets.reached()
    rotations = _looking(places, rotations, hands, things)
    places = MODEL_SKELETON.positions(places[:, 0], rotations)
    out = [resettled(one, seating, places[:, 0], rotations, root) for one, seating in zip(out, seatings, strict=True)]
    for hold in hands.holds:
        out += held(hold, before, (places, rotations))
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
        targets=(wanted - ground)[None],
        own_heights=not level,
    )
    return places[0] + ground, turned[0]


def _wanted(
    room: Room,
    places: Array,
    rotations: Array,
    root: Array,
    contacts: Array,
    hands: Hands,
    seatings: Sequence[Seating],
    colliders: dict[str, Collider],
    things: dict[str, Array],
    rate: float,
) -> Wanted:
    """What is wanted of a body with joints at places (T, J, 3) and world rotations (T, J, 4)."""
    stands = {
        side + "Foot": (contacts[:, [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]] > 0).any(axis=1)
        for side in ("Left", "Right")
    }
    out = Wanted(stands, room.obstacles, room.gives(seatings))
    out.by.extend(lean_back(places, rotations, root[:, 3], seatings, colliders, rate))
    for hold in hands.holds:
        at, load = carrying(hold, places, rotations, colliders[hold.name], room.obstacles)
        out.at.extend(at)
        out.loads.append(load)
    for grip in hands.grips:
        if grip.name in things and grip.last > grip.first:
            out.at.append(gripping(grip, places, rotations, things[grip.name]))
    return out


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
