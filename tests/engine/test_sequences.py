# SPDX-License-Identifier: GPL-3.0-or-later
"""What one key leaves behind for the next one: a seat to get up from, a door that is open, a way that failed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nsm_blender.baking.nsm import SceneBake
from nsm_blender.evaluation.nsm_trials import DEVELOPMENT
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.rooms import Room, random_room
from nsm_blender.models.nsm import CONTACTS, OUTPUT
from nsm_blender.motion.filters import runs
from nsm_blender.motion.rotations import Array
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.validation import check

from .puppets import Puppet
from .test_doors import doorway
from .test_task_machine import CHAIR, OPTIONS

SEEDS = range(DEVELOPMENT, DEVELOPMENT + 60, 6)
"""Rooms that nothing was trained on and nothing is reported on."""
WALKS = 2.2
"""Meters a second that no walk of recorded performers exceeds."""


@dataclass(frozen=True)
class Outing:
    """A character of the shipped network sat down on a seat, got up and walked to the other end of the room.

    sat: whether it did. away: seconds from its setting off until it is 0.6 m away, infinite when it never is. stood:
    longest standstill in seconds on the way after that. fastest: m/s of the root over the whole shot.
    """

    sat: bool
    away: float
    stood: float
    fastest: float


@lru_cache(maxsize=1)
def outings() -> list[Outing]:
    """A sequence of keys in each room with a seat."""
    return [outing for seed in SEEDS if (outing := outing_in(random_room(seed))) is not None]


def outing_in(room: Room) -> Outing | None:
    seats = [collider for collider in room.colliders if collider.role == "seat"]
    if not seats:
        return None
    near = room.free[np.argsort(np.linalg.norm(room.free - seats[0].poses[0][:2], axis=1))[3]]
    goals = [Goal("seat", [0.0] * 3, None, seats[0].name), Goal("far", [*room.free[7].tolist(), 0.0])]
    keys = [ActionKey("sit", "seat", hold=0.5), ActionKey("walk", "far")]
    start = [*near.tolist(), 0.0, 0.0]
    shot = Shot("actor", 30.0, 450, keys=keys, goals=goals, colliders=room.colliders, start=start)
    motion = SceneBake(shot).motion()
    sat, walked = motion.meta["keys"]
    speed = np.linalg.norm(np.diff(motion.root[:, :2], axis=0), axis=1) * shot.fps
    if sat["trouble"] or walked["set_off"] is None:
        return Outing(False, math.inf, math.inf, float(speed.max()))
    way = motion.root[walked["set_off"] : walked["arrived"], :2]
    gone = np.linalg.norm(way - way[0], axis=1) > 0.6
    left = int(np.argmax(gone)) if gone.any() else len(gone)
    still = speed[walked["set_off"] + left : walked["arrived"]] < 0.05
    longest = max((stop - first for first, stop in runs(still)), default=0)
    return Outing(True, left / shot.fps if gone.any() else math.inf, longest / shot.fps, float(speed.max()))


def share(happens: list[bool]) -> float:
    return sum(happens) / len(happens)


def test_seats_in_rooms_are_sat_on_and_got_up_from() -> None:
    assert len(outings()) >= 8
    assert share([outing.sat for outing in outings()]) >= 0.8


def test_characters_that_get_up_from_a_seat_are_soon_away() -> None:
    """A seat that stands with its back to the way asks for a turn of up to half a circle first."""
    assert share([outing.away < 3 for outing in outings() if outing.sat]) >= 0.7
    assert share([outing.away < 5 for outing in outings() if outing.sat]) >= 0.9


def test_characters_do_not_stand_undecided_on_their_way() -> None:
    assert share([outing.stood < 1 for outing in outings() if outing.sat]) >= 0.8


def test_characters_walk_no_faster_than_people_do() -> None:
    assert share([outing.fastest < WALKS for outing in outings()]) >= 0.8


def test_a_door_that_is_open_is_left_so_and_the_check_says_it() -> None:
    goals = [Goal("way out", [0.0] * 3, None, "leaf")]
    keys = [ActionKey("open", "way out"), ActionKey("open", "way out")]
    opened = []
    for start in ([0.3, 2.0, 0.0, 0.0], [-0.3, -2.0, 0.0, np.pi]):
        shot = Shot("actor", 30.0, 450, keys=keys, goals=goals, colliders=doorway(), start=start)
        told = [problem for problem in check(shot, ("open",)) if problem.key == 1]
        assert len(told) == 1 and "open by then" in told[0].text and not told[0].fatal
        once, again = SceneBake(shot).motion().meta["keys"]
        if not once["trouble"]:
            opened.append(again["trouble"] == "" and again["done"] - once["done"] < 5)
    assert opened and all(opened)


class Tired(Puppet):
    """Sits down, and cannot walk after that."""

    def predict(self, frame: Array, goal: Array, interaction: Array, environment: Array, phase: float) -> Array:
        out = super().predict(frame, goal, interaction, environment, phase)
        if out[OUTPUT.contact][CONTACTS.index("Hips")] > 0.5:
            self.manners.speed = 0.0
        return out


def test_a_second_try_does_not_lead_straight_through_a_wall() -> None:
    wall = Collider("wall", Cuboids(np.array([[2.0, -4.0, 1.0]]), np.array([[3.0, 0.1, 1.0]])))
    goals = [Goal("on chair", [0.0] * 3, None, "chair"), Goal("behind", [2.0, -5.0, 0.0])]
    keys = [ActionKey("sit", "on chair", hold=0.5), ActionKey("walk", "behind")]
    shot = Shot("actor", 30.0, 900, keys=keys, goals=goals, colliders=[CHAIR, wall], start=[0.0] * 4)
    # Without the assist the character stays where it is.
    options = replace(OPTIONS, without=frozenset({"progress_assist"}))
    _, walked = SceneBake(shot, Tired(), options).motion().meta["keys"]
    left = re.search(r"([0-9.]+) m short of", walked["trouble"])
    assert left is not None and float(left[1]) > 6, "straight on it is 3 m; round the wall's end more than 6"
