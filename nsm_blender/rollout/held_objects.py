# SPDX-License-Identifier: GPL-3.0-or-later
"""Hands and what they move: a box lies between the palms, a door's handle goes with the hand."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..geometry.body import solid
from ..geometry.colliders import PLACE, QUATERNION
from ..geometry.roles import Carryable, Door
from ..geometry.scene_state import Scenery, to_world, turned_about
from ..models.nsm import CONTACTS, FPS
from ..motion.easing import smoothstep
from ..motion.ik import ARMS
from ..motion.rotations import Array, from_yaw, multiply, normalize, rotate, slerp, wrap_angle
from ..motion.skeleton import MODEL_SKELETON
from .doorway import doorway
from .goal_input import RAMP

PALM = 0.09
"""Distance in meters from the wrist to the middle of the palm."""
PALM_THICKNESS = 0.02
"""Distance in meters from the middle of the palm's bones to the face that it lies on."""
TOUCHES = 0.5
"""Contact label above which a joint is in contact."""


@dataclass(frozen=True)
class Taking:
    """When palms take a box."""

    reach: float = 0.3
    """Distance in meters from the box, or from a handle, at which hands take it at most."""

    near: float = 0.08
    """Distance in meters from the box within which it is taken as soon as they come no nearer."""

    after: float = 0.4
    """Seconds without coming nearer from which the distance rises at which the box is taken."""

    lenient: float = 0.2
    """Rate in m/s at which it rises: the clean-up brings palms to a box by what the network lacks."""

    low: float = 0.3
    """Height in meters over the ground up to which a box is low: the network's hands end over it."""

    over: float = 0.18
    """Height in meters of the palms over a low box from which it is taken: the clean-up crouches lower for it."""

    nearer: float = 0.005
    """Meters by which palms must come nearer to count as coming nearer."""

    settles: float = 0.1
    """Seconds without after which they come no nearer: palms that are still on their way when they take a box jerk."""


@dataclass(frozen=True)
class Leaving:
    """When palms let go of a box at its place."""

    near: float = 0.06
    """Distance in meters from its place within which a box is let go of that comes no nearer."""

    lenient: float = 0.06
    """Rate in m/s at which that distance rises from then on."""

    reach: float = 0.25
    """Distance in meters at which a box is let go of at most."""

    lowered: float = 0.7
    """Share by which the height over the place counts: the clean-up crouches for it."""

    nearer: float = 0.001
    """Meters by which a box must come nearer to count as coming nearer."""

    settles: float = 0.02
    """Seconds without after which it comes no nearer, two frames: hands go on past the place, and after 0.1 s 40 boxes
    were put down 0.8 cm farther from theirs."""


@dataclass(frozen=True)
class Swinging:
    """How a leaf follows the hand at its handle, and goes on."""

    on: float = 0.08
    """Share of its angle from which a leaf that is let go of swings on by itself."""

    speed: float = 0.8
    """Speed in rad/s at which it swings: with 1.2, the hips of a character that steps back for it accelerate by a
    third more."""

    shoved: float = 4.0
    """Greatest speed in rad/s of a leaf that gives way to a body that comes through."""

    follows: float = 0.5
    """Speed in rad/s at which a leaf gives way at least to the hand that holds its handle."""

    gives_way: float = 0.25
    """Seconds after the hand took the handle from which it does."""

    slips: float = 0.05
    """Meters that a handle may be out of the arm's reach before the hand lets go."""

    gap: int = round(0.6 * FPS)
    """Frames for which the hand's label may say that it lets go before it does."""


TAKING, LEAVING, SWINGING = Taking(), Leaving(), Swinging()
EASES = round(RAMP * FPS)
"""Frames over which the network sees a box come into the hands from where it lay, and to its place from the hands that
let go, as long as goals take to change: where its sensors see a jump, the body accelerates by 100 m/s^2."""
LEVER = 0.07
"""Distance in meters from the leaf's middle plane to the palm on its lever."""
_WIDE = 1e-9
"""Radians: a leaf that lacks less stands as wide open as it goes."""
_HANDS = [CONTACTS.index("LeftHand"), CONTACTS.index("RightHand")]


@dataclass(frozen=True, eq=False)
class Hold:
    """A box in the hands. taken, left: frames of the rollout, left None while it is held. lying: (7,) its pose when it
    was taken. goal: (7,) its pose where it was put down. key_taken, key_left: numbers of the keys that asked for it."""

    name: str
    handles: Carryable
    lying: Array
    taken: int
    key_taken: int
    left: int | None = None
    goal: Array | None = None
    key_left: int | None = None


@dataclass(frozen=True, eq=False)
class Grip:
    """A hand at a door's handle from frame `first` to `last`, which grows. place: (3,) of the palm in the leaf's
    frame, on its near side. free: whether the hand has let go for good."""

    name: str
    handles: Door
    side: str
    place: Array
    first: int
    last: int
    free: bool = False


def palm(places: Array, rotations: Array, side: str) -> Array:
    """Middle of the palm (..., 3) of joint places (..., J, 3) and world rotations (..., J, 4)."""
    hand = MODEL_SKELETON.index(side + "Hand")
    out = np.array([PALM if side == "Left" else -PALM, 0.0, 0.0])
    turned: Array = rotate(rotations[..., hand, :], np.broadcast_to(out, rotations[..., hand, :3].shape))
    return places[..., hand, :] + turned


def between_palms(places: Array, rotations: Array) -> tuple[Array, Array]:
    """Middle (..., 3) between the palms, and the angle (...) about +Z of the line from the right one to the left."""
    left, right = palm(places, rotations, "Left"), palm(places, rotations, "Right")
    across = left - right
    return (left + right) / 2, np.arctan2(across[..., 1], across[..., 0])


def grasp_of(handles: Carryable, pose: Array) -> tuple[Array, Array]:
    """As `between_palms`, for palms on the faces of a box whose pose is (..., 7)."""
    left, right = to_world(np.array(handles.left), pose), to_world(np.array(handles.right), pose)
    across = left - right
    return (left + right) / 2, np.arctan2(across[..., 1], across[..., 0])


def carried_pose(handles: Carryable, lying: Array, middle: Array, angle: Array) -> Array:
    """Poses (..., 7) of a box, upright as it lay, between palms as `between_palms` gives them."""
    _, was = grasp_of(handles, lying)
    turn = from_yaw(angle - was)
    quaternion = multiply(turn, np.broadcast_to(lying[QUATERNION], turn.shape))
    local = (np.array(handles.left) + np.array(handles.right)) / 2
    place = middle - rotate(quaternion, np.broadcast_to(local, middle.shape))
    return np.concatenate((place, normalize(quaternion)), axis=-1)


class Body(Protocol):
    """A body in one frame."""

    @property
    def places(self) -> Array:
        """Joint places (J, 3) in the world."""

    @property
    def rotations(self) -> Array:
        """World rotations (J, 4)."""

    @property
    def contacts(self) -> Array:
        """Labels (5,) of models.nsm.CONTACTS."""


class Hands:
    """Moves the things of a scenery with the hands, frame by frame.

    holds, grips: what was held so far. tracks: poses of all moved things, by name, for each frame.
    """

    def __init__(self, scenery: Scenery) -> None:
        self._scenery = scenery
        self.holds: list[Hold] = []
        self.grips: list[Grip] = []
        self.tracks: list[dict[str, Array]] = []
        self._asked, self._away, self._waits = -1, np.inf, 0.0
        self._let_go = np.zeros(0)

    def fork(self, scenery: Scenery) -> Hands:
        """A copy that goes on from here on its own."""
        out = copy.copy(self)
        out._scenery = scenery
        out.holds, out.grips, out.tracks = list(self.holds), list(self.grips), list(self.tracks)
        return out

    @property
    def holding(self) -> Hold | None:
        """What is in the hands now."""
        return self.holds[-1] if self.holds and self.holds[-1].left is None else None

    def follow(self, body: Body, frame: int) -> None:
        """Move what is held to where the hands are in this frame."""
        hold, moved, there = self.holding, self._scenery.moved, dict[str, Array]()
        before = self.holds[-1] if self.holds else None
        if hold is not None:
            middle, angle = between_palms(body.places, body.rotations)
            there[hold.name] = carried_pose(hold.handles, hold.lying, middle, angle)
            moved[hold.name] = _eased(hold.lying, there[hold.name], frame - hold.taken)
        elif before is not None and before.left is not None and frame - before.left <= EASES:
            assert before.goal is not None
            there[before.name] = before.goal
            moved[before.name] = _eased(self._let_go, before.goal, frame - before.left)
        elif self.grips and self.gripping(self.grips[-1].name, frame):
            self._pull(body, frame)
        elif self.grips:
            self._swing_on(body, frame)
        self.tracks.append({**moved, **there})

    def take(self, name: str, body: Body, frame: int, key: int, grasp: Carryable | None = None) -> bool:
        """Take a box when both palms touch it and come no nearer; whether they do. grasp: by which, if not by its
        handles."""
        handles, pose = grasp or self._scenery.collider(name).handles, self._scenery.pose(name, frame)
        assert isinstance(handles, Carryable)
        middle, _ = between_palms(body.places, body.rotations)
        off = middle - grasp_of(handles, pose)[0]
        away = float(np.linalg.norm(off))
        touching = bool((body.contacts[_HANDS] > TOUCHES).all())
        waits = self._waited(key, away, TAKING.nearer, float(touching))
        reach = min(TAKING.near + TAKING.lenient * max(waits - TAKING.after, 0.0), TAKING.reach)
        low = middle[2] - off[2] - body.places[:, 2].min() < TAKING.low and 0 < off[2] < TAKING.over
        near = away < reach or (low and np.linalg.norm(off[:2]) < TAKING.near)
        if not (touching and near) or waits < TAKING.settles:
            return False
        self.holds.append(Hold(name, handles, pose, frame, key))
        return True

    def leave(self, goal: Array, frame: int, key: int) -> bool:
        """Let go of the box that is held when it is where it shall be, `goal` (7,); whether it is."""
        hold = self.holding
        assert hold is not None
        pose = self._scenery.pose(hold.name, frame)
        off = pose[PLACE] - goal[PLACE]
        away = float(np.linalg.norm(off * np.array([1.0, 1.0, LEAVING.lowered if off[2] > 0 else 1.0])))
        late = self._waited(key, away, LEAVING.nearer) - LEAVING.settles
        if late < 0 or away > min(LEAVING.near + LEAVING.lenient * late, LEAVING.reach):
            return False
        self.holds[-1] = replace(hold, left=frame, goal=goal, key_left=key)
        self._let_go = pose
        return True

    def _waited(self, key: int, away: float, nearer: float, share: float = 1.0) -> float:
        """Seconds for which the hands of a key came no nearer to what they want, `away` meters from it now, than some
        meters less than before; this frame counts by a share."""
        if self._asked != key or away < self._away - nearer:
            self._asked, self._away, self._waits = key, away, 0.0
        self._waits += share / FPS
        return self._waits

    def grip(self, name: str, body: Body, frame: int) -> bool:
        """Take a door's handle when a hand touches it; whether one does."""
        handles = self._scenery.collider(name).handles
        assert isinstance(handles, Door)
        for side, place in self._near_handle(name, body, frame).items():
            if body.contacts[_HANDS[list(ARMS).index(side)]] >= TOUCHES:
                self.grips.append(Grip(name, handles, side, place, frame, frame - 1))
                return True
        return False

    def _near_handle(self, name: str, body: Body, frame: int) -> dict[str, Array]:
        """The sides whose hands are near enough to take a door's handle, and the places (3,) of the palms on it then,
        in the leaf's frame."""
        handles, pose = self._scenery.collider(name).handles, self._scenery.pose(name, frame)
        assert isinstance(handles, Door)
        handle = np.array(handles.handle)
        across = normalize(np.cross(np.array(handles.axis), handle - np.array(handles.hinge)))
        near = np.sign((body.places[0] - to_world(handle, pose)) @ rotate(pose[QUATERNION], across))
        place = handle + near * LEVER * across
        return {
            side: place
            for side in ARMS
            if np.linalg.norm(palm(body.places, body.rotations, side) - to_world(handle, pose)) <= TAKING.reach
            and _beyond_reach(body, side, to_world(place, pose)) < 0
        }

    def release(self, name: str) -> None:
        """Let go of a door's handle for good."""
        if self.grips and self.grips[-1].name == name:
            self.grips[-1] = replace(self.grips[-1], free=True)

    def gripping(self, name: str, frame: int) -> bool:
        """Whether a hand is at the handle of a door."""
        if not self.grips:
            return False
        grip = self.grips[-1]
        return grip.name == name and not grip.free and grip.last >= frame - SWINGING.gap

    def opened(self, name: str) -> float:
        """Share 0..1 of its angle by which a door stands open."""
        return self._share(name, self._scenery.pose(name, 0))

    def _share(self, name: str, pose: Array) -> float:
        collider = self._scenery.collider(name)
        handles = collider.handles
        assert isinstance(handles, Door)
        shut = np.asarray(collider.poses[0], dtype=float)
        turn = multiply(shut[QUATERNION] * np.array([1.0, -1, -1, -1]), pose[QUATERNION])
        angle = 2 * np.arctan2(turn[1:] @ np.array(handles.axis), turn[0])
        return float(wrap_angle(np.array(angle))) / handles.angle

    def let_go(self, name: str, frame: int) -> bool:
        """Whether a door was opened so far that it swings on by itself."""
        gripped = bool(self.grips) and self.grips[-1].name == name
        return gripped and not self.gripping(name, frame) and self.opened(name) > SWINGING.on

    def _swing_on(self, body: Body, frame: int) -> None:
        """Turn a door that was let go of until it stands open."""
        grip = self.grips[-1]
        on = SWINGING.speed / FPS if self.opened(grip.name) > SWINGING.on else 0.0
        self._turn(grip, body, frame, on)

    def _pull(self, body: Body, frame: int) -> None:
        """Turn the door so that its handle is at the hand, and never back, while the hand holds it.

        It gives way slowly even to a hand that waits: the network moves its hand with the leaf that it sees moving.
        """
        grip = self.grips[-1]
        handles, pose = grip.handles, self._scenery.pose(grip.name, frame)
        hand = palm(body.places, body.rotations, grip.side)
        beyond = _beyond_reach(body, grip.side, to_world(grip.place, pose))
        shoved = not _pulled(grip) and self.opened(grip.name) > SWINGING.on
        if beyond > (0 if shoved else SWINGING.slips):
            # A leaf that is pushed is let go of at arm's length.
            self.release(grip.name)
            return
        if body.contacts[_HANDS[list(ARMS).index(grip.side)]] >= TOUCHES:
            self.grips[-1] = replace(grip, last=frame)
        hinge, axis = to_world(np.array(handles.hinge), pose), rotate(pose[QUATERNION], np.array(handles.axis))
        from_hinge = to_world(grip.place, pose) - hinge
        turn = float(np.arctan2(axis @ np.cross(from_hinge, hand - hinge), _across(from_hinge, hand - hinge, axis)))
        turn *= float(np.sign(handles.angle))
        if frame - grip.first > SWINGING.gives_way * FPS:
            turn = max(turn, SWINGING.follows / FPS)
        if beyond > 0:
            # It waits for a body that has to come along.
            turn = 0.0
        self._turn(grip, body, frame, turn)

    def _turn(self, grip: Grip, body: Body, frame: int, turn: float) -> None:
        """Open a door by radians, no farther than it goes, and not through the body: it waits for a body where it
        swings to, and gives way to a body that pushes it."""
        pose, handles, share = self._scenery.pose(grip.name, frame), grip.handles, self.opened(grip.name)
        way, most = float(np.sign(handles.angle)), (1 - share) * abs(handles.angle)
        if most < _WIDE:
            return
        door = doorway(self._scenery.collider(grip.name), pose)
        turn = min(turn, SWINGING.speed / FPS)
        points, radii = solid(body.places)
        if _pulled(grip):
            turn = min(turn, max(door.room(points[:, :2], radii), 0.0))
        else:
            turn = max(turn, min(door.way(points[:, :2], radii), SWINGING.shoved / FPS))
        turn = min(max(turn, 0.0), max(most, 0.0))
        if turn > 0:
            self._scenery.moved[grip.name] = turned_about(
                pose, np.array(handles.hinge), np.array(handles.axis), way * turn
            )


def _eased(a: Array, b: Array, frames: int) -> Array:
    """The pose (7,) that comes from `a` (7,) to `b` (7,) within EASES frames, so many frames later."""
    share = smoothstep(np.array(min(frames / EASES, 1.0)))
    return np.concatenate((a[PLACE] + share * (b - a)[PLACE], slerp(a[QUATERNION], b[QUATERNION], share)))


def _pulled(grip: Grip) -> bool:
    """Whether the hand is on the side to which the leaf swings."""
    handles = grip.handles
    across = np.cross(np.array(handles.axis), np.array(handles.handle) - np.array(handles.hinge))
    return float((grip.place - np.array(handles.handle)) @ across) * handles.angle > 0


def _beyond_reach(body: Body, side: str, place: Array) -> float:
    """Meters by which a place (3,) for the palm is farther off than the arm is long."""
    limb = ARMS[side]
    upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
    wrist = place - (palm(body.places, body.rotations, side) - body.places[end])
    length = np.linalg.norm(MODEL_SKELETON.offsets[[middle, end]], axis=1).sum()
    return float(np.linalg.norm(wrist - body.places[upper]) - length)


def _across(a: Array, b: Array, axis: Array) -> float:
    """Product of what of two vectors (3,) lies across an axis."""
    return float(a @ b - (axis @ a) * (axis @ b))
