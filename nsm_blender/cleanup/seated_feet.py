# SPDX-License-Identifier: GPL-3.0-or-later
"""A body that sits: its feet stay on the ground where they came to stand, until getting up; its back leans on what is
behind it.

The network blends recordings of people who sat for long and crossed their legs; what comes out is a leg that hangs in
the air with its knee turned out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..geometry.body import OWNERS, bone_points, radii_of
from ..geometry.colliders import Collider, Placed, Surroundings
from ..models.nsm import ACTIONS, CONTACTS, FPS
from ..motion.easing import eased, smoothstep
from ..motion.filters import runs
from ..motion.root import direction
from ..motion.rotations import Array, from_exponential_map, rotate, slerp
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..rollout.held_objects import TOUCHES
from ..rollout.nsm import SceneRecord
from .kinematics import HIPS, PELVIS, SIZE, Body
from .seating import HIP_JOINTS, Seating
from .terms import By

STEPS = round(0.5 * FPS)
"""Frames before touching the seat in which a foot must have stood to be kept where it stood, frames of getting up
within which a foot that hung is down again, and frames in which a foot that was kept comes back to its own path."""
STAYS = 0.15
"""Meters from there within which it is not lifted then;"""
STEP = round(0.25 * FPS)
"""frames that it is lifted for, else."""
FARTHEST_BACK, SLIDES = np.radians(30), 0.16
"""Radians by which a trunk leans back at most, and metres that the hips slide back on a deep seat meanwhile: what is
farther behind them is no backrest of this place."""
UPRIGHT = 0.5
"""Share of the way back to a backrest after which the hips slide, too."""
LEANS_IN, LEANS_OUT = 1.2 * FPS, 0.5 * FPS
"""Frames in which a body that sits leans back, and sits up again when it is told to get up."""
PRESSES = 0.01
"""Metres by which a back presses into what it leans on."""
KEEPS = 0.2
"""Share of a firm constraint with which hips keep to their place on a seat, and a back to its backrest: shins and arms
come out of the seat first."""
_TRIED = np.linspace(0.0, 1.0, 41)
_BACK, _SHINS = np.isin(OWNERS, ["Hips", "Neck"]), np.isin(OWNERS, ["LeftLeg", "RightLeg"])
_SIT, _HIPS = ACTIONS.index("sit"), CONTACTS.index("Hips")


def keep_feet(record: SceneRecord, seatings: Sequence[Seating], contacts: Array, wanted: Array, turned: Array) -> None:
    """Let both feet stand from when the hips touch the seat, in place.

    contacts: (T, 4) of CONTACT_JOINTS. wanted: (T, J, 3) joint places that the toes should meet. turned: (T, J, 4)
    world rotations.
    """
    for seating in seatings:
        last = len(contacts) if seating.left is None else seating.left
        touching = (record.contacts[:, _HIPS] > TOUCHES) & (record.actions[:, _SIT] > TOUCHES)
        before = np.flatnonzero(~touching[seating.first : seating.settled])
        touch = seating.first + (int(before[-1]) + 1 if len(before) else 0)
        for side in ("Left", "Right"):
            _keep(side, (touch, seating.settled, last), contacts, wanted, turned)


def lean_back(
    places: Array,
    rotations: Array,
    facing: Array,
    seatings: Sequence[Seating],
    colliders: dict[str, Collider],
    rate: float,
    radii: Sequence[float] = (),
) -> list[By]:
    """Displacements that keep the hips on their seats, and bring the back to a backrest, while the body sits. The feet
    stay.

    places: (T, J, 3) joints of a body that faces angles (T,). rate: collider poses per frame. radii: meters of the
    capsules of another body than the model's.
    """
    count = len(places)
    out = []
    for seating in seatings:
        if not seating.lean:
            continue
        first, last = seating.settled, count - 1 if seating.left is None else seating.left
        at = np.full(len(_TRIED), min(first + round(LEANS_IN), last))
        seat = Surroundings([colliders[seating.aim.thing]]).at(float(at[0]) * rate)
        tried = np.zeros((len(_TRIED), SIZE))
        hips, tried[:, PELVIS] = _leaning(places[at], facing[at], _TRIED)
        tried[:, HIPS] = hips - places[at, 0]
        leans = _to_backrest(Body(places[at], rotations[at]).posed(tried)[0], seat, radii_of(radii))
        share = eased(count, first, first + LEANS_IN, last if seating.left is not None else count, last + LEANS_OUT)
        if not leans:
            # Hips keep to their place on the seat, but not where they would be in something.
            out.append(By(HIPS, np.zeros((count, 3)), KEEPS * (share > 0)))
            continue
        hips, tilt = _leaning(places, facing, share * leans)
        out += [By(HIPS, hips - places[:, 0], KEEPS * (share > 0)), By(PELVIS, tilt, KEEPS * (share > 0))]
    return out


def _leaning(places: Array, facing: Array, way: Array) -> tuple[Array, Array]:
    """Hips (F, 3) and rotation vectors (F, 3) of a body that leans back about its hip joints, and slides, by shares
    (F,) of the farthest."""
    ahead = np.append(direction(facing), np.zeros((len(facing), 1)), axis=1)
    tilt = -FARTHEST_BACK * way[:, None] * np.cross([0.0, 0.0, 1.0], ahead)
    middle = places[:, HIP_JOINTS].mean(axis=1)
    hips = middle + rotate(from_exponential_map(tilt), places[:, 0] - middle)
    return hips - SLIDES * np.maximum(way - UPRIGHT, 0)[:, None] / (1 - UPRIGHT) * ahead, tilt


def _to_backrest(places: Array, seat: Placed, radii: Array) -> float:
    """The share of _TRIED at which a trunk touches a thing, or earlier the shins do; 0 where the trunk touches nothing
    on its way. places: (N, J, 3) joints at these. radii: (P,) of the body's capsules at `bone_points`."""
    points = bone_points(places)
    away = seat.distance(points.reshape(-1, 3)).reshape(len(places), -1)
    deep = radii - away
    touches = deep > np.maximum(deep[0], 0) + PRESSES
    if not touches[:, _BACK].any():
        return 0.0
    return float(_TRIED[max(int(touches[:, _BACK | _SHINS].any(axis=1).argmax()) - 1, 0)])


def _keep(side: str, spans: tuple[int, int, int], contacts: Array, wanted: Array, turned: Array) -> None:
    """One foot. spans: frames at which the hips touch the seat, at which one sits, and of getting up."""
    touch, settled, last = spans
    columns = [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]
    leg = MODEL_SKELETON.indices([side + part for part in ("UpLeg", "Leg", "Foot", "Toe")])
    stances = runs(contacts[:, columns].any(axis=1))
    down = [(start, stop) for start, stop in stances if start <= settled and stop > touch - STEPS]
    if not down:
        return
    # The stance at the touch, or the next one; else the one before it.
    start, stop = next(((a, b) for a, b in down if b > touch), down[-1])
    kept = min(max(start, touch), stop - 1)
    toe = leg[-1]
    contacts[kept:last, columns] = 1
    start, end = next(((a, b) for a, b in stances if b > last and a < last + STEPS), (last, last))
    there = wanted[max(start, last) : end, toe, :2]
    if len(there) and np.linalg.norm(there.mean(axis=0) - wanted[kept, toe, :2]) < STAYS:
        contacts[last:end, columns[1]] = 1
    else:
        # It stands elsewhere next, and steps there.
        end = last
        contacts[last : last + STEP, columns] = 0
    after = min(next((a for a, b in stances if a > end or b > end + STEP), len(wanted)), end + STEPS)
    after = max(after, min(end + STEP, len(wanted)))
    away = wanted[kept, toe] - wanted[end - 1, toe]
    wanted[kept:end, toe] = wanted[kept, toe]
    wanted[end:after, toe] += (1 - _risen(after - end))[:, None] * away
    # The leg, too, comes back to its own way of bending within that time at least.
    free = max(end, min(last + STEPS, len(turned)))
    own = turned[last:free, leg].copy()
    turned[kept:free, leg] = turned[kept, leg]
    share = np.broadcast_to(_risen(len(own))[:, None], own.shape[:2])
    turned[last:free, leg] = slerp(turned[last:free, leg], own, share)


def _risen(count: int) -> Array:
    """(count,) rising from near 0 to 1, smoothly."""
    return smoothstep(np.arange(1, count + 1) / max(count, 1))
