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
from ...geometry.form import Form
from ...geometry.furniture import Piece
from ...geometry.roles import Carryable, Climbable, Door, Handles, Seat, Surface, moved
from ...motion.root import angle_of, direction
from ...motion.rotations import Array, to_matrix
from ...shot.goals import ActionKey, Goal
from ...shot.shot import Shot
from ..real_furniture.catalog import LOADS, SEATS, SURFACES, make
from ..real_furniture.rooms import (
    WALL,
    WALL_HEIGHT,
    Setting,
    before,
    extents,
    furnished_room,
    handles_in_world,
    in_world,
    overlap,
    reach_forward,
    stood,
    under,
    wall,
    wall_behind,
    wall_with_door,
)
from .case import Case

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

TORSO = 0.30
"""Least distance in meters between a chair's back and the edge of a table for a sitting body: a chest is 22 to 26 cm
deep, and it must slide in."""

TORSO_EASY = 0.36
"""Distance in meters with which a body surely fits between a back and an edge; cases lie outside the two limits."""

LEGS = 0.12
"""Distance in meters between a seat and a table before it that is too narrow to sit down: a shin with its foot is
longer."""

LEGS_EASY = 0.27
"""Distance in meters between a seat and a table before it that surely has room for feet and shins."""

TOO_BIG = 0.04
"""Least excess in meters of a thing that does not fit over the space for it."""

ROOM = (0.08, 0.02, 0.08)
"""Meters by which the space for a thing is larger across (for the hands), along, and above it."""

BEFORE = 0.8
"""Distance in meters from the middle of a used thing within which a body must be able to walk in a room."""

HIGHEST = 1.05
"""Height in meters over the floor up to which things are put down."""

CABINETS = ("sideboard", "bookcase", "shelf", "kitchen_counter", "desk")
"""Surfaces that stand at walls."""

SIDLING = 4.0
"""Extra time in seconds for sitting down and leaving where there is little room."""

_DRAWS = 200
"""Settings that are drawn before the case counts as impossible."""


def sit(seed: int) -> Case:
    """Sit down on a lone seat of any kind, from any side and facing, stay, rise and walk away."""
    rng = _rng("sit", seed)
    for number in range(_DRAWS):
        piece = make(SEATS[int(rng.integers(len(SEATS)))], _furniture_seed(seed, number))
        setting = Setting([stood("Seat", piece, np.zeros(2), _angle(rng))], {"Seat"})
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
        front = _angle(rng)
        setting, refusal = (
            _sofa_behind_table,
            _chair_under_table,
            _armchair_in_corner,
            _seat_before_cupboard,
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
        source = _load(setting, rng, furniture, np.zeros(2))
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
        front = _angle(rng)
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
    rng = _rng("climb", seed)
    for number in range(_DRAWS):
        piece = make(("step_stool", "podium")[int(rng.integers(2))], _furniture_seed(seed, number))
        setting = Setting([stood("Step", piece, np.zeros(2), _angle(rng))], {"Step"})
        colliders = setting.colliders()
        handles = _handles_of(colliders, "Step")
        assert isinstance(handles, Climbable)
        front = float(angle_of(-np.array(handles.facing[:2])))
        start = setting.clear_place(rng, np.array(handles.edge), NEAREST, FARTHEST, front, 1.9, colliders)
        if start is None:
            continue
        keys = [ActionKey("climb", "step", hold=1.0)]
        way = float(np.linalg.norm(start - np.array(handles.edge[:2]))) + 0.6
        return _case("climb", seed, setting, colliders, keys, [_goal("step", colliders, "Step")],
                     _start(rng, start), way)  # fmt: skip
    raise AssertionError(f"climb {seed}: no start was found")


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
        if not _fits(crate, grasp, surface, _height_above(setting.thing(top).piece, surface), ROOM):
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
    "room": room,
}
"""The function of each kind that makes the case of a seed."""


# Settings


Blocked = tuple[Setting | None, str]
"""A setting, None where its pieces overlap, and the words that a refusal must contain."""


def _sofa_behind_table(rng: np.random.Generator, furniture: int, front: float) -> Blocked:
    """A sofa, or a bench, with a low table 5 to 60 cm before it; half of the sofas stand at a wall."""
    sofa = stood("Seat", make(str(rng.choice(["sofa", "sofa", "bench"])), furniture), np.zeros(2), front)
    gap = float(rng.uniform(0.05, LEGS) if rng.random() < 0.2 else rng.uniform(LEGS_EASY, 0.60))
    table = before(sofa, "Table", make("coffee_table", furniture), gap, float(rng.uniform(-0.25, 0.25)))
    setting = Setting([sofa, table], {"Seat"})
    if rng.random() < 0.5:
        setting.add(wall_behind("Wall", sofa, front))
    return (None if overlap(sofa, table) else setting), ("move" if gap <= LEGS else "")


def _chair_under_table(rng: np.random.Generator, furniture: int, front: float) -> Blocked:
    """A chair pushed 2 to 20 cm under a table or a desk; where its back leaves no room for a body, it must be moved."""
    chair = make(str(rng.choice(["dining_chair", "slatted_chair"])), furniture)
    table = stood("Table", make(str(rng.choice(["dining_table", "desk"])), furniture), np.zeros(2), front + np.pi)
    depth = float(rng.uniform(0.02, 0.20))
    thing = under(table, "Seat", chair, depth, float(rng.uniform(-0.3, 0.3)), front)
    assert isinstance(chair.handles, Seat)
    room_left = chair.handles.depth - depth
    if overlap(thing, table) or TORSO < room_left < TORSO_EASY:
        return None, ""
    return Setting([thing, table], {"Seat"}), ("move" if room_left <= TORSO else "")


def _armchair_in_corner(rng: np.random.Generator, furniture: int, front: float) -> Blocked:
    """An armchair at an angle in a corner of a room, a side table beside it, a pouffe or a table before it."""
    chair = stood("Seat", make("classic_armchair", furniture), np.zeros(2), front)
    turn = front + np.pi / 4 + float(rng.uniform(-0.3, 0.3))
    setting = Setting([chair], {"Seat"})
    vertices = chair.mesh().vertices[:, :2]
    # Two walls that meet behind the chair, each 3 cm from it.
    first, second = (float((vertices @ -direction(np.array(angle))).max()) + 0.03 for angle in (turn, turn - np.pi / 2))
    setting.add(
        wall("Wall 1", (-3.0, first, 0.0), (second + WALL, first + WALL, WALL_HEIGHT), turn),
        wall("Wall 2", (-first, second, 0.0), (3.0, second + WALL, WALL_HEIGHT), turn - np.pi / 2),
    )
    kind = ("pouffe", "coffee_table")[int(rng.integers(2))]
    if not setting.add_if_free(before(chair, "Table", make(kind, furniture), float(rng.uniform(LEGS_EASY, 0.6)), 0.0)):
        return None, ""
    side = make("side_table", furniture)
    for sign in rng.permutation([-1.0, 1.0]):
        away = (extents(chair.piece)[0] + extents(side)[0]) / 2 + 0.06
        place = away * sign * direction(np.array(front + np.pi / 2)) + 0.15 * direction(np.array(front))
        if setting.add_if_free(stood("Side Table", side, place, front)):
            break
    return setting, ""


def _seat_before_cupboard(rng: np.random.Generator, furniture: int, front: float) -> Blocked:
    """A chair, stool or armchair facing a sideboard or a bed 35 to 60 cm before it, or a crate in the way."""
    kind = str(rng.choice(["dining_chair", "slatted_chair", "office_chair", "classic_armchair", "bench"]))
    seat = stood("Seat", make(kind, furniture), np.zeros(2), front)
    other = str(rng.choice(["sideboard", "bed", "crate", "suitcase"]))
    gap = float(rng.uniform(0.38, 0.60))
    thing = before(seat, "Cupboard", make(other, furniture), gap, float(rng.uniform(-0.2, 0.2)))
    return (None if overlap(seat, thing) else Setting([seat, thing], {"Seat"})), ""


def _load(setting: Setting, rng: np.random.Generator, furniture: int, at: Array, beside: float = 0.15) -> Array | None:
    """Put a "Load" on the floor, beside a sideboard, or on a table near its edge, about a place (2,).

    beside: share of the loads that stand beside a sideboard at a wall. Returns the place (2,) of the load; None where
    it overlaps another thing.
    """
    load = make(LOADS[int(rng.integers(len(LOADS)))], furniture)
    where = rng.random()
    if where < 0.4:
        return at if setting.add_if_free(stood("Load", load, at, _angle(rng))) else None
    if where < 0.4 + beside:
        front = _angle(rng)
        cupboard = stood("Cupboard", make("sideboard", furniture), at, front)
        away = (extents(cupboard.piece)[0] + extents(load)[0]) / 2 + float(rng.uniform(0.06, 0.2))
        place = at + away * float(rng.choice([-1, 1])) * direction(np.array(front + np.pi / 2))
        setting.add(cupboard, wall_behind("Wall", cupboard, front))
        return place if setting.add_if_free(stood("Load", load, place, front)) else None
    kind = str(rng.choice(["coffee_table", "dining_table", "desk", "kitchen_counter", "bench"]))
    front = _angle(rng)
    table = stood("Table", make(kind, furniture), at, front)
    top = table.piece.handles
    assert isinstance(top, Surface | Seat)
    height = in_world(table, top.place)[2]
    size = extents(load)
    # Its near side lies 2 to 10 cm behind the table's edge.
    inward = reach_forward(table.piece, top.place) - size[1] / 2 - float(rng.uniform(0.02, 0.10))
    aside = float(rng.uniform(-1, 1)) * max(0.0, min(top.width, extents(table.piece)[0]) / 2 - size[0] / 2 - 0.05)
    place = in_world(table, top.place)[:2] + inward * direction(np.array(front))
    place = place + aside * direction(np.array(front + np.pi / 2))
    if size[1] > top.depth + 0.05:
        return None
    setting.add(table, stood("Load", load, place, front, z=float(height)))
    return np.asarray(place)


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
        front = _angle(rng)
        setting = Setting([stood("Target", make(target, furniture), np.zeros(2), front)], {"Load", "Target"})
        top = setting.thing("Target")
        chosen = _chosen_surface(rng, top.piece)
        if chosen is None:
            continue
        setting.chosen["Target"] = chosen
        away = float(rng.uniform(1.9, 3.0)) + extents(top.piece)[1] / 2
        source = away * direction(np.array(front + float(rng.uniform(-1.3, 1.3))))
        if _load(setting, rng, furniture, source, beside=0.0) is None or any(
            overlap(top, thing) for thing in setting.things if thing is not top
        ):
            continue
        colliders = setting.colliders()
        grasp = _handles_of(colliders, "Load", in_place=False)
        assert isinstance(grasp, Carryable)
        load, above = setting.thing("Load").piece, _height_above(top.piece, chosen)
        fits = _fits(load, grasp, chosen, above, ROOM)
        if fits != fitting or (not fitting and not _too_big(load, chosen, above, target == "shelf")):
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


def _chosen_surface(rng: np.random.Generator, piece: Piece) -> Surface | None:
    """A right place of a piece, no higher than things are lifted; the goal or handle is moved there. Cabinets are used
    from their front, tables from any side."""
    floor = float(piece.mesh.vertices[:, 2].min())
    every = [one for one in (piece.handles, *piece.also) if isinstance(one, Surface)]
    if piece.kind in CABINETS:
        every = [one for one in every if np.dot(one.facing, every[0].facing) > 0.9]
    # Each height is equally likely, whatever the number of sides.
    heights = sorted({round(found.place[2], 3) for found in every if found.place[2] - floor <= HIGHEST})
    if not heights:
        return None
    height = heights[int(rng.integers(len(heights)))]
    same = [one for one in every if round(one.place[2], 3) == height]
    return same[int(rng.integers(len(same)))]


def _height_above(piece: Piece, surface: Surface) -> float:
    """Free height in meters over the middle of a surface; infinite without anything over it."""
    corners = piece.mesh.vertices[piece.mesh.triangles]
    low, high = corners.min(1), corners.max(1)
    place = np.array(surface.place)
    over = (low[:, :2] < place[:2] + 0.05).all(1) & (high[:, :2] > place[:2] - 0.05).all(1)
    over &= low[:, 2] > place[2] + 0.02
    return float(low[over, 2].min() - place[2]) if over.any() else math.inf


def _sizes(load: Piece, grasp: Carryable) -> tuple[float, float, float]:
    """Sizes in meters of a load from palm to palm, along the carrier's direction, and up."""
    along = float(angle_of(np.array(grasp.facing[:2])))
    side, out = direction(np.array(along + np.pi / 2)), direction(np.array(along))
    vertices = load.mesh.vertices
    return (
        float(np.ptp(vertices[:, :2] @ side)),
        float(np.ptp(vertices[:, :2] @ out)),
        float(np.ptp(vertices[:, 2])),
    )


def _fits(load: Piece, grasp: Carryable, surface: Surface, above: float, room: tuple[float, float, float]) -> bool:
    """Whether a load, held by its grasp, fits on a surface with room to spare."""
    across, along, tall = _sizes(load, grasp)
    return across + room[0] <= surface.width and along + room[1] <= surface.depth and tall + room[2] <= above


def _too_big(load: Piece, surface: Surface, above: float, is_open: bool) -> bool:
    """Whether a load, turned either way, is surely too large for the space of a surface. is_open: whether things may
    stick out behind and in front."""
    form = Form(load.mesh)
    size = np.sort(np.ptp(form.points[:, :2], axis=0))
    tall = float(np.ptp(form.points[:, 2]))
    space = np.sort([surface.width, surface.depth])
    if is_open:
        return bool(size[0] > surface.width + TOO_BIG or tall > above + TOO_BIG)
    return bool((size > space + TOO_BIG).any() or tall > above + TOO_BIG)


def _seat_height(piece: Piece) -> float:
    assert isinstance(piece.handles, Seat)
    return piece.handles.place[2] - float(piece.mesh.vertices[:, 2].min())


def _start(rng: np.random.Generator, place: Array) -> list[float]:
    return [float(place[0]), float(place[1]), 0.0, _angle(rng)]


def _angle(rng: np.random.Generator) -> float:
    return float(rng.uniform(-np.pi, np.pi))


def _rng(kind: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([15, sum(kind.encode()), seed])


def _furniture_seed(seed: int, number: int) -> int:
    """Seed of furniture for each try; the table's cases and the development's have none in common."""
    return 1000 * seed + number
