# SPDX-License-Identifier: GPL-3.0-or-later
"""What each root filter and each clean-up term of the NSM is worth: the same development tasks are carried out
without it, see `components`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..baking.nsm import SceneBake
from ..cleanup.cleanup import TERMS
from ..cleanup.hand_targets import surface
from ..errors import UserError
from ..geometry.body import OWNERS, RADII, bone_points, depth_of_points
from ..geometry.colliders import PLACE, Collider, Surroundings
from ..geometry.roles import Door
from ..geometry.rooms import random_room
from ..geometry.scene_state import to_world
from ..models.nsm import FPS
from ..models.nsm_predictor import Predictor
from ..motion.motion import Motion
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..naturalness.case import DEVELOPMENT_SEEDS
from ..naturalness.measures import measure
from ..naturalness.metrics import foot_slide
from ..naturalness.recorded import recorded
from ..rollout.held_objects import palm
from ..rollout.nsm import PARTS, Options
from ..shot.shot import Shot
from .naturalness.table import cases_of
from .nsm_bodies import added_acceleration, penetration, rollout_places
from .nsm_rooms import random_task
from .nsm_rooms import seeds as room_seeds
from .nsm_trials import BOXES, SEATS, Figures, carry_shot, pieces, sit_shot

ROOM_KINDS = ("room", "open", "approach_door", "put_down", "climb", "sit_blocked", "wait")
"""Kinds of room tasks, in turn: random ones, those with doors, shelves, climbs and gaps, and random ones after which
the character stands for WAITING seconds."""
WAITING = 60.0
"""Seconds that the character stands after its keys in tasks to wait: at the ends of shots of a few actions it does."""
CALM = 2.0
"""Seconds after the last key within which the character comes to rest."""
RESTING = 6.0
"""Seconds that the character is measured in its seat after the key of a task to sit."""
ROCKING = (0.5, 2.0)
"""Frequencies in Hz at which a head that comes and goes looks like rocking: weight is shifted more slowly."""
RESTLESS = 0.5
"""Speed in m/s of a standing character's head above which it bows or starts: people who wait do not reach it."""
MEASURES = ("root_speed", "yaw_speed", "hips_acceleration", "hands_acceleration", "feet_acceleration", "hips_bob",
            "hips_travel_cm_per_s", "knee_pop", "wait_s", "hand_height")  # fmt: skip
"""Measures of the naturalness table that count as figures, each relative to people's 99th percentile."""
WAITING_ACTIONS = {"idle": "standing", "seated": "sitting"}
"""Actions of a character that waits, and what figures call them."""
STILLNESS = ("hips_acceleration", "hands_acceleration", "head_acceleration", "hips_travel_cm_per_s")
"""Measures of how much a character moves that waits: people are neither like statues nor do they fidget."""
USUAL = (5.0, 95.0)
"""Percentiles of people's values between which a measure of STILLNESS is as usual."""
_UPPER = 0.2
"""Meters over the hips from which on the trunk leans on a backrest."""
_TOES = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
_HANDLE = 0.4
"""Meters from a door's handle to which a hand that holds something comes if it is the handle that it holds."""
_LOOKING = ("pick_up", "put_down", "open")
"""Actions in which the head is turned to what the hands do."""
_AFTERWARDS = 1.0
"""Seconds that are measured after the last key is done."""


@dataclass(frozen=True, eq=False)
class Task:
    """A task of the table. used: names of the things that it uses. afterwards: seconds that are measured after the last
    key is done."""

    name: str
    shot: Shot
    used: Sequence[str]
    afterwards: float = _AFTERWARDS


def component_names() -> tuple[str, ...]:
    """Names of all components, those of the rollout first."""
    return (*PARTS, *TERMS)


def task_names(sits: int, carries: int, rooms: int) -> list[str]:
    """Names of the tasks of a table: a group and a number."""
    out = [f"sit {n}" for n in range(sits)] + [f"carry {n}" for n in range(carries)]
    return out + [f"{ROOM_KINDS[n % len(ROOM_KINDS)]} {n // len(ROOM_KINDS)}" for n in range(rooms)]


def task_of(name: str, network: Predictor) -> Task | None:
    """The task of a name, on development furniture; None where the case must be refused."""
    group, _, text = name.partition(" ")
    number = int(text)
    if group in ("sit", "carry"):
        kinds, shot_of = (SEATS, sit_shot) if group == "sit" else (BOXES, carry_shot)
        piece = pieces(kinds, number + 1, development=True)[number]
        shot = shot_of(piece, np.random.default_rng([35, number]))
        return _longer(name, shot, [piece.kind], RESTING) if group == "sit" else Task(name, shot, [piece.kind])
    if group in ("room", "wait"):
        seed = room_seeds(number + 1, development=True)[number]
        shot = random_task(random_room(seed), np.random.default_rng([36, seed]), network)
        used = [goal.collider for goal in shot.goals if goal.collider]
        if group == "room":
            return Task(name, shot, used)
        return _longer(name, shot, used, WAITING)
    case = cases_of()[group](DEVELOPMENT_SEEDS[number])
    if case.refusal:
        return None
    return Task(name, case.shot, [goal.collider for goal in case.shot.goals if goal.collider])


def _longer(name: str, shot: Shot, used: Sequence[str], afterwards: float) -> Task:
    """A task after whose keys the character stays for so many seconds."""
    return Task(name, replace(shot, frames=shot.frames + round(afterwards * shot.fps)), used, afterwards)


def outcomes(network: Predictor, name: str, components: Sequence[str]) -> dict[str, Figures]:
    """Figures of a task by what is left out, "" for nothing. A task that is refused has none."""
    task = task_of(name, network)
    if task is None:
        return {}
    out: dict[str, Figures] = {}
    try:
        full = _baked(task, network, Options())
        out[""] = _figures(task, full, full.motion())
        for component in components:
            if component in TERMS:
                out[component] = _figures(task, full, full.cleaned_without(component))
            else:
                bake = _baked(task, network, Options(without=frozenset({component})))
                out[component] = _figures(task, bake, bake.motion())
    except UserError:
        return {}
    return out


def _baked(task: Task, network: Predictor, options: Options) -> SceneBake:
    """The bake of a task until a while after its keys are done."""
    bake = SceneBake(task.shot, network, options)
    after = 0.0
    while not bake.done and after < task.afterwards:
        bake.step()
        after += bake.keys_done * 6 / FPS
    bake.end_here()
    return bake


def _figures(task: Task, bake: SceneBake, motion: Motion) -> Figures:
    """The figures of one motion of a bake."""
    keys = motion.meta["keys"]
    out = {"done": float(all(not key["trouble"] and key["arrived"] is not None for key in keys))}
    offs = motion.meta["corrections"]
    if offs:
        out |= {name: max(one[name] for one in offs) for name in ("raw_cm", "raw_deg", "cm", "deg")}
    arrived = [key["arrived"] for key in keys if key["arrived"] is not None]
    if arrived:
        out["seconds"] = max(arrived) / task.shot.fps
    if task.afterwards == WAITING and all(key["done"] is not None for key in keys):
        out["restless_s"] = _restless(motion, max(key["done"] for key in keys))
    depth = 100 * penetration(motion, Surroundings(task.shot.colliders), task.used)
    out |= {"depth_p99_cm": float(np.percentile(depth, 99)), "depth_max_cm": float(depth.max())}
    out["foot_slide_cm_s"] = foot_slide(motion)
    out |= _at_handles(motion, task.shot) | _seated(motion, task.shot) | _carried(motion, task.shot)
    return out | _natural(motion) | _moved(bake, motion)


def _at_handles(motion: Motion, shot: Shot) -> Figures:
    """Mean distance in cm of the palms from the handles of the doors that they hold."""
    away: list[float] = []
    for collider in shot.colliders:
        if not isinstance(collider.handles, Door) or collider.name not in motion.meta["things"]:
            continue
        handle = to_world(np.array(collider.handles.handle), np.array(motion.meta["things"][collider.name]))
        for hand, spans in motion.meta["holds"].items():
            palms = palm(motion.positions.astype(float), motion.rotations.astype(float), hand.removesuffix("Hand"))
            for first, last in spans:
                held = slice(math.ceil(first * motion.fps), math.floor(last * motion.fps) + 1)
                off = np.linalg.norm(palms[held] - handle[held], axis=-1)
                if off.min(initial=_HANDLE) < _HANDLE:
                    away += off.tolist()
    return {"handle_cm": 100 * float(np.mean(away))} if away else {}


def _carried(motion: Motion, shot: Shot) -> Figures:
    """The largest depth in cm of a point of what is carried in another thing, beyond that in which it rests."""
    moved = motion.meta["things"]
    around = Surroundings([collider for collider in shot.colliders if collider.name not in moved])
    found: list[float] = []
    for collider in shot.colliders:
        if collider.role != "carryable" or collider.name not in moved:
            continue
        points, poses = surface(collider.cuboids), np.array(moved[collider.name])
        depths = [
            depth_of_points(
                to_world(points, pose), 0.0, np.full(len(points), ""), pose[PLACE], frame, around, (), False, False
            )
            for frame, pose in enumerate(poses)
        ]
        found.append(max(depths) - max(depths[0], depths[-1]))
    return {"carried_cm": 100 * max(found)} if found else {}


def _seated(motion: Motion, shot: Shot) -> Figures:
    """The largest height in cm by which toes rise while the character sits, as a leg that hangs in the air is neither
    stood on nor crossed over the other; cm between the upper trunk and the seat, for a back that is to lean on it; and
    cm by which the head rocks.
    """
    toes = motion.positions[:, [motion.names.index(side + "Toe") for side in ("Left", "Right")], 2].astype(float)
    keys = motion.meta["keys"]
    left = [key["set_off"] or len(motion) for key in keys[1:]] + [len(motion)]
    spans = [
        (key["arrived"], last, asked.goal)
        for key, last, asked in zip(keys, left, shot.keys, strict=True)
        if key["action"] == "sit" and key["arrived"] is not None
    ]
    if not spans:
        return {}
    risen = [float(np.ptp(toes[first:last], axis=0).max()) for first, last, _ in spans]
    seats = {goal.name: one for goal in shot.goals for one in shot.colliders if one.name == goal.collider}
    away = [_back_away(motion, (first + last) // 2, seats[goal]) for first, last, goal in spans]
    out = {"seated_toes_cm": 100 * max(risen), "back_cm": 100 * max(away)}
    rocked = [rocking(motion, first + round(CALM * motion.fps), last) for first, last, _ in spans]
    if rocked := [value for value in rocked if value is not None]:
        out["rocking_cm"] = 100 * max(rocked)
    return out


def rocking(motion: Motion, first: int, last: int) -> float | None:
    """Meters, from one side to the other, by which the head comes and goes at that frequency of ROCKING at which it
    does so most, in frames first..last-1; None where these are less than two of the slowest cycles."""
    head = motion.positions[first:last, motion.names.index("Head")].astype(float)
    if len(head) < 2 * motion.fps / ROCKING[0]:
        return None
    window = np.hanning(len(head))
    spectrum = np.fft.rfft((head - head.mean(axis=0)) * window[:, None], axis=0)
    amplitude = 2 * np.linalg.norm(spectrum, axis=1) / window.sum()
    frequency = np.fft.rfftfreq(len(head), 1 / motion.fps)
    return 2 * float(amplitude[(frequency >= ROCKING[0]) & (frequency <= ROCKING[1])].max())


def _back_away(motion: Motion, frame: int, seat: Collider) -> float:
    """Meters between the upper trunk at a frame and a seat."""
    places = motion.positions[frame].astype(float)
    points = bone_points(places)
    trunk = OWNERS == "Hips"
    # Of a trunk that is bent down, its highest point.
    upper = trunk & (points[:, 2] >= min(places[0, 2] + _UPPER, points[trunk, 2].max()))
    away = Surroundings([seat]).at(float(frame)).distance(points[upper]) - RADII[upper]
    return max(float(away.min()), 0.0)


def _restless(motion: Motion, done: int) -> float:
    """Seconds of those after frame `done` in which the head moves faster than RESTLESS, though nothing is asked for."""
    head = motion.positions[done + round(CALM * motion.fps) :, motion.names.index("Head")].astype(float)
    speed = np.linalg.norm(np.diff(head, axis=0), axis=-1) * motion.fps
    seconds = np.arange(len(speed)) // round(motion.fps)
    return float(len(np.unique(seconds[speed > RESTLESS])))


def _natural(motion: Motion) -> Figures:
    """The largest value of each of MEASURES, relative to people's, how much the motion turns without need, and in % how
    many measures of stretches of standing, and of sitting, are below or above what is usual with people."""
    measured, people = measure(motion), recorded()
    out = {"excess_turning_deg": measured.whole["excess_turning_deg"]}
    looks = [v for (action, name), v in measured.values().items() if name == "head_off_deg" and action in _LOOKING]
    if looks:
        out["head_off_deg"] = float(np.mean([value for values in looks for value in values]))
    for (action, name), values in measured.values().items():
        row = people.get((action, name))
        if name in MEASURES and row is not None and row.at(99.0) > 0:
            out[name] = max(out.get(name, 0.0), max(values) / row.at(99.0))
    for action, called in WAITING_ACTIONS.items():
        usual = {name: [people[action, name].at(percentile) for percentile in USUAL] for name in STILLNESS}
        unusual = [
            not low <= value <= high
            for name, (low, high) in usual.items()
            for value in measured.values().get((action, name), [])
        ]
        if unusual:
            out[f"unusual_{called}_pct"] = 100 * float(np.mean(unusual))
    return out


def _moved(bake: SceneBake, motion: Motion) -> Figures:
    """What the clean-up did to the network's joints: how far it moved feet, how much acceleration it added, and by how
    much the hips are lower over the feet in the end."""
    record = bake.record()
    feet = [motion.names.index(side + part) for side in ("Left", "Right") for part in ("Foot", "Toe")]
    places = rollout_places(record, motion)
    off = motion.positions[:, feet].astype(float) - places[:, feet]
    moved = 100 * np.linalg.norm(off, axis=-1)
    return {
        "feet_moved_mean_cm": float(moved.mean()),
        "feet_moved_max_cm": float(moved.max()),
        "acceleration_added_m_s2": added_acceleration(record, motion),
        "sunk_cm": 100 * max(_over_feet(places[-1]) - _over_feet(motion.positions[-1].astype(float)), 0.0),
    }


def _over_feet(places: Array) -> float:
    """Meters of the hips over the higher toe, of a body with joints at places (J, 3)."""
    return float(places[0, 2] - places[_TOES, 2].max())
