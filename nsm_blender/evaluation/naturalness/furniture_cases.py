# SPDX-License-Identifier: GPL-3.0-or-later
"""Shots with furniture as modelers make it, voxelized and with proposed handles, as an animator gets it.

Each kind belongs to an action with furniture; `CASES` names them. A shot ends a while after its actions should be done,
and its length does not depend on estimates of the code under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ...geometry.colliders import Collider
from ...geometry.furniture import Piece
from ...geometry.roles import Carryable, Climbable, Door, Handles, Seat, Surface, moved
from ...motion.root import angle_of, direction
from ...motion.rotations import Array, to_matrix
from ...naturalness.case import Case
from ...shot.goals import ActionKey, Goal
from ...shot.shot import Shot
from ..real_furniture.catalog import SEATS, SURFACES, high_stage, make
from ..real_furniture.rooms import (
    Setting,
    extents,
    furnished_room,
    handles_in_world,
    in_world,
    overlap,
    stood,
    wall_with_door,
)
from .load_settings import (
    ROOM,
    chosen_surface,
    fits_on,
    height_above,
    load_on_floor_or_table,
    random_angle,
    too_big_for,
)
from .seat_settings import armchair_in_corner, chair_under_table, seat_before_cupboard, sofa_behind_table

FPS = 30.0
"""Frame rate of the shots in Hz."""

NEAREST, FARTHEST = 1.2, 3.0
"""Least and largest distance in meters from the used thing at which a shot starts."""

PACE = 0.75
"""Speed in m/s along the path, detours and starts included, from which the length of a shot is computed."""

DOING = {"sit": 2.8, "rise": 2.2, "pick_up": 3.0, "put_down": 3.0, "open": 3.5, "climb": 3.0}
"""Largest duration in seconds of each action, from which the length of a shot is computed."""

SPARE, SETTLING = 2.0, 0.7
"""Time in seconds by which a shot is longer than its path and its actions, and time for each key for turning and coming
to rest."""

BEFORE = 0.8
"""Distance in meters from the middle of a used thing within which a body must be able to walk in a room."""

SIDLING = 4.0
"""Extra time in seconds for sitting down and leaving where there is little room."""

KNEELING = 6.0
"""Extra time in seconds for climbing on hands and knees."""

_DRAWS = 200
"""Settings that are drawn before the case counts as impossible."""


def sit(seed: int) -> Case:
    """Sit down on a lone seat of any kind, from any side and facing, stay, rise and walk away."""
    rng = _rng("sit", seed)
    for number in range(_DRAWS):
        piece = make(SEATS[int(rng.integers(len(SEATS)))], _furniture_seed(seed, number))
        setting = Setting([stood("Seat", piece, np.zeros(2), random_angle(rng))], {"Seat"})
        case = _sat(setting, "Seat", rng, "sit", seed, around=2.4)
        if case is not None and _seat_height(piece) <= 0.65:
            return case
    raise AssertionError(f"sit {seed}: no start was found")


def sit_blocked(seed: int) -> Case:
    """Sit down where something stands 5 to 60 cm before the seat: a sofa behind its table, a chair pushed under a
    table, an armchair in a corner, a seat before a cupboard."""
    rng = _rng("sit_blocked", seed)
    for number in range(_DRAWS):
        which = int(rng.integers(4))
        furniture = _furniture_seed(seed, number)
        front = random_angle(rng)
        setting, refusal = (
            sofa_behind_table,
            chair_under_table,
            armchair_in_corner,
            seat_before_cupboard,
        )[which](rng, furniture, front)
        if setting is None:
            continue
        case = _sat(setting, "Seat", rng, "sit_blocked", seed, around=1.9, refusal=refusal)
        if case is not None:
            return case
    raise AssertionError(f"sit_blocked {seed}: no setting was found")


def pick_up(seed: int) -> Case:
    """Take a thing from the floor, from beside a cupboard, or from a table near its edge, and walk away with it."""
    rng = _rng("pick_up", seed)
    for number in range(_DRAWS):
        furniture = _furniture_seed(seed, number)
        setting = Setting(used={"Load"})
        source = load_on_floor_or_table(setting, rng, furniture, np.zeros(2))
        if source is None:
            continue
        case = _carried_away(setting, rng, seed)
        if case is not None:
            return case
    raise AssertionError(f"pick_up {seed}: no setting was found")


def put_down(seed: int) -> Case:
    """Carry a thing from the floor or a table to a table, a sideboard's compartment or a shelf's board."""
    return _put(seed, "put_down", fitting=True)


def put_down_too_big(seed: int) -> Case:
    """Put a thing into a compartment or between boards where it does not fit: the refusal names both sizes."""
    return _put(seed, "put_down_too_big", fitting=False)


def open_door(seed: int) -> Case:
    """Open a shut door in a wall, from either side, and walk through."""
    rng = _rng("open", seed)
    for number in range(_DRAWS):
        leaf = make("door_leaf", _furniture_seed(seed, number))
        front = random_angle(rng)
        setting = Setting(wall_with_door(rng, leaf, np.zeros(2), front), {"Door"})
        colliders = setting.colliders()
        side = front + np.pi * int(rng.integers(2))
        start = setting.clear_place(rng, np.zeros(2), NEAREST, FARTHEST, side, 1.0, colliders)
        end = setting.clear_place(rng, np.zeros(2), 1.8, 2.4, side + np.pi, 0.5, colliders)
        if start is None or end is None:
            continue
        keys = [ActionKey("open", "door"), ActionKey("walk", "away", hold=0.5)]
        goals = [_goal("door", colliders, "Door"), _free("away", end)]
        return _case(
            "open", seed, setting, colliders, keys, goals, _start(rng, start), float(np.linalg.norm(start)) + 2.4
        )
    raise AssertionError(f"open {seed}: no start was found")


def climb(seed: int) -> Case:
    """Climb a podium or a step stool of up to 0.6 m."""

    def low(rng: np.random.Generator, number: int) -> Piece:
        return make(("step_stool", "podium")[int(rng.integers(2))], number)

    return _climbed("climb", seed, low, _rng("climb", seed))


def climb_on_hands(seed: int) -> Case:
    """Climb a stage of 0.7 to 0.95 m, for which people lean on their hands and kneel."""
    return _climbed("climb_on_hands", seed, lambda _, number: high_stage(number), _rng("climb_on_hands", seed),
                    KNEELING)  # fmt: skip


def _climbed(
    kind: str,
    seed: int,
    piece_of: Callable[[np.random.Generator, int], Piece],
    rng: np.random.Generator,
    seconds: float = 0.0,
) -> Case:
    """Climb a piece. seconds: that it takes longer than a step by the legs."""
    for number in range(_DRAWS):
        piece = piece_of(rng, _furniture_seed(seed, number))
        setting = Setting([stood("Step", piece, np.zeros(2), random_angle(rng))], {"Step"})
        colliders = setting.colliders()
        handles = _handles_of(colliders, "Step")
        assert isinstance(handles, Climbable)
        front = float(angle_of(-np.array(handles.facing[:2])))
        start = setting.clear_place(rng, np.array(handles.edge), NEAREST, FARTHEST, front, 1.9, colliders)
        if start is None:
            continue
        keys = [ActionKey("climb", "step", hold=1.0)]
        way = float(np.linalg.norm(start - np.array(handles.edge[:2]))) + 0.6
        return _case(kind, seed, setting, colliders, keys, [_goal("step", colliders, "Step")],
                     _start(rng, start), way + PACE * seconds)  # fmt: skip
    raise AssertionError(f"{kind} {seed}: no start was found")


def room(seed: int) -> Case:
    """Carry out three or four keys in a furnished living room: come in, take the crate, put it down, sit down."""
    rng = _rng("room", seed)
    for number in range(_DRAWS):
        setting = furnished_room(rng, _furniture_seed(seed, number))
        there = {thing.name for thing in setting.things}
        seats = sorted(there & {"Sofa", "Armchair", "Chair 1"})
        tops = sorted(there & {"Coffee Table", "Dining Table", "Sideboard", "Bookcase"})
        if "Crate" not in there or not seats or not tops:
            continue
        seat, top = str(rng.choice(seats)), str(rng.choice(tops))
        setting.used = {seat, top, "Crate"}
        colliders = setting.colliders()
        surface = _handles_of(colliders, top, in_place=False)
        crate = setting.thing("Crate").piece
        grasp = _handles_of(colliders, "Crate", in_place=False)
        assert isinstance(surface, Surface) and isinstance(grasp, Carryable)
        if not fits_on(crate, grasp, surface, height_above(setting.thing(top).piece, surface), ROOM):
            continue
        start = setting.clear_place(rng, np.zeros(2), 0.0, 2.6, 0.0, np.pi, colliders)
        end = setting.clear_place(rng, np.zeros(2), 0.0, 2.2, 0.0, np.pi, colliders)
        if start is None or end is None:
            continue
        needed = [_goal("", colliders, name).place for name in (seat, top, "Crate")]
        if not setting.connected(start, [(end, 0.1), *((np.array(place[:2]), BEFORE) for place in needed)]):
            continue
        carry = [ActionKey("pick_up", "crate"), ActionKey("put_down", "top")]
        rest = [ActionKey("sit", "seat", hold=1.5), ActionKey("walk", "away", hold=0.3)]
        keys = [*carry, *rest] if rng.random() < 0.5 else [rest[0], *carry]
        if keys[0].action == "sit" and rng.random() < 0.5:
            keys = [*keys, rest[1]]
        goals = [
            _goal("crate", colliders, "Crate"), _goal("top", colliders, top),
            _goal("seat", colliders, seat), _free("away", end),
        ]  # fmt: skip
        used = {key.goal for key in keys}
        goals = [goal for goal in goals if goal.name in used]
        stops = [start, *(np.array(next(g for g in goals if g.name == key.goal).place[:2]) for key in keys)]
        way = 1.2 * sum(float(np.linalg.norm(b - a)) for a, b in pairwise(stops))
        return _case("room", seed, setting, colliders, keys, goals, _start(rng, start), way)
    raise AssertionError(f"room {seed}: no setting was found")


CASES: dict[str, Callable[[int], Case]] = {
    "sit": sit,
    "sit_blocked": sit_blocked,
    "pick_up": pick_up,
    "put_down": put_down,
    "put_down_too_big": put_down_too_big,
    "open": open_door,
    "climb": climb,
    "climb_on_hands": climb_on_hands,
    "room": room,
}
"""The function of each kind that makes the case of a seed."""


# Shots


def _sat(
    setting: Setting, name: str, rng: np.random.Generator, kind: str, seed: int, around: float, refusal: str = ""
) -> Case | None:
    """Sit down on a thing of the setting, stay for 1.5 s, rise, and walk to a free place."""
    colliders = setting.colliders()
    seat = _handles_of(colliders, name)
    assert isinstance(seat, Seat)
    place, front = np.array(seat.place), float(angle_of(np.array(seat.facing[:2])))
    # The goal to walk to when up again lies 1.5 m before the edge of the seat, or where there is room.
    out = seat.depth / 2
    start = setting.clear_place(rng, place, NEAREST, FARTHEST, front, around, colliders)
    end = setting.clear_place(rng, place, 1.4 + out, 1.6 + out, front, 0.7, colliders)
    if end is None:
        end = setting.clear_place(rng, place, 1.5, 2.6, front, around, colliders)
    if start is None or end is None:
        return None
    keys = [ActionKey("sit", "seat", hold=1.5), ActionKey("walk", "away", hold=0.3)]
    goals = [_goal("seat", colliders, name), _free("away", end)]
    way = 1.2 * float(np.linalg.norm(start - place[:2]) + np.linalg.norm(end - place[:2]))
    if len(setting.things) > 1:
        way += PACE * SIDLING
    return _case(kind, seed, setting, colliders, keys, goals, _start(rng, start), way, refusal)


def _carried_away(setting: Setting, rng: np.random.Generator, seed: int) -> Case | None:
    colliders = setting.colliders()
    grasp = _handles_of(colliders, "Load")
    assert isinstance(grasp, Carryable)
    middle = (np.array(grasp.left) + np.array(grasp.right)) / 2
    front = float(angle_of(np.array(grasp.facing[:2])))
    start = setting.clear_place(rng, middle, NEAREST, FARTHEST, front, 1.9, colliders)
    end = setting.clear_place(rng, middle, 1.5, 2.2, front, 1.9, colliders)
    if start is None or end is None:
        return None
    keys = [ActionKey("pick_up", "load"), ActionKey("walk", "away", hold=0.5)]
    goals = [_goal("load", colliders, "Load"), _free("away", end)]
    way = float(np.linalg.norm(start - middle[:2]) + np.linalg.norm(end - middle[:2]))
    return _case("pick_up", seed, setting, colliders, keys, goals, _start(rng, start), way)


def _put(seed: int, kind: str, fitting: bool) -> Case:
    """Carry a thing from a place to another where it fits or is too big."""
    rng = _rng(kind, seed)
    for number in range(_DRAWS):
        furniture = _furniture_seed(seed, number)
        target = str(rng.choice(SURFACES if fitting else ("sideboard", "shelf", "bookcase")))
        front = random_angle(rng)
        setting = Setting([stood("Target", make(target, furniture), np.zeros(2), front)], {"Load", "Target"})
        top = setting.thing("Target")
        chosen = chosen_surface(rng, top.piece)
        if chosen is None:
            continue
        setting.chosen["Target"] = chosen
        away = float(rng.uniform(1.9, 3.0)) + extents(top.piece)[1] / 2
        source = away * direction(np.array(front + float(rng.uniform(-1.3, 1.3))))
        if load_on_floor_or_table(setting, rng, furniture, source, beside=0.0) is None or any(
            overlap(top, thing) for thing in setting.things if thing is not top
        ):
            continue
        colliders = setting.colliders()
        grasp = _handles_of(colliders, "Load", in_place=False)
        assert isinstance(grasp, Carryable)
        load, above = setting.thing("Load").piece, height_above(top.piece, chosen)
        # Nothing stands behind a shelf's boards, nor on the top of a cabinet.
        is_open = target == "shelf" or math.isinf(above)
        fits = fits_on(load, grasp, chosen, above, ROOM)
        if fits != fitting or (not fitting and not too_big_for(load, chosen, above, is_open)):
            continue
        target_place = in_world(top, chosen.place)
        front = float(angle_of(np.array(handles_in_world(top, chosen).facing[:2])))  # type: ignore[union-attr]
        stand = target_place[:2] + (chosen.depth / 2 + 0.4) * direction(np.array(front))
        load_place = np.array(_handles_of(colliders, "Load").left[:2])  # type: ignore[union-attr]
        start = setting.clear_place(rng, load_place, NEAREST, 2.5, front, np.pi, colliders)
        if start is None:
            continue
        keys = [ActionKey("pick_up", "load"), ActionKey("put_down", "top", hold=0.5)]
        goals = [_goal("load", colliders, "Load"), _goal("top", colliders, "Target")]
        way = float(np.linalg.norm(start - load_place) + np.linalg.norm(stand - load_place))
        return _case(kind, seed, setting, colliders, keys, goals, _start(rng, start), 1.1 * way,
                     "" if fitting else "fit")  # fmt: skip
    raise AssertionError(f"{kind} {seed}: no setting was found")


def _case(
    kind: str, seed: int, setting: Setting, colliders: list[Collider], keys: list[ActionKey], goals: list[Goal],
    start: list[float], way: float, refusal: str = "",
) -> Case:  # fmt: skip
    seconds = SPARE + way / PACE + sum(SETTLING + key.hold + DOING.get(key.action, 0.0) for key in keys)
    if any(key.action == "sit" for key in keys[:-1]):
        seconds += DOING["rise"]
    shot = Shot(kind, FPS, math.ceil(seconds * FPS), keys=keys, goals=goals, colliders=colliders, start=start)
    return Case(kind, seed, shot, setting.meshes(), refusal=refusal, network="nsm")


def _goal(name: str, colliders: Sequence[Collider], thing: str) -> Goal:
    """A goal at a thing's handles, where the extension puts it."""
    handles = _handles_of(colliders, thing)
    match handles:
        case Seat() | Surface():
            place = handles.place
        case Carryable():
            place = ((np.array(handles.left) + np.array(handles.right)) / 2).tolist()
        case Climbable():
            place = handles.edge
        case Door():
            place = handles.handle
    return Goal(name, [float(v) for v in place], None, thing)


def _free(name: str, place: Array) -> Goal:
    return Goal(name, [float(place[0]), float(place[1]), 0.0])


def _handles_of(colliders: Sequence[Collider], name: str, in_place: bool = True) -> Handles:
    """Handles of a collider, in the world or in its own frame."""
    collider = next(one for one in colliders if one.name == name)
    assert collider.handles is not None
    if not in_place:
        return collider.handles
    pose = collider.poses[0]
    return moved(collider.handles, to_matrix(pose[3:]), pose[:3])


def _seat_height(piece: Piece) -> float:
    assert isinstance(piece.handles, Seat)
    return piece.handles.place[2] - float(piece.mesh.vertices[:, 2].min())


def _start(rng: np.random.Generator, place: Array) -> list[float]:
    return [float(place[0]), float(place[1]), 0.0, random_angle(rng)]


def _rng(kind: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([15, sum(kind.encode()), seed])


def _furniture_seed(seed: int, number: int) -> int:
    """Seed of furniture for each try; the table's cases and the development's have none in common."""
    return 1000 * seed + number
