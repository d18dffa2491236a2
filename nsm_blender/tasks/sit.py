# SPDX-License-Identifier: GPL-3.0-or-later
"""Sitting down: from where there is room for trunk and knees, until the hips lie on the seat and stay there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..cleanup.seating import HIP_JOINTS, Seating, sitting_place
from ..geometry.body import BODY, CAPSULES, OWNERS, bone_points
from ..geometry.colliders import QUATERNION, Collider
from ..geometry.roles import SIDES, Handles, Seat
from ..geometry.scene_state import pose_at, to_world
from ..geometry.sides import other_seats
from ..models.nsm import ACTIONS, CONTACTS, FPS
from ..motion.root import angle_of, direction
from ..motion.rotations import Array, normalize, rotate
from ..motion.skeleton import ANKLE_HEIGHT, MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from ..planning.approach_poses import UP, Side, Stand, own_up, poses_before, stands, used_handles
from ..planning.occupancy_grid import ANKLE, ObstacleOutlines
from ..planning.path_planner import Planner
from ..planning.stand_clearance import BodyPart, Hindrance, others_around
from ..rollout.goal_spec import Reach
from ..rollout.held_objects import TOUCHES, Hands
from ..rollout.nsm import SceneCharacter
from ..shot.goals import ActionKey, Goal
from .protocol import SETTLED, Completion, Held, Posture, ThingTask, facing_of

AISLE = (0.3, 0.25, 0.2, 0.16, 0.12)
"""Meters from a seat's front edge at which the root may stand, its back to the seat, where a thing before the seat
leaves no more room than for shins."""
RISES = 0.08
"""Meters over a seat by which a part of it must rise to be a back or an arm rest."""
LEANS = 0.35
"""Meters before the hips at which the head is while a body sits down."""
COMFORTABLE, ROUND = 0.45, 0.05
"""Meters before a seat that are asked for where there is no room to sit down, and the steps in which they are told."""
IN_FRONT = 0.35
"""Meters before the seat's edge at which a character stands that got up."""
GETTING_UP = 1.9
"""Seconds that it takes to get up from a seat before the character walks: of 40 composed rises, from when it is asked
to on, the medians are 1.6 until it stands, and 2.0 until it walks."""
SEATED_WITHIN = 0.3
"""Meters from the hips to their place on the seat within which the character may sit."""
ON_SEAT = 0.06
"""Meters from the hips to their place on the seat within which the body sits, whatever the hips' contact label: beside
other things the network is less sure of it."""
_RAY = 0.005
"""Meters between the points of a ray."""
RADIUS = {bone: radius for bone, _, radius in CAPSULES}
"""Meters that must be free about a bone of a sitter."""
_SIDES = ("Left", "Right")
_SHINS = [side + "Leg" for side in _SIDES]
_KNEES = MODEL_SKELETON.indices(_SHINS)
_THIGH = float(np.linalg.norm(MODEL_SKELETON.offsets[MODEL_SKELETON.index("LeftLeg")]))
_HEAD = MODEL_SKELETON.index("Head")
_SITTING = MODEL_SKELETON.rest_positions()
_SITTING = _SITTING + (SEAT_BELOW_HIP_JOINTS - _SITTING[HIP_JOINTS[0], 2]) * UP
"""Joints (J, 3) of an upright body that faces -Y, over the place of a seat."""
_SIT, _HIPS = ACTIONS.index("sit"), CONTACTS.index("Hips")


AT_SEAT = 0.2
"""Greatest speed of the root in m/s at a seat: people sit down at 0.9 m/s, of which the bending takes its share."""


class Sit(ThingTask):
    """Sit down on a seat, and stay until another key asks for something."""

    name, doing, verb, role = "sit", "sitting down", "sit down on", "seat"
    sector = math.radians(60)
    seconds = 2.5
    reaching = 2.8
    leaving = GETTING_UP
    training = ("sit_episodes", "sitting")

    def tiers(self, planner: Planner, key: ActionKey, frame: float) -> list[list[Side]]:
        """Before the seat's front; at all sides that its handles name, as it is or, where it is open all around, as its
        sitter looks another way; in the aisle before the middle of its front edge; at sides that they do not name, but
        that neither a back nor an arm rest closes. Handles that name no side leave all open ones."""
        goal, seat_of = planner.goal(key, frame), planner.thing(key)
        assert goal is not None and seat_of is not None
        collider, pose = seat_of, pose_at(seat_of, frame)
        used = used_handles(goal, collider, pose)
        assert isinstance(used, Seat)
        open_sides = _open_sides(used, collider, own_up(pose))
        own = replace(used, approaches=used.approaches or open_sides)
        seats: list[Seat] = [own, *other_seats(own, own_up(pose))]

        def before(seat: Seat, sides: Sequence[str]) -> list[Side]:
            if not sides:
                return []
            places = stands(goal, collider, replace(seat, approaches=list(sides)), frame, planner.before)
            return [[replace(stand, handles=seat) for stand in places]]

        others = [side for side in open_sides if side not in own.approaches and side != "back"]
        return [
            before(own, ["front"] if "front" in own.approaches else []),
            [side for seat in seats for side in before(seat, seat.approaches)],
            [_in_aisle(goal, seat, pose) for seat in seats],
            before(own, others),
        ]

    def parts(self, stand: Stand, pose: Array, ground: float) -> list[BodyPart]:
        """Trunk and head over the seat, knees and shins before it."""
        seat = stand.handles
        assert isinstance(seat, Seat)
        _, front, _ = _axes(seat, pose)
        joints = _sitter(seat, pose, ground)
        points = bone_points(joints)
        trunk, head, shins = (points[np.isin(OWNERS, bones)] for bones in (["Hips"], ["Neck"], _SHINS))
        belly = trunk + max(BODY.chest - RADIUS["Hips"] - seat.depth / 2, 0.0) * front
        return [
            (np.vstack((trunk, belly)), RADIUS["Hips"]),
            (np.vstack((head, head[-1] + LEANS * front)), RADIUS["Neck"]),
            (np.vstack((joints[_KNEES], shins)), RADIUS["LeftLeg"]),
        ]

    def apart(self, planner: Planner, thing: Collider, frame: float) -> ObstacleOutlines | None:
        """All that is in the way but the seat itself."""
        return planner.in_the_way(frame, [thing.name])

    def no_room(self, planner: Planner, thing: Collider, frame: float, stand: Stand) -> str:
        """What stands before, over or beside the seat, and by how much to move it."""
        seat, pose = stand.handles, pose_at(thing, frame)
        assert isinstance(seat, Seat)
        around = others_around(thing, pose, planner.around(frame))
        sitting, front, left = _axes(seat, pose)
        # Rays from over the seat's back to what is first met before it, seen from above.
        met = ObstacleOutlines.of(around).between(
            planner.floor_under(thing, frame) + ANKLE, sitting[2] + _SITTING[_HEAD, 2]
        )
        out = np.arange(-seat.depth / 2, COMFORTABLE + _RAY, _RAY)
        aside = np.linspace(-1.0, 1.0, 5) * min(seat.width / 2, BODY.trunk)
        rays = sitting + (seat.depth / 2 + out)[:, None, None] * front + aside[:, None] * left
        away = met.distances(rays[..., :2].reshape(-1, 2)).reshape(len(out), len(aside), len(met.low)).min(1)
        if not (away <= 0).any():
            return f"There is no room to sit down on '{thing.name}'. Free the floor before it, or beside it."
        first = int((away <= 0).any(1).argmax())
        name, nearest = around.names[met.owner[int(away[first].argmin())]], float(out[first])
        where = f"stands {100 * nearest:.0f} cm before it" if nearest > _RAY else "reaches over it"
        back = math.ceil((COMFORTABLE - nearest) / ROUND) * ROUND
        return (
            f"There is no room to sit down on '{thing.name}': '{name}' {where}. "
            f"Move '{thing.name}' back, or '{name}' away, by about {100 * back:.0f} cm."
        )

    def hindered(self, planner: Planner, thing: Collider, frame: float, stand: Stand, found: list[Hindrance]) -> str:
        """As where there is no room to stand: one sentence for both."""
        return self.no_room(planner, thing, frame, stand)

    def aim(
        self,
        key: ActionKey,
        thing: Collider,
        pose: Array,
        handles: Handles | None,
        root: Array,
        held: Held | None,
        from_stand: bool = False,
    ) -> Reach:
        """The hips on the seat."""
        assert isinstance(handles, Seat)
        out = seat_aim(thing, pose, seat_toward(handles, pose, root[:2]) if from_stand else handles)
        return out if key.facing is None else replace(out, facing=key.facing)

    def begin(self, number: int, aim: Reach, frame: int) -> Completion:
        """Sitting down."""
        return _Sitting(number, aim, frame)

    def stand_before(self, aim: Reach) -> Array:
        """Before the seat's edge."""
        assert aim.seat is not None
        out: Array = aim.place[:2] + direction(np.array(aim.facing)) * (aim.seat.depth / 2 + IN_FRONT)
        return out

    def in_sector(self, aim: Reach, place: Array) -> bool:
        """Before the seat's edge."""
        away, front = before_edge(aim, place), direction(np.array(aim.facing))
        return float(away @ front) > math.cos(self.sector) * float(np.linalg.norm(away))


class _Sitting(Completion):
    """It sits when its labels say so, or its hips lie there, for a while."""

    def __init__(self, number: int, aim: Reach, since: int) -> None:
        super().__init__(number, aim, since)
        self._still = self._touched = since

    def done(self, character: SceneCharacter, hands: Hands) -> bool:
        hips = sitting_place(character.places[0], character.places[HIP_JOINTS]) - self.aim.place
        away = float(np.linalg.norm(hips))
        sits, touches = character.action[_SIT] > TOUCHES, character.contacts[_HIPS] > TOUCHES
        if not (sits and touches):
            self._touched = character.frame
        sitting = sits and (touches or away < ON_SEAT)
        if not sitting or away > SEATED_WITHIN:
            self._still = character.frame
        if character.frame - self._still < SETTLED * FPS:
            return False
        self.off = away, self.aim.facing - float(character.root[3])
        self.reached = self._still
        return True

    def posture(self, character: SceneCharacter, key: ActionKey) -> Posture | None:
        settled = character.frame - 1
        times = self.since, min(self._touched, settled), settled
        seating = Seating(self.number, self.aim, *times, rises=round(GETTING_UP * FPS), lean=key.lean)
        return Posture(seating, SIT.stand_before(self.aim), GETTING_UP)


SIT = Sit()


@poses_before.register
def _(handles: Seat, collider: Collider, distance: float) -> list[tuple[Array, Array]]:
    middle, front = np.array(handles.place), normalize(np.array(handles.facing))
    left = np.cross(UP, front)
    deep, wide = 0.5 * handles.depth + distance, 0.5 * handles.width + distance
    ways = {"front": deep * front, "back": -deep * front, "left": wide * left, "right": -wide * left}
    return [(middle + ways[side], normalize(ways[side])) for side in handles.approaches or SIDES]


def seat_aim(collider: Collider, pose: Array, seat: Seat | None = None) -> Reach:
    """Sit on a seat whose pose is (7,), by its own handles or others."""
    used = collider.handles if seat is None else seat
    assert isinstance(used, Seat)
    place = to_world(np.array(used.place), pose)
    return Reach(place, facing_of(used.facing, pose), "sit", collider.name, seat=used, standoff=0.0, speed=AT_SEAT)


def seat_toward(seat: Seat, pose: Array, place: Array) -> Seat:
    """The seat as it is sat on from a place (2,) in the world: one that is open on all sides, looking back to there.
    pose: (7,) of the thing, in whose frame the seat is."""
    away = place - to_world(np.array(seat.place), pose)[:2]
    ways = [seat, *other_seats(seat, own_up(pose))]
    return max(ways, key=lambda one: float(direction(np.array(facing_of(one.facing, pose))) @ away))


def before_edge(aim: Reach, place: Array) -> Array:
    """From the part of the front edge of an aim's seat that is nearest to a place (2,), to that place, (2,)."""
    seat = aim.seat
    assert seat is not None
    front = direction(np.array(aim.facing))
    left = np.array([-front[1], front[0]])
    away = place - aim.place[:2] - seat.depth / 2 * front
    out: Array = away - float(np.clip(away @ left, -seat.width / 2, seat.width / 2)) * left
    return out


def _axes(seat: Seat, pose: Array) -> tuple[Array, Array, Array]:
    """The place (3,) of a seat in the world, and level unit vectors (3,) to its front and to the sitter's left."""
    front = normalize(rotate(pose[QUATERNION], np.array(seat.facing)) * [1.0, 1.0, 0.0])
    return to_world(np.array(seat.place), pose), front, np.array([-front[1], front[0], 0.0])


def _sitter(seat: Seat, pose: Array, ground: float) -> Array:
    """Joints (J, 3) of a body that sits upright on a seat, its feet close to the seat's edge; only trunk, head and
    shins count."""
    place, front, left = _axes(seat, pose)
    out = place + _SITTING @ np.stack((left, -front, UP))
    for side in _SIDES:
        hip, knee, foot = MODEL_SKELETON.indices([side + part for part in ("UpLeg", "Leg", "Foot")])
        edge = seat.depth / 2 + RADIUS[side + "Leg"]
        aside = out[hip] + ((place - out[hip]) @ front) * front
        out[knee] = aside + max(_THIGH, edge) * front
        out[foot] = aside + edge * front
        out[foot, 2] = ground + ANKLE_HEIGHT
    return np.asarray(out)


def _in_aisle(goal: Goal, seat: Seat, pose: Array) -> Side:
    """Stands before the middle of a seat's front edge, the back to it, the one farthest from the edge first. pose: (7,)
    of the thing."""
    place, front = to_world(np.array(seat.place), pose), rotate(pose[QUATERNION], np.array(seat.facing))
    out = normalize(front[:2])
    facing = float(angle_of(out)) if goal.facing is None else goal.facing
    edge = Stand(place[:2] + seat.depth / 2 * out, facing, out, seat, sideways=True)
    return [replace(edge, place=edge.moved(far, 0.0)) for far in AISLE]


def _open_sides(seat: Seat, collider: Collider, up: Array) -> list[str]:
    """The SIDES of a seat at which no part of the thing rises that is in the way of sitting down."""
    front, place = normalize(np.array(seat.facing)), np.array(seat.place)
    left = np.cross(up, front)
    away, half = collider.cuboids.center - place, collider.cuboids.half
    rises = away @ up + half @ np.abs(up) > RISES
    along, aside = (np.abs(away @ way) - half @ np.abs(way) for way in (front, left))
    out = []
    for name, way, reach, beside, width in (
        ("front", front, seat.depth / 2, aside, seat.width / 2),
        ("left", left, seat.width / 2, along, seat.depth / 2),
        ("right", -left, seat.width / 2, along, seat.depth / 2),
        ("back", -front, seat.depth / 2, aside, seat.width / 2),
    ):
        closed = rises & (beside < width - RISES) & (away @ way + half @ np.abs(way) > reach - RISES)
        out += [] if closed.any() else [name]
    return out
