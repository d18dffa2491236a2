# SPDX-License-Identifier: GPL-3.0-or-later
"""Trials of the NSM on single unseen things: sitting down and picking up, from starts within 3 m (Table 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..baking.nsm import FRAMES_PER_STEP, SceneBake
from ..geometry.colliders import Collider, Surroundings
from ..geometry.furniture import Piece, held_out, make
from ..geometry.roles import Carryable, Seat
from ..models.nsm import ACTIONS, FPS
from ..models.nsm_predictor import Predictor
from ..motion.motion import Motion
from ..motion.root import angle_of, direction
from ..motion.rotations import Array
from ..naturalness.metrics import foot_slide, low_foot_slide
from ..rollout.nsm import Options
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot
from .nsm_bodies import added_acceleration, motion_detail, penetration

SEATS = ("chair", "armchair", "stool", "sofa", "bench", "office_chair")
BOXES = ("box", "crate", "sack", "drum")
NEAREST, FARTHEST = 1.2, 3.0
"""Meters from the thing between which a trial starts (Table 3)."""
AROUND = math.radians(110)
"""Largest angle in radians between the thing's front and the direction in which a trial starts."""
CLEAR = 0.35
"""Least distance in meters of the standing body from the thing at the start."""
HEIGHTS = (0.1, 0.4, 0.7, 1.0)
"""Heights in meters at which that distance is measured."""
STAYING = 0.5
"""Seconds of sitting after the arrival that are measured too."""
SECONDS = {"sit": 12.0, "carry": 12.0}
"""Seconds after which a trial of each task counts as not finished."""
DEVELOPMENT = 100001
"""First of the seeds, in steps of 5, that are neither trained on nor reported on."""
LABELLED = 0.5
"""Action label above which a frame counts as of that action."""
DEPTH_PERCENTILE = 99
"""Percentile of the body's depth in things that stands for a trial, so that one frame does not decide it."""

Figures = dict[str, float]
Log = Callable[[str], None]


@dataclass(frozen=True)
class Trial:
    """A time of going to a thing and using it.

    finished: whether it was done. raw_cm, raw_deg, cm, deg: how far off, before and after the last correction; infinite
    when it was not finished. seconds: until the action's label; infinite when it never came. slide, low_slide: cm/s.
    depth_cm: deepest percentile of the body in things. detail: mean change of the joints' angles, degrees a frame.
    added: see `added_acceleration`.
    """

    name: str
    finished: bool
    raw_cm: float
    raw_deg: float
    cm: float
    deg: float
    seconds: float
    slide: float
    low_slide: float
    depth_cm: float
    detail: float
    added: float


def seeds(count: int, development: bool = False) -> list[int]:
    """Seeds of furniture that nothing was trained on."""
    if development:
        return [DEVELOPMENT + 5 * n for n in range(count)]
    return [seed for seed in range(5 * count + 5) if held_out(seed)][:count]


def pieces(kinds: Sequence[str], count: int, development: bool = False) -> list[Piece]:
    """Unseen furniture of all kinds in turn."""
    return [make(kinds[n % len(kinds)], seed) for n, seed in enumerate(seeds(count, development))]


def sit_shot(piece: Piece, rng: np.random.Generator, action: str = "walk") -> Shot:
    """From somewhere within 3 m, looking anywhere, to a seat."""
    seat = piece.handles
    assert isinstance(seat, Seat)
    collider = Collider(piece.kind, piece.boxes, role="seat", handles=seat)
    start = random_start(collider, np.array(seat.place[:2]), float(angle_of(np.array(seat.facing[:2]))), rng)
    gait = "jog" if action == "run" else "walk"
    return _shot("sit", SECONDS["sit"], [ActionKey("sit", "goal", hold=STAYING, gait=gait)], [collider], start)


def carry_shot(piece: Piece, rng: np.random.Generator) -> Shot:
    """From somewhere within 3 m, looking anywhere, to a thing on the floor."""
    load_ = piece.handles
    assert isinstance(load_, Carryable)
    middle = (np.array(load_.left) + np.array(load_.right)) / 2
    collider = Collider(piece.kind, piece.boxes, role="carryable", handles=load_)
    start = random_start(collider, middle[:2], float(angle_of(np.array(load_.facing[:2]))), rng)
    return _shot("carry", SECONDS["carry"], [ActionKey("pick_up", "goal")], [collider], start)


def random_start(collider: Collider, place: Array, front: float, rng: np.random.Generator) -> list[float]:
    """Place and facing of a start at which the body is clear of the thing."""
    thing = Surroundings([collider]).at(0)
    while True:
        away = rng.uniform(NEAREST, FARTHEST) * direction(np.array(front + rng.uniform(-AROUND, AROUND)))
        facing = float(rng.uniform(-math.pi, math.pi))
        body = np.array([[*(place + away), height] for height in HEIGHTS])
        if thing.distance(body).min() > CLEAR:
            return [*(place + away).tolist(), 0.0, facing]


def _shot(name: str, seconds: float, keys: list[ActionKey], colliders: list[Collider], start: list[float]) -> Shot:
    goal = Goal("goal", [0.0, 0.0, 0.0], collider=colliders[0].name if colliders else "")
    return Shot(name, FPS, round(seconds * FPS), keys=keys, goals=[goal], colliders=colliders, start=start)


def trial(shot: Shot, network: Predictor, label: str, options: Options | None = None) -> tuple[Trial, Motion]:
    """Bake the shot and measure its first key."""
    bake = until_done(shot, network, options)
    motion = bake.motion()
    key = motion.meta["keys"][0]
    corrected = next((one for one in motion.meta["corrections"] if one["key"] == 0), None)
    off = (math.inf,) * 4
    if corrected is not None:
        off = (corrected["raw_cm"], corrected["raw_deg"], corrected["cm"], corrected["deg"])
    at = np.flatnonzero(motion.actions[:, ACTIONS.index(label)] > LABELLED)
    depth = penetration(motion, Surroundings(shot.colliders), [c.name for c in shot.colliders])
    name = shot.colliders[0].name if shot.colliders else shot.name
    return (
        Trial(
            name,
            not key["trouble"] and key["arrived"] is not None,
            *off,
            float(at[0] / FPS) if len(at) else math.inf,
            foot_slide(motion),
            low_foot_slide(motion),
            100 * float(np.percentile(depth, DEPTH_PERCENTILE)),
            motion_detail(motion),
            added_acceleration(bake.record(), motion),
        ),
        motion,
    )


def until_done(shot: Shot, network: Predictor, options: Options | None) -> SceneBake:
    """The bake up to the moment when the keys are done, or to the end of the shot."""
    bake = SceneBake(shot, network, options)
    frames = 0
    while not bake.done and not bake.keys_done:
        bake.step()
        frames += FRAMES_PER_STEP
    if bake.done:
        return bake
    shorter = replace(shot, frames=min(frames + FRAMES_PER_STEP, shot.frames))
    return SceneBake(shorter, network, options, bake)


def trials(
    network: Predictor,
    task: str,
    number: int,
    starts: int,
    development: bool = False,
    options: Options | None = None,
    aside: float = 0.0,
) -> list[Trial]:
    """Table 3: sitting down on, or picking up, one unseen thing, from several starts. aside: see
    `told_aside`."""
    shots = trial_shots(task, number, starts, development, aside)
    return [trial(shot, network, task, options)[0] for shot in shots]


def trial_shots(task: str, number: int, starts: int, development: bool = False, aside: float = 0.0) -> Iterator[Shot]:
    """The shots of `trials`."""
    kinds, shot_of = (SEATS, sit_shot) if task == "sit" else (BOXES, carry_shot)
    piece = told_aside(pieces(kinds, number + 1, development)[number], aside)
    rng = np.random.default_rng([31, number, int(development)])
    return (shot_of(piece, rng) for _ in range(starts))


def told_aside(piece: Piece, meters: float) -> Piece:
    """Furniture whose place of use is said to lie to the left of where it is, as seen in use."""
    handles = piece.handles
    assert isinstance(handles, Seat | Carryable)
    facing = np.array(handles.facing)
    # A sitting character looks along the facing of the seat, a carrier against that of the grasp.
    left = meters * np.array([-facing[1], facing[0], 0.0]) * (1.0 if isinstance(handles, Seat) else -1.0)

    def moved(place: Sequence[float]) -> list[float]:
        return (np.array(place) + left).tolist()

    if isinstance(handles, Seat):
        return replace(piece, handles=replace(handles, place=moved(handles.place)))
    return replace(piece, handles=replace(handles, left=moved(handles.left), right=moved(handles.right)))
