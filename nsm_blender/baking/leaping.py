# SPDX-License-Identifier: GPL-3.0-or-later
"""How a leap is aimed: it is rolled out in several ways from the run-up on, and the one in which the feet clear the gap
best is taken."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from ..models.pfnn import FPS
from ..motion.filters import runs
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..planning.path_on_ground import Gap
from ..planning.trajectory import PathCommands
from ..rollout.pfnn import FLYING, Locomotion, Record
from ..rollout.pose import decode, joint_places
from .gaps import BEFORE, BEHIND

_BEGINS = (-0.1, 0.05, 0.2, 0.35, 0.5)
"""Meters before a gap at which the jump may begin: they fall into different phases of a stride."""
_SPEEDS = (1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.1, 2.2)
"""Speeds in m/s of the run-up, which bring other feet to the edge. Of faster runs few leaps are recorded."""
_FARTHER = (0.0, 0.5)
"""m/s that may be added in the air: gaps of more than a meter are not all cleared without."""
_GOOD = 0.15
"""Meters of moved feet, in all, with which a leap is taken at once."""
_SHORTEST_FLIGHT = 0.2
"""Seconds of a flight that is a leap; flights of a run are shorter."""
_HANGING = 0.6
"""Meters of moved feet that a second counts for by which a flight takes longer than a fall: it looks like floating."""
_GRAVITY = 9.81
"""Acceleration of a fall in m/s^2."""
_BALLS = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
_STEPPING = 1.5
"""Speed in m/s over the ground at which a foot steps."""
_LONGEST = 3.0
"""Seconds of a try at most."""
_LANDED = 0.6
"""Meters behind the gap at which a try ends."""
_FRAMES_PER_PIECE = 12
"""Frames of a try that are rolled out at once, about 5 ms."""


def aiming(character: Locomotion, commands: PathCommands, number: int, rotation_reference: Array) -> Iterator[None]:
    """Aim the leap of a number from where the character is, in pieces of some milliseconds."""
    leap, best, first = commands.leaps.leaps[number], math.inf, character.frame
    leap.aimed = True
    last = first + min(round(_LONGEST * FPS), character.room)
    tries = list(product(_BEGINS, _SPEEDS))
    # Neighbors are alike: in a mixed order a good one is found sooner.
    for which in np.random.default_rng(0).permutation(len(tries)):
        begin, speed = tries[which]
        running, runner = commands.fork(), character.fork()
        running.leaps.leaps[number].begin, running.leaps.leaps[number].speed = begin, speed
        yield from _rolling(runner, running, leap.gap.start - begin, last)
        for farther in _FARTHER:
            tried, body = running.fork(), runner.fork()
            tried.leaps.leaps[number].farther = farther
            yield from _rolling(body, tried, leap.gap.end + _LANDED, last)
            cost = _cost(body, first, tried, leap.gap, rotation_reference)
            if cost < best:
                best, leap.begin, leap.speed, leap.farther = cost, begin, speed, farther
            if best < _GOOD:
                return
            yield


def _rolling(body: Locomotion, commands: PathCommands, to: float, last: int) -> Iterator[None]:
    """Roll out up to an arc length or a frame, in pieces."""
    while commands.along < to and body.frame < last:
        body.step(commands.future(body.state))
        if body.frame % _FRAMES_PER_PIECE == 0:
            yield


def _cost(body: Locomotion, first: int, commands: PathCommands, gap: Gap, rotation_reference: Array) -> float:
    """What a rollout from a frame on lacks of a leap over a gap, in meters of moved feet."""
    whole = body.record()
    record = Record(whole.root[first:], whole.y[first:], whole.phase[first:], whole.gait[first:])
    if not len(record.root):
        return math.inf
    hips, rotations, _ = decode(record, rotation_reference)
    places = joint_places(hips, rotations)
    flies = (places[:, _BALLS, 2] > record.root[:, 2:3] + FLYING).all(axis=1)
    flights = [slice(*run) for run in runs(flies) if run[1] - run[0] > _SHORTEST_FLIGHT * FPS]
    short = max(gap.end - commands.along, 0.0)
    hanging = sum(_hanging(hips[flight, 2]) for flight in flights)
    return short + _moved(record, places, commands, gap) + _HANGING * hanging


def _moved(record: Record, places: Array, commands: PathCommands, gap: Gap) -> float:
    """Meters by which the feet have to be moved, in all, to stand beside the gap. places: (T, J, 3)."""
    out = 0.0
    for toe in _BALLS:
        # Labels of contact tell little over a gap, where the ground that is felt is a plank.
        speed = np.linalg.norm(np.gradient(places[:, toe, :2], axis=0), axis=1) * FPS
        low = (places[:, toe, 2] < record.root[:, 2] + FLYING) & (speed < _STEPPING)
        for start, stop in runs(low):
            ball = places[start:stop, toe, :2]
            s = commands.path.project(np.median(ball, axis=0), 0.5 * (gap.start + gap.end))
            out += max(min(s - (gap.start - BEFORE), gap.end + BEHIND - s), 0.0)
    return out


def _hanging(heights: Array) -> float:
    """Seconds by which a flight whose hips are at heights (T,) takes longer than a fall from their top would."""
    top = heights.max()
    falls = math.sqrt(2 * (top - heights[0]) / _GRAVITY) + math.sqrt(2 * (top - heights[-1]) / _GRAVITY)
    return max(len(heights) / FPS - falls, 0.0)
