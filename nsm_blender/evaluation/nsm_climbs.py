# SPDX-License-Identifier: GPL-3.0-or-later
"""Climbs on hands and knees: on unseen platforms, solid ones and boards on legs, that are too high for the legs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from ..baking.nsm import SceneBake
from ..geometry.body import depth
from ..geometry.colliders import Collider, Surroundings
from ..geometry.furniture import Piece, held_out, make
from ..geometry.roles import Climbable
from ..models.nsm import FPS
from ..models.nsm_predictor import Predictor
from ..motion.motion import Motion
from ..motion.root import angle_of
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot
from ..tasks.climb import BY_LEGS
from .nsm_bodies import rollout_places
from .nsm_trials import DEVELOPMENT, Figures, Log, random_start

COUNT = 40
"""Number of cases."""
HIGHEST = 0.96
"""Height in meters of the highest platform; people were recorded on 0.79 m, and trained on is up to here."""
SECONDS = 18.0
"""Time of a shot: to the platform at most 4 s, up 6 s, and 4 s of standing there."""
LEANS, KNEELS = 0.2, 0.16
"""Meters over the top up to which the wrist of a hand is that leans on it, and a knee that kneels."""
KNELT = 0.5
"""Seconds of a knee on the top from which it knelt, and was not drawn past it."""
_EVERY = 3
"""Frames between two measurements of the depth."""
_WRISTS = MODEL_SKELETON.indices(["LeftHand", "RightHand"])
_KNEES = MODEL_SKELETON.indices(["LeftLeg", "RightLeg"])
_TOES = MODEL_SKELETON.indices(["LeftToe", "RightToe"])


@dataclass(frozen=True)
class Ascent:
    """What became of a climb. height: meters of the platform. done: whether the character stands on it. leaning,
    kneeling: seconds with a hand on the top, and with a knee. going_up: seconds from the first hand on the top until
    both feet are over it. raw_depth_cm, depth_cm: deepest centimeters of the body in it before and after the
    clean-up, arms left out as the hands lie on it."""

    height: float
    done: bool
    leaning: float
    kneeling: float
    going_up: float
    raw_depth_cm: float
    depth_cm: float

    @property
    def on_hands_and_knees(self) -> bool:
        """Whether hands leaned and a knee knelt on the top."""
        return self.leaning > 0 and self.kneeling >= KNELT


def platforms(number: int, development: bool = False) -> list[Piece]:
    """Unseen platforms that are too high for the legs."""
    out: list[Piece] = []
    seeds = count(DEVELOPMENT, 5) if development else (seed for seed in count() if held_out(seed))
    while len(out) < number:
        piece = make("platform", next(seeds))
        assert isinstance(piece.handles, Climbable)
        if BY_LEGS < piece.handles.edge[2] <= HIGHEST:
            out.append(piece)
    return out


def climb_shot(number: int, development: bool = False) -> Shot:
    """From somewhere within 3 m, looking anywhere, on a platform."""
    rng = np.random.default_rng([79, number, int(development)])
    piece = platforms(number + 1, development)[number]
    assert isinstance(piece.handles, Climbable)
    collider = Collider(piece.kind, piece.boxes, role="climbable", handles=piece.handles, also=list(piece.also))
    front = float(angle_of(-np.array(piece.handles.facing[:2])))
    start = random_start(collider, np.array(piece.handles.edge[:2]), front, rng)
    goal = Goal("goal", list(piece.handles.landing), collider=collider.name)
    return Shot("climb", FPS, round(SECONDS * FPS), keys=[ActionKey("climb", "goal")], goals=[goal],
                colliders=[collider], start=start)  # fmt: skip


def ascents(network: Predictor, numbers: Sequence[int], development: bool = False) -> list[Ascent]:
    """Carry out cases of these numbers."""
    out = []
    for number in numbers:
        shot = climb_shot(number, development)
        bake = SceneBake(shot, network)
        motion = bake.motion()
        out.append(ascent(shot, motion, rollout_places(bake.record(), motion)))
    return out


def ascent(shot: Shot, motion: Motion, raw: Array) -> Ascent:
    """The measures of a shot's one key. raw: joint places (T, J, 3) of the rollout at the frames of the motion."""
    (thing,) = shot.colliders
    middle, half = thing.cuboids.center, thing.cuboids.half
    low, high = (middle - half).min(0), (middle + half).max(0)
    places = motion.positions.astype(float)

    def over(joints: Sequence[int], most: float) -> Array:
        """(T,) whether a joint is over the top, no more than `most` meters."""
        at = places[:, joints]
        inside = ((at[..., :2] > low[:2]) & (at[..., :2] < high[:2])).all(2)
        out: Array = inside & (at[..., 2] > high[2] - most / 2) & (at[..., 2] < high[2] + most)
        return out

    leans, kneels = over(_WRISTS, LEANS).any(1), over(_KNEES, KNEELS).any(1)
    stands = over(_TOES, LEANS).all(1)
    first = int(leans.argmax()) if leans.any() else len(places)
    up = np.flatnonzero(stands[first:])
    around = Surroundings([thing])

    def deepest(places: Array) -> float:
        each = [depth(places[t], t, around, [thing.name], False, True) for t in range(0, len(places), _EVERY)]
        return 100 * max(each)

    (key,) = motion.meta["keys"]
    return Ascent(
        float(high[2]),
        not key["trouble"] and key["arrived"] is not None,
        float(leans.sum() / FPS),
        float(kneels.sum() / FPS),
        float(up[0] / FPS) if len(up) else math.inf,
        deepest(raw),
        deepest(places),
    )


def climb_figures(found: Sequence[Ascent], log: Log) -> Figures:
    """Shares done and on hands and knees, median seconds, and depths in the platform, mean and largest."""
    for number, one in enumerate(sorted(found, key=lambda ascent: ascent.height)):
        log(f"climb {number} {one}")
    out = {
        "nsm.climbs.cases": float(len(found)),
        "nsm.climbs.done": float(np.mean([one.done for one in found])),
        "nsm.climbs.on_hands_and_knees": float(np.mean([one.on_hands_and_knees for one in found])),
    }
    for name in ("leaning", "kneeling", "going_up"):
        out[f"nsm.climbs.{name}_s.median"] = float(np.median([getattr(one, name) for one in found]))
    for name in ("raw_depth_cm", "depth_cm"):
        values = [getattr(one, name) for one in found]
        out |= {f"nsm.climbs.{name}": float(np.mean(values)), f"nsm.climbs.{name}.max": max(values)}
    return out
