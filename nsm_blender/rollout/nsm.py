# SPDX-License-Identifier: GPL-3.0-or-later
"""The NSM's autoregressive rollout (NSM 4): sensors, one network step a frame, bi-directional control."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np

from ..geometry.colliders import Surroundings
from ..geometry.roles import Door, Seat
from ..geometry.scene_state import Scenery
from ..geometry.sensors import Environment
from ..models.nsm import ACTIONS, CONTACTS, CURRENT, ENVIRONMENT, FPS, FRAME, FUTURE, JOINTS, OUTPUT, SAMPLE_FRAMES
from ..models.nsm_kernels import NSM
from ..motion.root import angle_of, direction, to_local, to_world
from ..motion.rotations import Array, wrap_angle
from ..motion.skeleton import MODEL_SKELETON
from .action_label_filter import only_asked, ready
from .collision_avoidance import ROOM, SLIM, SceneBerth
from .doorway import Doorway, doorway
from .goal_input import STANDOFF, GoalInput, Reach, Samples, Stay, Steer, Wish, looks_along
from .grasp_alignment import stepped
from .nsm_features import WINDOW, places_from_goal, places_to_root, points_to_world, rotations_of, rotations_to_world
from .progress_assist import led_on, led_there
from .root_limits import RootMotion, moved_along
from .seat_corner_avoidance import SIDESTEP, WALKS, round_corner
from .sideways_steering import led_through

_DT = 1.0 / FPS
_PAST = -int(WINDOW[0])
_SHARE = np.arange(1, FUTURE + 1) / FUTURE
"""w of lambda = w ^ (d ^ 2): rises from now to the last sample."""
PULL = 3.0
"""1/s at which the root follows what the goal's frame moves the way by, where one uses a thing; elsewhere 1. The more,
the less what the network drifts by leaves it off. Chosen on development furniture: with 1 there too, 12 sits ended 4.2
cm off instead of 2.8, and 8 grasps 8.2 instead of 4.4."""
FASTEST_PULL = 0.5
"""Greatest speed in m/s of the pull to a goal far from things: a goal that changes must not drag a body that stands."""
FASTEST_NEAR = 2.5
"""The same where a thing is used, before `root_limits` bounds the root's whole speed: with 0.5 there too, 24 grasps on
development furniture ended 4.6 cm off instead of 3.1, and 3 of 36 sits took longer than 12 s."""
PULL_NEAR = 0.4
"""Metres from where one is who uses a thing at which the stronger pull has faded out."""
SQUARE = 2.0
"""1/s at which one who comes to use a thing turns to it, the last bit of the way: the goal's frame as the network
predicts it leaves 2 to 3 degrees."""
ASKEW = 0.35
"""Radians: who is turned away by more is busy with turning, and left to it."""
HANGING = 0.3
"""Share a frame by which the fed back arms of a character that idles come to hang as at the start of a rollout: left to
its own pose, the network that raised them once while idling holds them raised for as long as it stands."""
STANDS = 0.1
"""m/s: who is slower stands, the more the slower."""
SETTING_OFF = 0.5
"""Share of the speed that one lacks for where one will be in a second by one's own prediction, which is added to that
of the root where one is steered: a network that stands foresees a walk long before it dares a step (stops of up to 5 s
without this; with 1 starts are a third of a second quicker, and feet slide more)."""
MOST_LACKING = 0.6
"""m/s that count as lacking at most."""
ENDS = (0.4, 1.0)
"""Metres before the end of a way at which nothing is added any more, and from which less is: there one comes to a
stop."""
TOP = 1.6, 3.2
"""Greatest speed of the root in m/s in a walk and in a jog on a way."""
AT_THING = {"sit": 0.2, "carry": 0.4, "idle": 0.4, "open": 0.4}
"""Greatest speed of the root in m/s where a thing is used, by the goal's action: people sit down at 0.9 m/s at most, of
which the bending body takes its share, and reach a box at up to 1.8."""
BRAKING = 0.4
"""Deceleration in m/s^2 with which the root comes to where a thing is used: at 1.8 m it may still jog."""
LEAVING = 0.3
"""Acceleration in m/s^2 with which the root leaves a seat."""
WAY = 1.3
"""Distance in meters from where a thing is used down to which the body faces its way there."""
TURNS = 0.5
"""Distance in meters within which it turns from there to face as the thing is used."""
LEVEL = 0.02
"""Metres over the top on which a thing is put by which what is still the top may rise."""
NEXT = np.linspace(0.0, 0.8, 9)
"""Metres along a way, from where one is, that are kept free to go."""
NEARER = np.array([0.0, 0.08, 0.16])
"""Metres by which one may come nearer than that to what is used."""
AJAR = 0.05
"""Radians from which a leaf is open, so that one keeps out of its way;"""
AT_DOOR = 1.2
"""m/s at which the root is led round it, and off the posts."""
EVADING = 0.6
"""Speed in m/s up to which the root is led off what is in its way elsewhere: a quick sidestep."""
OUT_OF_SEAT = 0.45
"""Metres of one's way from a seat on which one is not kept off it, standing in it."""
_SIT, _IDLE, _SITS = ACTIONS.index("sit"), ACTIONS.index("idle"), 0.5
_HANDS = [CONTACTS.index("LeftHand"), CONTACTS.index("RightHand")]
_ARMS = MODEL_SKELETON.indices([side + part for side in ("Left", "Right") for part in ("Arm", "ForeArm", "Hand")])
_POSE_SHARE = 0.5
"""Weight of the predicted places against the last ones moved by the predicted velocities."""


@dataclass
class Options:
    """The ablations of Table 3. bidirectional: blend the goal-centric prediction in (4.2). interaction, environment:
    use that sensor."""

    bidirectional: bool = True
    interaction: bool = True
    environment: bool = True


@dataclass(frozen=True, eq=False)
class SceneRecord:
    """What a rollout left: root (T, 4); hips (T, 3) and joint places (T, J, 3) world, as the network has them;
    rotations (T, J, 4) world; actions (T, 7); contacts (T, 5); phase (T,); gates (T, K)."""

    root: Array
    places: Array
    rotations: Array
    actions: Array
    contacts: Array
    phase: Array
    gates: Array


class SceneCharacter:
    """A character that acts in a scene: `wish` what it shall do, `step` to advance a frame at 60 fps.

    start: (4,) x, y, z and facing angle. standing: (FRAME.size,) a frame input of someone who stands.
    """

    def __init__(
        self,
        network: NSM,
        standing: Array,
        start: Array,
        scenery: Surroundings | Scenery,
        wish: Wish,
        options: Options | None = None,
        environment: Environment | None = None,
    ) -> None:
        self.network = network
        self.scenery = Scenery(scenery) if isinstance(scenery, Surroundings) else scenery
        self._options, self._environment = options or Options(), environment or Environment()
        self._goal = GoalInput(wish, self.scenery)
        self._berth = SceneBerth()
        self.root = np.asarray(start, dtype=float).copy()
        self._floor = float(self.root[2])
        self.frame = 0
        self.phase = 0.0
        self._motion = RootMotion(np.zeros(2))
        self._standing = np.asarray(standing, dtype=np.float32)
        self._pose = self._standing.copy()
        idle = np.zeros(len(ACTIONS), dtype=np.float32)
        idle[ACTIONS.index("idle")] = 1
        self._history = [self.root.copy() for _ in range(_PAST + 1)]
        self._actions = [idle.copy() for _ in range(_PAST + 1)]
        self._future_place = np.tile(self.root[:2], (FUTURE, 1))
        self._future_facing = np.full(FUTURE, self.root[3])
        self._future_action = np.tile(idle, (FUTURE, 1))
        self._records: list[tuple[Array, ...]] = []
        self._turned: tuple[tuple[Array, ...], Array] | None = None
        self._beside = dict[str, tuple[float, float]]()

    @property
    def action(self) -> Array:
        """Labels (7,) of the current frame."""
        return self._actions[-1]

    @property
    def wanted(self) -> Wish:
        """What it shall do now."""
        return self._goal.wish

    def wish(self, wish: Wish) -> None:
        """Want something else from now on."""
        self._goal.change(wish, self.frame)

    def step(self) -> None:
        """Advance one frame."""
        goal, interaction = self._goal.values(self.root, self.frame)
        if not self._options.interaction:
            interaction[:] = 0
        around = self._sensed()
        y = self.network.predict(self._frame_input(), goal, interaction, around, self.phase)
        samples = self._goal.samples(self.root, self.frame)
        self._advance(y, samples)
        self.frame += 1
        self._record(y)

    def fork(self) -> SceneCharacter:
        """Another one that goes on from here on its own; what was is shared."""
        out = copy.copy(self)
        out.scenery = self.scenery.fork()
        out._goal = self._goal.fork(out.scenery)
        out._berth = copy.copy(self._berth)
        out._pose = self._pose.copy()
        out._history, out._actions, out._records = list(self._history), list(self._actions), list(self._records)
        return out

    @property
    def places(self) -> Array:
        """Joint places (J, 3) in the world in the last frame."""
        return self._records[-1][1] if self._records else self._world_places()

    @property
    def rotations(self) -> Array:
        """World rotations (J, 4) in the last frame; there must be one."""
        if self._turned is None or self._turned[0] is not self._records[-1]:
            root, axes = self._records[-1][0], self._records[-1][2]
            self._turned = self._records[-1], rotations_to_world(rotations_of(axes), root)
        return self._turned[1]

    @property
    def contacts(self) -> Array:
        """Contact labels (5,) of models.nsm.CONTACTS in the last frame."""
        return self._records[-1][4] if self._records else np.zeros(len(CONTACTS))

    @property
    def speed(self) -> float:
        """m/s of the root over the ground, over the last sixth of a second."""
        span = min(SAMPLE_FRAMES, len(self._history) - 1)
        return float(np.linalg.norm(self.root[:2] - self._history[-1 - span][:2])) * FPS / span

    def _sensed(self) -> Array:
        sensor = self._environment
        if not self._options.environment:
            return np.zeros(ENVIRONMENT.size, dtype=np.float32)
        middle = self.root[:3] + np.array([0.0, 0.0, sensor.height / 2])
        reach = float(np.hypot(sensor.radius, sensor.height / 2)) + sensor.sphere
        near, wish = self.scenery.near(self.frame, middle, reach), self.wanted
        if isinstance(wish, Reach) and wish.top is not None:
            # The network, which knows few shelves, takes their sides and the boards above for a place near the floor.
            near = near.below(wish.top[0], wish.top[1] + LEVEL)
        return sensor.values(near, self.root)

    def _world_places(self) -> Array:
        return points_to_world(self._pose[FRAME.joint_position].reshape(JOINTS, 3).astype(float), self.root)

    def _frame_input(self) -> Array:
        x = self._pose
        past = np.array([self._history[i] for i in WINDOW[:CURRENT] - 1])
        place = np.concatenate((past[:, :2], self.root[None, :2], self._future_place))
        facing = np.concatenate((past[:, 3], self.root[3:], self._future_facing))
        x[FRAME.trajectory_position] = places_to_root(place, self.root).ravel()
        x[FRAME.trajectory_direction] = direction(facing - self.root[3]).ravel()
        actions = np.array([self._actions[i] for i in WINDOW[: CURRENT + 1] - 1])
        x[FRAME.trajectory_action] = np.concatenate((actions, self._future_action)).ravel()
        return x

    def _advance(self, y: Array, goal: Samples) -> None:
        before = self.root
        speed = y[OUTPUT.root_velocity]
        if isinstance(self._goal.wish, Steer):
            left = float(np.linalg.norm(goal.place[-1, :2] - before[:2]))
            share = min(max((left - ENDS[0]) / (ENDS[1] - ENDS[0]), 0.0), 1.0)
            # Who looks elsewhere is to turn first.
            share *= max(math.cos(goal.facing[CURRENT] - before[3]), 0.0)
            speed = speed + share * _lacking(speed, y[OUTPUT.trajectory_position].reshape(FUTURE, 2)[-1])
        step = to_world(speed * _DT, before[3])
        turning = float(y[OUTPUT.root_turn][0])
        root = before + np.array([step[0], step[1], 0.0, turning * _DT])
        place = to_world(y[OUTPUT.trajectory_position].reshape(FUTURE, 2), root[3]) + root[:2]
        heading = to_world(y[OUTPUT.trajectory_direction].reshape(FUTURE, 2), root[3])
        if self._options.bidirectional:
            place, heading, pull, turn = _towards_goal(y, place, heading, goal)
            near = _nearness(place[-1], self._goal.wish)
            rate = 1 + (PULL - 1) * near
            pull *= rate
            fastest = FASTEST_PULL + (FASTEST_NEAR - FASTEST_PULL) * near
            root[:2] += pull * min(fastest / max(float(np.linalg.norm(pull)), 1e-9), 1.0) * _DT
            root[3] += (rate * turn + SQUARE * near * _askew(goal, root[3])) * _DT
        if self._records and isinstance(self._goal.wish, Reach):
            root[:2] += stepped(self._goal.wish, self.places, self.rotations, self.contacts[_HANDS]) * _DT
        if isinstance(self._goal.wish, Steer):
            place, heading = led_through(self._goal.wish.walker, before, root, place, heading)
            place = led_on(self._goal.wish, root, place)
        if isinstance(self._goal.wish, Stay):
            place = led_there(self._goal.wish, root, place)
        wish = self._goal.wish
        top, band, towards = _top_speed(wish, before), *_asked_turns(goal, wish, before)
        free = self._motion.limited(before, root, top, band, towards)
        place, self._future_facing = moved_along(place, angle_of(heading), root, free, band)
        root = free.copy()
        place = self._through_door(root, self._round_corners(root, place))
        root[:2] = self._motion.diverted(before, free, root, max(top, AT_DOOR if _at_door(wish) else EVADING))
        room = SLIM if isinstance(wish, Steer) and wish.walker.aside > 0 else ROOM
        place = self._berth.kept_off(self.scenery, self.frame, before, root, place, _way(wish), _used(wish), room)
        root[2] = self.scenery.ground(self.frame, root[None, :2], self._floor)[0]
        self._motion = RootMotion.between(before, root)
        self.root, self._future_place = root, place
        actions = np.clip(y[OUTPUT.trajectory_action].reshape(FUTURE + 1, -1), 0, 1)
        actions = only_asked(actions, self.action, self._goal.wish)
        self._future_action = ready(actions[1:], self._goal.wish, root, self._idles(actions[0]))
        self._history.append(root)
        self._actions.append(actions[0])
        self.phase = (self.phase + max(float(y[OUTPUT.phase_change][0]), 0.0) * _DT) % (2 * np.pi)
        self._set_pose(y, before)

    def _idles(self, action: Array) -> float:
        """0..1, how far one stands whose labels are (7,), and idles."""
        return float(action[_IDLE]) * max(1 - self.speed / STANDS, 0.0)

    def _round_corners(self, root: Array, place: Array) -> Array:
        """Future places (6, 2) of the root, led round the seat that one walks to; so is the root (4,), in place."""
        wish = self._goal.wish
        seat = wish.seat if isinstance(wish, Reach) else None
        if not isinstance(wish, Reach) or not isinstance(seat, Seat) or self.action[_SIT] > _SITS:
            return place
        walks = min(max((self.speed - WALKS[0]) / (WALKS[1] - WALKS[0]), 0.0), 1.0)
        lack = walks * round_corner(seat, wish.place, wish.facing, np.concatenate((root[None, :2], place)))
        length = float(np.linalg.norm(lack[0]))
        root[:2] += lack[0] * min(SIDESTEP * _DT / max(length, 1e-9), 1.0)
        return place + lack[1:]

    def _through_door(self, root: Array, place: Array) -> Array:
        """Future places (6, 2) of the root, led round the leaf of the door that one opens or goes through and between
        its posts; so is the root (4,), in place."""
        wish = self._goal.wish
        goes = isinstance(wish, Steer) and bool(wish.door)
        name = wish.door if isinstance(wish, Steer) else wish.thing if isinstance(wish, Reach) else ""
        if not name or not isinstance(self.scenery.collider(name).handles, Door):
            return place
        door, points = doorway(self.scenery.collider(name), self.scenery.pose(name, self.frame)), root[None, :2]
        points = np.concatenate((points, place))
        room = self._room_beside(name, door)
        lack = door.off_side(points, room)
        if goes or door.turned > AJAR:
            lack += door.round_leaf(points, room[1]) + door.off_wall(points)
        if goes:
            lack += door.in_lane(points)
        length = float(np.linalg.norm(lack[0]))
        root[:2] += lack[0] * min(AT_DOOR * _DT / max(length, 1e-9), 1.0)
        return place + lack[1:]

    def _room_beside(self, name: str, door: Doorway) -> tuple[float, float]:
        """As `Doorway.beside` tells it, of the sides -1 and 1."""
        if name not in self._beside:
            middle = np.append(door.hinge, self._floor + 1)
            things = self.scenery.near(self.frame, middle, 2 * door.width + 1).without([name])
            self._beside[name] = door.beside(things, -1, self._floor), door.beside(things, 1, self._floor)
        return self._beside[name]

    def _set_pose(self, y: Array, before: Array) -> None:
        shape = (JOINTS, 3)
        predicted = y[OUTPUT.joint_position].reshape(shape)
        speed = y[OUTPUT.joint_velocity].reshape(shape)
        if self._options.bidirectional:
            ahead = y[OUTPUT.future_joint_position].reshape(shape)
            angle = float(self._future_facing[-1] - self.root[3])
            coming = ahead.copy()
            coming[:, :2] = to_world(ahead[:, :2], angle)
            coming[:, :2] += to_local(self._future_place[-1] - self.root[:2], self.root[3])
            speed = (1 - _DT) * speed + _DT * (coming - predicted)
        last = points_to_world(self._pose[FRAME.joint_position].reshape(shape), before)
        carried = last - self.root[:3]
        carried[:, :2] = to_local(carried[:, :2], self.root[3])
        moved = carried + speed * _DT
        self._pose[FRAME.joint_position] = (_POSE_SHARE * predicted + (1 - _POSE_SHARE) * moved).ravel()
        self._pose[FRAME.joint_rotation] = y[OUTPUT.joint_rotation]
        if isinstance(self._goal.wish, Stay) and not self._goal.wish.thing:
            share = HANGING * self._idles(self.action)
            for part in (FRAME.joint_position, FRAME.joint_rotation):
                pose, hanging = (values[part].reshape(JOINTS, -1) for values in (self._pose, self._standing))
                pose[_ARMS] += share * (hanging[_ARMS] - pose[_ARMS])
        self._pose[FRAME.joint_velocity] = speed.ravel()

    def _record(self, y: Array) -> None:
        places = self._world_places()
        axes = y[OUTPUT.joint_rotation].reshape(JOINTS, 2, 3).astype(float)
        contacts = np.clip(y[OUTPUT.contact], 0, 1)
        self._records.append((self.root, places, axes, self.action, contacts, np.array(self.phase), self.network.omega))

    def record(self) -> SceneRecord:
        """All steps so far."""
        root, places, axes, *others = (np.array(column) for column in zip(*self._records, strict=True))
        return SceneRecord(root, places, rotations_to_world(rotations_of(axes), root), *others)


def _way(wish: Wish) -> Array:
    """Places (N, 2) on which one is to be next: on one's way, or where one is who uses the thing."""
    if isinstance(wish, Steer):
        return wish.walker.places(wish.walker.along + NEXT)
    if isinstance(wish, Reach):
        away = np.maximum(STANDOFF[wish.action] - NEARER, 0.0)[:, None]
        return np.asarray(wish.place[:2] - away * direction(np.array(wish.facing)))
    return np.asarray(wish.place[:2])[None] if isinstance(wish, Stay) else np.zeros((0, 2))


def _used(wish: Wish) -> frozenset[str]:
    """Names of the things that one does not keep off."""
    if not isinstance(wish, Steer):
        return frozenset({wish.thing} - {""})
    seat = wish.seat if wish.walker.along < OUT_OF_SEAT else ""
    return frozenset({wish.thing, wish.door, seat} - {""})


def _at_door(wish: Wish) -> bool:
    """Whether a door is opened or gone through."""
    return bool(wish.door) if isinstance(wish, Steer) else isinstance(wish, Reach) and wish.action == "open"


def _nearness(place: Array, wish: Wish) -> float:
    """0..1, how near one is to using a thing, who will be at a place (2,) in a second."""
    if not isinstance(wish, Reach):
        return 0.0
    away = float(np.linalg.norm(place - wish.place[:2]))
    return min(max(1 - (away - STANDOFF[wish.action]) / PULL_NEAR, 0.0), 1.0)


def _askew(goal: Samples, facing: float) -> float:
    """Radians to the goal's facing, as far as they are the last bit."""
    turn = float(wrap_angle(goal.facing[-1] - facing))
    return turn * math.exp(-((turn / ASKEW) ** 2))


def _asked_turns(goal: Samples, wish: Wish, root: Array) -> tuple[tuple[float, float], float]:
    """Radians from the facing of a root (4,) to the farthest that are asked for, to the right (0 or less) and to the
    left (0 or more), and to the one that is asked for now: before a thing is used, the one of the way there."""
    turns, now = [0.0, *(goal.facing - root[3]).tolist()], goal.turned - float(root[3])
    if isinstance(wish, Reach):
        to = wish.place[:2] - root[:2]
        near = min(max((WAY - float(np.linalg.norm(to)) + STANDOFF[wish.action]) / TURNS, 0.0), 1.0)
        if near < 1:
            way = float(wrap_angle(angle_of(to) - root[3]))
            turns.append(way)
            far = (1 - near) * looks_along(way)
            now = (1 - far) * now + far * way
    return (min(turns), max(turns)), now


def _top_speed(wish: Wish, root: Array) -> float:
    """m/s of a root (4,) at most: on a way its gait's, near a thing less."""
    if isinstance(wish, Steer):
        top = TOP[wish.action == "run"]
        return min(AT_THING["sit"] + math.sqrt(2 * LEAVING * wish.walker.along), top) if wish.seat else top
    if not isinstance(wish, Reach):
        return TOP[0]
    away = max(float(np.linalg.norm(wish.place[:2] - root[:2])) - STANDOFF[wish.action], 0.0)
    return min(AT_THING[wish.action] + math.sqrt(2 * BRAKING * away), TOP[0])


def _lacking(speed: Array, ahead: Array) -> Array:
    """m/s (2,) to add to the root's speed (2,) of one who foresees to be at `ahead` (2,) in a second, both in the root
    frame."""
    far = float(np.linalg.norm(ahead))
    lack = min(max(far - float(np.linalg.norm(speed)), 0.0), MOST_LACKING)
    out: Array = SETTING_OFF * lack * ahead / max(far, 1e-9)
    return out


def _towards_goal(y: Array, place: Array, heading: Array, goal: Samples) -> tuple[Array, Array, Array, float]:
    """The future trajectory blended with the one predicted in the goals' frames: lambda = w ^ (d ^ 2) (4.2).

    Returns places and headings (6, 2) in the world, and by how much the blend moves the last one, (2,) metres and
    radians: the root follows that.
    """
    at, facing = goal.place[-FUTURE:, :2], goal.facing[-FUTURE:]
    wanted = places_from_goal(y[OUTPUT.goal_trajectory_position].reshape(FUTURE, 2), at, facing)
    wanted_heading = to_world(y[OUTPUT.goal_trajectory_direction].reshape(FUTURE, 2), facing)
    squared = np.sum((wanted - at) ** 2, axis=1)
    blend = (_SHARE**squared)[:, None]
    new_place = (1 - blend) * place + blend * wanted
    new_heading = (1 - blend) * heading + blend * wanted_heading
    pull = new_place[-1] - place[-1]
    turn = angle_of(new_heading[-1]) - angle_of(heading[-1])
    return new_place, new_heading, pull, float((turn + np.pi) % (2 * np.pi) - np.pi)
