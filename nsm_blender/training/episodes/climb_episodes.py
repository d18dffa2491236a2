# SPDX-License-Identifier: GPL-3.0-or-later
"""Episodes of climbing steps and platforms of many heights, and of coming down again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from ...geometry.colliders import Collider, Cuboids, Surroundings
from ...geometry.roles import Climbable
from ...models.nsm import ACTIONS, CONTACTS, FPS
from ...motion.rotations import Array
from ...motion.skeleton import MODEL_SKELETON
from .climbing import STEEPEST, Flight
from .clutter import clutter
from .correction import climbed
from .episode import DEEPEST, Episode, Fault, Goals, penetration, unnatural
from .pool import Pool
from .track import Track, joined

_FACTORS = (0.65, 1.4)
"""Factors between which the recorded heights of the steps are scaled."""
_HIGHEST = 1.0
"""Largest height in meters of the top."""
_ON_HANDS_AND_KNEES = (0.66, 0.96)
"""Lowest and highest top in meters that is climbed on hands and knees; people were recorded on one of 0.79 m."""
_KNEELING = 0.5
"""Share of the episodes that climb on hands and knees, where such a climb was recorded."""
_BEYOND = (0.25, 1.0)
"""Meters that the last tread goes on beyond the feet, from the least to the most."""
_BESIDE = (0.25, 0.7)
"""Meters that the steps go on to either side of the feet, from the least to the most."""
_HOLLOW = 0.6
"""Share of the episodes whose treads are boards with something under their edges, as most that people build are: what
the environment sensor sees of them is hollow."""
_BOARD = (0.03, 0.1)
"""Meters that such a board is thick, from the least to the most."""
_LEG = (0.04, 0.1)
"""Meters that the legs or panels under it are thick, from the least to the most."""
_ON_TOP = 0.6
"""Least length in meters of the platform on which a way ends."""
_LANDING = 0.35
"""Meters from the last edge to the landing."""
_TOES = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
_TOES_INSIDE = 0.03
"""Share of the frames in which a toe may be in a tread, since soles are round and edges sharp."""


def climb_episode(pool: Pool, flights: Sequence[Flight], rng: np.random.Generator, name: str) -> Episode | Fault:
    """Make an episode from a random template on steps of a random height, or why it is not good enough."""
    high = rng.random() < _KNEELING
    flights = [flight for flight in flights if flight.on_hands_and_knees == high] or flights
    flight = flights[int(rng.integers(len(flights)))]
    flight = flight.mirrored() if rng.random() < 0.5 else flight
    top, once = float(flight.heights[-1]), float(np.diff(flight.heights).max())
    low, most = _FACTORS[0], min(_FACTORS[1], _HIGHEST / top, STEEPEST / once)
    if flight.on_hands_and_knees:
        low, most = _ON_HANDS_AND_KNEES[0] / top, _ON_HANDS_AND_KNEES[1] / top
    flight = flight.scaled(float(rng.uniform(low, most)))
    left, right = (float(value) for value in rng.uniform(*_BESIDE, size=2))
    treads = flight.treads(float(rng.uniform(*_BEYOND)), (left, right))
    core, start = flight.track, max(flight.climbing[0][0] - round(float(rng.uniform(0.3, 1.5)) * FPS), 0)
    core = core.cut(start, len(core) - 2)
    obstacles = Surroundings([Collider("steps", treads)]).at(0)
    approach, _ = pool.before(core, float(rng.uniform(1.5, 3.5)), rng, obstacles, far=0.8)
    seconds = float(rng.uniform(1.5, 3.0))
    if flight.last_level:
        departure, treads = _along_the_top(pool, core, flight, treads, seconds, rng)
    else:
        departure, _ = pool.after(core, seconds, rng, obstacles)
    track = joined([approach, core, departure], own_heights=True)
    spans = [(a - start + len(approach), b - start + len(approach)) for a, b in flight.climbing]
    actions = track.actions.copy()
    for first, last in spans:
        actions[first:last] = np.eye(len(ACTIONS))[ACTIONS.index("climb")]
    track = replace(track, actions=actions)
    collider = Collider(f"{name} steps", treads, role="climbable", handles=_handles(treads))
    if flight.on_hands_and_knees:
        track = climbed(track, collider)
    fault = _fault(track, collider)
    if fault is not None:
        return fault
    touching = np.zeros((len(track), 3), dtype=np.float32)
    if flight.on_hands_and_knees:
        for hand in flight.hands:
            frames = slice(hand.start - start + len(approach), hand.stop - start + len(approach))
            touching[frames, CONTACTS.index(hand.side + "Hand") - 2] = 1
    if rng.random() < _HOLLOW:
        collider = replace(collider, cuboids=hollow(treads, rng))
    colliders = [collider, *clutter(track, [collider], rng)]
    # Feet tell no phase while the knees kneel.
    acyclic = tuple(spans) if flight.on_hands_and_knees else ()
    return Episode(name, "climb", (flight.subject,), track, acyclic, Goals.steered(len(track)), touching, colliders)


def _along_the_top(
    pool: Pool, core: Track, flight: Flight, treads: Cuboids, seconds: float, rng: np.random.Generator
) -> tuple[Track, Cuboids]:
    """What follows on the platform on which the way ends, and the treads with that platform under it."""
    top = np.array([0.0, 0.0, flight.heights[flight.last_level]])
    floor = replace(core, hips=core.hips - top)
    departure, _ = pool.after(floor, seconds, rng, far=_ON_TOP, along=np.array([0.0, -1.0]))
    places = departure.positions()[:, _TOES, :2].reshape(-1, 2)
    center, half = treads.center.copy(), treads.half.copy()
    low, high = center[-1] - half[-1], center[-1] + half[-1]
    low[:2] = np.minimum(low[:2], places.min(0) - _BESIDE[0])
    # The near edge stays where the feet came up.
    high[0] = max(high[0], places[:, 0].max() + _BESIDE[0])
    center[-1], half[-1] = (low + high) / 2, (high - low) / 2
    return replace(departure, hips=departure.hips + top), Cuboids(center, half)


def hollow(treads: Cuboids, rng: np.random.Generator) -> Cuboids:
    """The same tops (N, 3) as boards on four legs each, or on panels along two sides."""
    board, leg = rng.uniform(*_BOARD) / 2, rng.uniform(*_LEG) / 2
    reach = rng.permutation([0, 1]) if rng.random() < 0.5 else None
    center, half = [], []
    for middle, size in zip(treads.center, treads.half, strict=True):
        thick, thin = min(board, size[2]), np.minimum(leg, size[:2])
        center.append(middle + np.array([0.0, 0.0, size[2] - thick]))
        half.append([*size[:2], thick])
        under = np.array([0.0, 0.0, -thick])
        for x, y in product((-1, 1), repeat=2):
            beside, support = np.array([x, y]) * (size[:2] - thin), thin.copy()
            if reach is not None:
                # A panel goes along the whole side: that of the other end is the same one.
                if (x, y)[reach[0]] > 0:
                    continue
                beside[reach[0]], support[reach[0]] = 0.0, size[reach[0]]
            center.append(middle + under + np.array([*beside, 0.0]))
            half.append([*support, size[2] - thick])
    return Cuboids(np.array(center), np.array(half))


def _handles(treads: Cuboids) -> Climbable:
    """The last edge, climbed along -Y."""
    center, half = treads.center[-1], treads.half[-1]
    edge = np.array([center[0], center[1] + half[1], center[2] + half[2]])
    landing = edge - np.array([0.0, min(_LANDING, half[1]), 0.0])
    return Climbable(edge.tolist(), [0.0, -1.0, 0.0], landing.tolist(), float(2 * half[0]))


def _fault(track: Track, steps: Collider) -> Fault | None:
    if (fault := unnatural(track)) is not None:
        return fault
    around, positions = Surroundings([steps]), track.positions()
    if (value := float(penetration(positions, around, range(0, len(track), 3)).max())) > DEEPEST:
        return Fault("the body enters the steps", value)
    inside: Array = around.at(0).distance(positions[:, _TOES].reshape(-1, 3)) == 0
    if (value := float(inside.mean())) > _TOES_INSIDE:
        return Fault("the feet enter the steps", value)
    return None
