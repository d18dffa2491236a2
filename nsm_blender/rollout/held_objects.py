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
from ..motion.ik import ARMS
from ..motion.rotations import Array, from_yaw, multiply, normalize, rotate, wrap_angle
from ..motion.skeleton import MODEL_SKELETON
from .doorway import doorway

PALM = 0.09
"""Metres from the wrist to the middle of the palm."""
PALM_THICKNESS = 0.02
"""Metres between the middle of the palm's bones and the face that it lies on."""
TOUCHES = 0.5
"""Contact labels above this mean contact."""
GRASP_REACH = 0.3
"""Metres that the palms may be off a box, or a hand off a handle, when they take hold."""
GRASP_NEAR = 0.08
"""Metres within which a box is taken at once: who bends half way and thinks that he touches it, bends again,"""
BENDS_AGAIN = 4.0, 3.0
"""for so many seconds since then, and after so many more is content with GRASP_REACH."""
LOW = 0.3
"""Metres over the ground up to which a box is low: the network's hands end over it,"""
STOOPS = 0.18
"""by so many at most, which one stoops lower for: else one bends again and again, farther off each time."""
CLOSES_AFTER = 1.0
"""Seconds that the palms touch a box after which they take it, even when they still come nearer"""
COMES_NEARER = 0.005
"""by so many metres"""
WITHIN = 5
"""in so many frames."""
LEAVE_NEAR = 0.06
"""Metres from its place within which a box is let go"""
LEAVE_AFTER = 0.4
"""seconds after it last came nearer,"""
LENIENT = 0.06
"""and so many more each second from then on,"""
LEAVE_REACH = 0.25
"""up to here;"""
LEAVING = 3.0
"""those seconds count so many times while the hands' labels say that they let go,"""
LOWERED = 0.7
"""and metres straight over the place count by this share, as one stoops for them."""
SWINGS_ON = 0.08
"""Share of its angle from which a door that is let go of swings on,"""
SWING = 1.2
"""rad/s;"""
WIDE = 1e-9
"""Radians: a door that lacks less stands as wide open as it goes."""
SHOVED = 4.0
"""rad/s at most where a body comes through, as long as it is in the way."""
FOLLOWS = 0.8
"""rad/s at which a door gives way at least to the hand that holds its handle,"""
GIVES_WAY_AFTER = 0.25
"""seconds after the hand took it."""
TRAIL, TRAILED = round(0.4 * FPS), 8
"""Frames for which a leaf that is pulled keeps off where the body was, and between those that count: feet that are
planted stay behind one who is led aside, and bend his legs there."""
LEVER = 0.07
"""Metres from the leaf's middle plane to the palm on its lever."""
SLIPS = 0.05
"""Metres that a lever may be out of the arm's reach before the hand lets go,"""
GAP = round(0.6 * FPS)
"""or frames for which its label says so."""
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
        self._waits, self._touching = 0.0, 0
        self._bends = -1, 0
        self._asked, self._away = -1, np.inf
        self._reaching: tuple[float, ...] = ()
        self._trail: list[Array] = []

    def fork(self, scenery: Scenery) -> Hands:
        """Another one that goes on from here on its own."""
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
        self._trail = [*self._trail[-TRAIL:], body.places]
        hold = self.holding
        if hold is not None:
            middle, angle = between_palms(body.places, body.rotations)
            self._scenery.moved[hold.name] = carried_pose(hold.handles, hold.lying, middle, angle)
        elif self.grips and self.gripping(self.grips[-1].name, frame):
            self._pull(body, frame)
        elif self.grips:
            self._swing_on(frame)
        self.tracks.append(dict(self._scenery.moved))

    def take(self, name: str, body: Body, frame: int, key: int, grasp: Carryable | None = None) -> bool:
        """Take a box when both palms touch it and come no nearer; whether they do. grasp: by which, if not by its
        handles."""
        handles, pose = grasp or self._scenery.collider(name).handles, self._scenery.pose(name, frame)
        assert isinstance(handles, Carryable)
        middle, _ = between_palms(body.places, body.rotations)
        off = middle - grasp_of(handles, pose)[0]
        away = float(np.linalg.norm(off))
        before, self._reaching = self._reaching, (*self._reaching[-WITHIN + 1 :], away)
        touching = bool((body.contacts[_HANDS] > TOUCHES).all())
        if self._bends[0] != key and touching and away < GRASP_REACH:
            self._bends = key, frame
        since = self._bends[1] if self._bends[0] == key else frame
        late = (frame - since) / FPS - BENDS_AGAIN[0]
        reach = GRASP_NEAR + min(max(late / BENDS_AGAIN[1], 0.0), 1.0) * (GRASP_REACH - GRASP_NEAR)
        low = middle[2] - off[2] - body.places[:, 2].min() < LOW and 0 < off[2] < STOOPS
        near = away < reach or (low and np.linalg.norm(off[:2]) < GRASP_NEAR)
        touches = touching and near
        self._touching = self._touching + 1 if touches else 0
        nearer = not before or away < before[0] - COMES_NEARER
        if not touches or (nearer and self._touching < CLOSES_AFTER * FPS):
            return False
        self.holds.append(Hold(name, handles, pose, frame, key))
        self._touching, self._reaching = 0, ()
        return True

    def leave(self, goal: Array, contacts: Array, frame: int, key: int) -> bool:
        """Let go of the box that is held when it is where it shall be, `goal` (7,); whether it is."""
        hold = self.holding
        assert hold is not None
        off = self._scenery.pose(hold.name, frame)[PLACE] - goal[PLACE]
        away = float(np.linalg.norm(off * np.array([1.0, 1.0, LOWERED if off[2] > 0 else 1.0])))
        if self._asked != key or away < self._away - COMES_NEARER:
            self._asked, self._away, self._waits = key, away, 0.0
        self._waits += (LEAVING if (contacts[_HANDS] < TOUCHES).all() else 1.0) / FPS
        late = self._waits - LEAVE_AFTER
        if late < 0 or away > min(LEAVE_NEAR + LENIENT * late, LEAVE_REACH):
            return False
        self.holds[-1] = replace(hold, left=frame, goal=goal, key_left=key)
        self._scenery.moved[hold.name] = goal
        return True

    def grip(self, name: str, body: Body, frame: int, anyway: bool = False) -> bool:
        """Take a door's handle when a hand touches it, or `anyway` when one is near; whether one does."""
        handles = self._scenery.collider(name).handles
        assert isinstance(handles, Door)
        for side, place in self._near_handle(name, body, frame).items():
            if anyway or body.contacts[_HANDS[list(ARMS).index(side)]] >= TOUCHES:
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
            if np.linalg.norm(palm(body.places, body.rotations, side) - to_world(handle, pose)) <= GRASP_REACH
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
        return grip.name == name and not grip.free and grip.last >= frame - GAP

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
        return gripped and not self.gripping(name, frame) and self.opened(name) > SWINGS_ON

    def _swing_on(self, frame: int) -> None:
        """Turn a door that was let go of until it stands open."""
        grip = self.grips[-1]
        on = SWING / FPS if self.opened(grip.name) > SWINGS_ON else 0.0
        self._turn(grip, frame, on)

    def _pull(self, body: Body, frame: int) -> None:
        """Turn the door so that its handle is at the hand, and never back, while the hand holds it.

        It gives way slowly even to a hand that waits: the network moves its hand with the leaf that it sees moving.
        """
        grip = self.grips[-1]
        handles, pose = grip.handles, self._scenery.pose(grip.name, frame)
        hand = palm(body.places, body.rotations, grip.side)
        beyond = _beyond_reach(body, grip.side, to_world(grip.place, pose))
        shoved = not _pulled(grip) and self.opened(grip.name) > SWINGS_ON
        if beyond > (0 if shoved else SLIPS):
            # Nobody waits at arm's length for a leaf that he may give a push.
            self.release(grip.name)
            return
        if body.contacts[_HANDS[list(ARMS).index(grip.side)]] >= TOUCHES:
            self.grips[-1] = replace(grip, last=frame)
        hinge, axis = to_world(np.array(handles.hinge), pose), rotate(pose[QUATERNION], np.array(handles.axis))
        from_hinge = to_world(grip.place, pose) - hinge
        turn = float(np.arctan2(axis @ np.cross(from_hinge, hand - hinge), _across(from_hinge, hand - hinge, axis)))
        turn *= float(np.sign(handles.angle))
        if frame - grip.first > GIVES_WAY_AFTER * FPS:
            turn = max(turn, FOLLOWS / FPS)
        if beyond > 0:
            # It waits for one who has to come along.
            turn = 0.0
        self._turn(grip, frame, turn)

    def _turn(self, grip: Grip, frame: int, turn: float) -> None:
        """Open a door by radians, no farther than it goes, and not through the body: it waits for one who is, or just
        was, where it swings to, and gives way to one who pushes it."""
        pose, handles, share = self._scenery.pose(grip.name, frame), grip.handles, self.opened(grip.name)
        way, most = float(np.sign(handles.angle)), (1 - share) * abs(handles.angle)
        if most < WIDE:
            return
        door = doorway(self._scenery.collider(grip.name), pose)
        turn = min(turn, SWING / FPS)
        if _pulled(grip):
            trail = [solid(places) for places in self._trail[::-TRAILED]]
            points, radii = (np.concatenate(both) for both in zip(*trail, strict=True))
            turn = min(turn, max(door.room(points[:, :2], radii), 0.0))
        else:
            points, radii = solid(self._trail[-1])
            turn = max(turn, min(door.way(points[:, :2], radii), SHOVED / FPS))
        turn = min(max(turn, 0.0), max(most, 0.0))
        if turn > 0:
            self._scenery.moved[grip.name] = turned_about(
                pose, np.array(handles.hinge), np.array(handles.axis), way * turn
            )


def _pulled(grip: Grip) -> bool:
    """Whether the hand is on the side to which the leaf swings."""
    handles = grip.handles
    across = np.cross(np.array(handles.axis), np.array(handles.handle) - np.array(handles.hinge))
    return float((grip.place - np.array(handles.handle)) @ across) * handles.angle > 0


def _beyond_reach(body: Body, side: str, place: Array) -> float:
    """Metres by which a place (3,) for the palm is farther off than the arm is long."""
    limb = ARMS[side]
    upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
    wrist = place - (palm(body.places, body.rotations, side) - body.places[end])
    length = np.linalg.norm(MODEL_SKELETON.offsets[[middle, end]], axis=1).sum()
    return float(np.linalg.norm(wrist - body.places[upper]) - length)


def _across(a: Array, b: Array, axis: Array) -> float:
    """Product of what of two vectors (3,) lies across an axis."""
    return float(a @ b - (axis @ a) * (axis @ b))
