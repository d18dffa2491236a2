# SPDX-License-Identifier: GPL-3.0-or-later
"""Feet on and over the steps that one climbs: each stands on the floor or on a tread, whichever is meant, and before
risers, not in them; one that goes from one height to another swings up first and then on, or on and then down."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..geometry.colliders import Placed
from ..models.nsm import FPS
from ..motion.filters import gaussian, highest_around, runs
from ..motion.foot_lock import Stances
from ..motion.ik import LEFT_LEG, RIGHT_LEG, Limb, solve_limb
from ..motion.rotations import Array, normalize, rotate
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT

TIP = 0.06
"""Metres from the toe's joint to the tip of the foot."""
BEFORE = 0.02
"""Metres between a riser and the toes of one who stands before it,"""
KNEE_ROOM = 0.1
"""and more, for the knee, before what is higher than"""
KNEE_HIGH = (0.35, 0.6)
"""from none to all of it."""
ON = 0.04
"""Metres from a tread's edge within which no ball of a foot stands."""
FARTHEST = 0.4
"""Metres by which a stance moves over the ground at most."""
CLOSE = 0.6
"""Metres from a step beyond which a stance is left where it is: the ground has no edge there."""
BESIDE = 0.5
"""Metres up or down that count as much as one over the ground, where a foot may stand on the one or the other."""
STEP_DOWN = 0.3
"""Metres down for which one comes to the edge before, or up for which the lower foot does not stay when the body is"""
BEHIND = 0.3
"""metres ahead of it."""
LEVEL = 0.05
"""Metres between two stances that make a step up or down."""
OVER = 0.03
"""Metres by which a sole clears what it swings over."""
SWIFTEST = 60.0
"""m/s^2 of a foot that steps up or down: a quicker one lifts off earlier, or comes down later."""
_RISES = 0.7
"""Share of a swing in which a foot comes up, or in the end down."""
_PEAK = 5.8
"""Acceleration of the smoothest way of a metre in a second."""
FOLDED = 0.36
"""Metres from a hip to its ankle, less than which a leg does not fold well."""
_HELD_BACK = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Shares of a swing that a foot may wait before it goes on,"""
_LIFTED = (0.0, 0.06, 0.12, 0.18, 0.24)
"""metres that it may be lifted more, and"""
_ASIDE = (0.0, 0.08, 0.16)
"""go aside."""
THIGH, SHIN = 0.07, 0.05
"""Metres: radii of a thigh and of a shin."""
JERKY = 150.0
"""m/s^2 of a knee in a step, more than which is avoided."""
_SHARES = np.array([0.1, 0.4, 0.7, 1.0])
_PRICES = np.array([1.0, 2.0, 1.0])
"""What a share of waiting, and a metre of lifting and of going aside cost."""
_WORTH = 20.0
"""Metres of these that a metre of the sole in a step is worth."""
_LEADS = 0.7
"""Cosine to a riser from which a foot points at it."""
_SHORTEST = 8
"""Frames of a stance that are left."""
_TOGETHER = 2
"""Frames that both feet stand at least,"""
_QUICKEST = 16
"""and of a swing that is left."""
_FLAT = 0.03
"""Metres that make another height."""
_AROUND, _EASE = 10, 10
"""Frames before and after an edge in which a foot is lifted, and after and before it stands."""
_LEGS = {"Left": LEFT_LEG, "Right": RIGHT_LEG}
_SIDES = tuple(_LEGS)
_OTHER = dict(zip(_SIDES, reversed(_SIDES), strict=True))


class Footholds:
    """How feet stand on and swing over steps.

    places: (T, J, 3). rotations: (T, J, 4) world. contacts: (T, 4) of CONTACT_JOINTS. around: for each frame, the
    cuboids there that carry a body. floor: height of the ground beside them.
    """

    def __init__(self, places: Array, rotations: Array, contacts: Array, around: list[Placed], floor: float) -> None:
        self.contacts = contacts
        """(T, 4) as they were, but where swings were too quick, or nothing carried the body."""
        left, right = (_Foot(side, places, rotations, contacts, around, floor) for side in _SIDES)
        self._feet = {"Left": left, "Right": right}
        close = np.array([len(placed) > 0 for placed in around])
        for gap in runs(~left.stands & ~right.stands & close):
            later = sorted((left, right), key=lambda foot: foot.stopped(gap[0]))
            any(foot.stays(gap) for foot in reversed(later))
        for one, other in ((left, right), (right, left)):
            one.let_go(other)
        for one, other in ((left, right), (right, left)):
            one.come_to_edges(other)
            one.take_time(other)
        self.contacts = contacts.copy()
        for foot in self._feet.values():
            foot.write(self.contacts)

    def stances(self) -> dict[str, Array]:
        """Metres (T, 3) by which each foot is to move where it stands; 0 between. Sides without any are left out."""
        return _moving({side: foot.stances() for side, foot in self._feet.items()})

    def shifts(self, hips: Array) -> dict[str, Array]:
        """Metres (T, 3) by which the foot of each side is to move, below hips that move by metres (T, 3)."""
        return _moving({side: foot.shift(hips) for side, foot in self._feet.items()})


def _moving(shifts: dict[str, Array]) -> dict[str, Array]:
    return shifts if any(shift.any() for shift in shifts.values()) else {}


class _Foot:
    """One foot among steps: where its stances move, and how it swings between them."""

    def __init__(
        self, side: str, places: Array, rotations: Array, contacts: Array, around: list[Placed], floor: float
    ) -> None:
        self._limb = _LEGS[side]
        self._thigh, self._shin = (rotations[:, MODEL_SKELETON.index(side + part)] for part in ("UpLeg", "Leg"))
        self.soles, self._around = _soles(side, places), around
        self._joint = places[:, MODEL_SKELETON.index(side + "UpLeg")]
        self._outward = self._joint - places[:, MODEL_SKELETON.index(_OTHER[side] + "UpLeg")]
        self._columns = [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]
        close = np.array([len(placed) > 0 for placed in around])
        on = (contacts[:, self._columns] > 0).any(axis=1)
        kept = [(a, b) for a, b in runs(on) if b - a >= _SHORTEST or not close[a:b].any()]
        self.starts, self.stops = np.array([a for a, _ in kept], dtype=int), np.array([b for _, b in kept], dtype=int)
        self._ends = self.stops.copy()
        self.moves = np.zeros((len(kept), 3))
        for number, (start, stop) in enumerate(kept):
            if close[start:stop].any():
                placed = around[start + int(np.argmax(close[start:stop]))]
                self.moves[number] = _foothold(np.median(self.soles[start:stop], axis=0), placed, floor)
        self.toes = np.array([np.median(self.soles[a:b, 1], axis=0) for a, b in kept]).reshape(-1, 3) + self.moves

    @property
    def stands(self) -> Array:
        """Whether it stands, (T,)."""
        out = np.zeros(len(self.soles), dtype=bool)
        for start, stop in zip(self.starts, self.stops, strict=True):
            out[start:stop] = True
        return out

    def stopped(self, frame: int) -> int:
        """The last frame up to this one at which a stance stopped."""
        return int(self.stops[self.stops <= frame].max(initial=-1))

    def stays(self, gap: tuple[int, int]) -> bool:
        """Stand on over a gap of frames, from the last stance before it, if the next swing leaves time; whether it is
        so."""
        before, after = np.flatnonzero(self.stops <= gap[0]), np.flatnonzero(self.starts >= gap[1])
        stop = gap[1] + _TOGETHER
        if not len(before) or (len(after) and self.starts[after[0]] < stop + _QUICKEST):
            return False
        self.stops[before[-1]] = stop
        return True

    def let_go(self, other: _Foot) -> None:
        """Leave the ground below when the body has gone on over the other foot, above."""
        carried = other.stands
        for number in range(len(self.starts) - 1):
            start, stop = int(self.starts[number]), int(self.stops[number])
            if self.toes[number + 1, 2] - self.toes[number, 2] < STEP_DOWN:
                continue
            behind = self._joint[start:stop, :2] - self.soles[start:stop, 0, :2] - self.moves[number, :2]
            left = (np.linalg.norm(behind, axis=1) > BEHIND) & carried[start:stop]
            left[:_SHORTEST] = False
            if left.any() and left[-1]:
                self.stops[number] = start + int(np.flatnonzero(~left)[-1]) + 1

    def come_to_edges(self, other: _Foot) -> None:
        """Bring a foot that carries the body while the other steps down to the edge, as far as it may go."""
        for number in range(len(self.starts) - 1):
            here, way = self.toes[number], self.toes[number + 1] - self.toes[number]
            placed = self._around[int(self.stops[number]) - 1]
            landed = (other.starts > self.starts[number]) & (other.starts < self.stops[number] + _QUICKEST)
            lower = landed & (other.toes[:, 2] < here[2] - STEP_DOWN)
            if way[2] < -STEP_DOWN and lower.any() and len(placed):
                step = _ahead(placed, here, way[:2]) * normalize(way[:2])
                self.moves[number, :2] += step
                self.toes[number, :2] += step

    def take_time(self, other: _Foot) -> None:
        """Let swings up and down last, as long as the other foot stands."""
        carried = other.stands
        for number in range(len(self.starts) - 1):
            stop, start = int(self.stops[number]), int(self.starts[number + 1])
            rise = abs(self.toes[number + 1, 2] - self.toes[number, 2])
            if rise < LEVEL:
                continue
            wanted = np.sqrt(_PEAK * rise / SWIFTEST) * FPS / _RISES
            while start - stop < wanted and stop - self.starts[number] > _SHORTEST and carried[stop - 1]:
                stop -= 1
            while start - stop < wanted and self.stops[number + 1] - start > _SHORTEST and carried[start]:
                start += 1
            self.stops[number], self.starts[number + 1] = stop, start

    def write(self, contacts: Array) -> None:
        """Into contacts (T, 4), in place: who stands on stands on his toes."""
        contacts[:, self._columns] *= self.stands[:, None]
        for stop, end in zip(self.stops, self._ends, strict=True):
            contacts[end:stop, self._columns] = [0, 1]

    def stances(self) -> Array:
        """Metres (T, 3) by which it moves where it stands."""
        out = np.zeros((len(self.soles), 3))
        columns = self.starts, self.stops, self._ends, self.moves, self.toes
        for start, stop, end, move, toe in zip(*columns, strict=True):
            out[start:stop] = move
            # Where the leg was too short for the ground, the hips are to come down to it.
            lowest = self.soles[start:stop, :2, 2].min(axis=1) + move[2] - toe[2]
            out[start:stop, 2] -= np.where(lowest > _FLAT, lowest, 0) if move.any() else 0
            if stop > end:
                out[end:stop] += self.soles[end - 1, 1] - self.soles[end:stop, 1]
        return out

    def shift(self, hips: Array) -> Array:
        """Metres (T, 3) by which it moves, below hips that move by metres (T, 3)."""
        out, stands = self.stances(), self.stands
        Stances(stands[None]).glide(out)
        for number in range(len(self.starts) - 1):
            swing = np.arange(self.stops[number] - 1, self.starts[number + 1] + 1)
            rise = self.toes[number + 1, 2] - self.toes[number, 2]
            placed = self._around[int(swing[len(swing) // 2])]
            if abs(rise) > LEVEL and len(placed):
                ends = self.soles[swing[[0, -1]], 1] + out[swing[[0, -1]]]
                out[swing] = self._stepped(swing, ends, placed, hips[swing])
        # What is still in the way of a level swing, which keeps its start and its end.
        through = np.array(
            [_sunk(near, sole) for near, sole in zip(self._around, self.soles + out[:, None], strict=True)]
        )
        lift = gaussian(highest_around(np.where(stands, 0.0, through.clip(0.0)), _AROUND), _AROUND / 2)
        out[:, 2] += lift * _apart(stands)
        return out

    def _stepped(self, swing: Array, ends: Array, placed: Placed, hips: Array) -> Array:
        """Metres (F, 3) to move a foot that steps up or down, from the last frame of a stance to the first of the next,
        from and to a toe's places (2, 3): the way that waits the least of those on which the leg touches nothing, does
        not fold too much, and whose knee comes along smoothly."""
        share, soles = np.linspace(0, 1, len(swing)), self.soles[swing]
        aside = normalize(self._outward[swing] * [1, 1, 0]) * (4 * share * (1 - share))[:, None] ** 2
        tried = np.array(list(product(_HELD_BACK, _LIFTED, _ASIDE)))
        shift = (
            np.array([_way(ends[0], ends[1], share, wait, lift) + out * aside for wait, lift, out in tried])
            - soles[:, 1]
        )
        moved = soles + shift[:, :, None]
        sunk = (_sunk(placed, moved) + OVER * np.sin(np.pi * share)).max(axis=1).clip(0)
        hip = self._joint[swing] + hips
        ankle = moved[:, :, 0] + [0, 0, ANKLE_HEIGHT]
        knee, end = _bent(self._limb, np.broadcast_to(hip, ankle.shape), ankle, self._thigh[swing], self._shin[swing])
        folds = (FOLDED - np.linalg.norm(ankle - hip, axis=-1)).max(axis=1).clip(0)
        thigh, shin = (a + _SHARES[:, None, None, None] * (b - a) for a, b in ((hip, knee), (knee, end)))
        deep = np.maximum(_depth(placed, thigh, THIGH), _depth(placed, shin, SHIN)).max(axis=(0, 2))
        jerk = np.linalg.norm(np.diff(knee, n=2, axis=1), axis=-1).max(axis=1) * FPS**2
        cost = tried @ _PRICES + _WORTH * (sunk + folds + deep) + (jerk / JERKY - 1).clip(0)
        return np.asarray(shift[int(cost.argmin())])


def _bent(limb: Limb, hip: Array, ankle: Array, thigh: Array, shin: Array) -> tuple[Array, Array]:
    """Knees and ankles (C, F, 3) of a leg that reaches from hips for ankles (C, F, 3). thigh, shin: (F, 4) world."""
    shape = (*ankle.shape[:2], 4)
    thigh, _, end = solve_limb(limb, hip, ankle, np.broadcast_to(thigh, shape), np.broadcast_to(shin, shape))
    bone = np.broadcast_to(MODEL_SKELETON.offsets[MODEL_SKELETON.index(limb.middle)], ankle.shape)
    return hip + rotate(thigh, bone), end


def _depth(placed: Placed, points: Array, radius: float) -> Array:
    """Metres (...) by which balls around points (..., 3) are in things."""
    away = placed.distance(points.reshape(-1, 3)).reshape(points.shape[:-1])
    return np.asarray(np.maximum(radius - away, 0))


def _soles(side: str, places: Array) -> Array:
    """(T, 3, 3): under the ankle, under the toe's joint and at the tip of a foot."""
    ankle, toe = (places[:, MODEL_SKELETON.index(side + part)] for part in ("Foot", "Toe"))
    along = toe - ankle
    along[:, 2] = 0
    tip = toe + TIP * along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-6)
    out = np.stack((ankle, toe, tip), axis=1)
    out[..., 2] -= [ANKLE_HEIGHT, TOE_HEIGHT, TOE_HEIGHT]
    return out


def _foothold(sole: Array, placed: Placed, floor: float) -> Array:
    """By how much (3,) a sole (3, 3) moves to stand on the floor or on a tread, whichever is nearer."""
    best, least = np.zeros(3), np.inf
    height = float(sole[1, 2])
    tops = placed.centre[:, 2] + placed.half[:, 2]
    if min(float(np.linalg.norm(_onto(placed, number, sole[1, :2]))) for number in range(len(placed))) > CLOSE:
        return best
    for number in range(-1, len(placed)):
        top = floor if number < 0 else float(tops[number])
        onto = np.zeros(2) if number < 0 else _onto(placed, number, sole[1, :2])
        aside = onto + _beside(placed, sole[:, :2] + onto, top)
        far = float(np.linalg.norm(aside))
        cost = far * BESIDE + abs(top - height)
        if cost < least and far <= FARTHEST:
            best, least = np.append(aside, top - height), cost
    return best


def _onto(placed: Placed, number: int, place: Array) -> Array:
    """The shortest way (2,) from a place (2,) to where a cuboid carries the ball of a foot."""
    turn, half = placed.rotation[number][:2, :2], placed.half[number, :2]
    local = (place - placed.centre[number, :2]) @ turn
    room = np.maximum(half - ON, 0)
    out: Array = turn @ (np.clip(local, -room, room) - local)
    return out


def _ahead(placed: Placed, toe: Array, way: Array) -> float:
    """Metres that a toe (3,) may go on a way (2,) on what it stands on, to where it is at the edge."""
    tried = np.arange(0.0, FARTHEST / 2, 0.02)
    points = toe[:2] + tried[:, None] * normalize(way)
    on = _tops(placed, points + (ON + BEFORE / 2) * normalize(way)) > toe[2] - _FLAT
    return float(tried[: int(np.argmin(np.append(on, False)))].max(initial=0.0))


def _beside(placed: Placed, sole: Array, level: float) -> Array:
    """The shortest way (2,) of a sole (3, 2) that stands at a level out of what rises from there."""
    out = np.zeros(2)
    for rotation, centre, half in zip(placed.rotation, placed.centre, placed.half, strict=True):
        rise = centre[2] + half[2] - level
        if rise < _FLAT:
            continue
        turn = rotation[:2, :2]
        local = (sole + out - centre[:2]) @ turn
        # Metres to go to be out over the low and over the high side of each axis, more where the knee leads.
        past = np.stack((local.max(axis=0) + half[:2], half[:2] - local.min(axis=0))) + BEFORE
        leads = normalize(local[2] - local[0]) * [[1], [-1]] > _LEADS
        past += KNEE_ROOM * leads * np.clip((rise - KNEE_HIGH[0]) / (KNEE_HIGH[1] - KNEE_HIGH[0]), 0, 1)
        if past.min() > 0:
            high, axis = np.unravel_index(int(past.argmin()), past.shape)
            step = np.zeros(2)
            step[axis] = past[high, axis] if high else -past[high, axis]
            out = out + turn @ step
    return out


def _tops(placed: Placed, points: Array) -> Array:
    """Heights (...) of the tops under points (..., 2); -inf beside them."""
    out = np.full(points.shape[:-1], -np.inf)
    for rotation, centre, half in zip(placed.rotation, placed.centre, placed.half, strict=True):
        on = (np.abs((points - centre[:2]) @ rotation[:2, :2]) < half[:2] + BEFORE / 2).all(axis=-1)
        out[on] = np.maximum(out[on], centre[2] + half[2])
    return out


def _sunk(placed: Placed, soles: Array) -> Array:
    """Metres (...) by which soles (..., 3, 3) are too low over what is under them; -inf over nothing."""
    out: Array = (_tops(placed, soles[..., :2]) - soles[..., 2]).max(axis=-1)
    return out


def _way(first: Array, last: Array, share: Array, wait: float, lift: float) -> Array:
    """Places (F, 3) of a toe from one to another at shares (F,) of a swing: up and then on, or on and then down."""
    if last[2] > first[2]:
        on, up = _smooth((share - wait) / (1 - wait)), _smooth(share / _RISES)
    else:
        on, up = _smooth(share / (1 - wait)), _smooth((share - 1 + _RISES) / _RISES)
    out = first + on[:, None] * (last - first)
    out[:, 2] = first[2] + up * (last[2] - first[2]) + lift * (4 * share * (1 - share)) ** 2
    return np.asarray(out)


def _smooth(t: Array) -> Array:
    """From 0 to 1 with neither speed nor acceleration at both ends."""
    t = np.clip(t, 0, 1)
    out: Array = t**3 * (10 + t * (6 * t - 15))
    return out


def _apart(standing: Array) -> Array:
    """(T,) rising from 0 at a stance to 1 some frames from it."""
    frames, every = np.flatnonzero(standing), np.arange(len(standing))
    if not len(frames):
        return np.ones(len(standing))
    after = np.searchsorted(frames, every)
    behind, ahead = frames[np.maximum(after - 1, 0)], frames[np.minimum(after, len(frames) - 1)]
    away = np.minimum(np.abs(every - behind), np.abs(every - ahead))
    out: Array = _smooth(away / _EASE)
    return out
