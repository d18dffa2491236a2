# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion of the model skeleton on any rig, and a rig's motion on the model skeleton.

Every mapped bone takes its joint's world rotation, so that limbs point where the model's point. The ground plane is
scaled as a whole by the legs' lengths, so a planted foot stays planted. Thigh, shin and foot differ in proportion
from the model's: where a foot is at rest the leg is solved again (two bones), and the hips follow the leg that
stands, so that its bend stays what it was. The way back inverts the same steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import RigError
from ..motion.contacts import foot_contacts
from ..motion.filters import gaussian
from ..motion.ik import REACH, Limb, solve_limb
from ..motion.motion import Motion
from ..motion.retarget import leg_length
from ..motion.root import root_track
from ..motion.rotations import Array, between, conjugate, make_continuous, multiply, normalize, rotate, slerp
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from .joints import RigInfo
from .mapping import Mapping
from .naming import CARRIER
from .rest_pose import SIDES, rest_pose
from .stance import Stance, ease, stance

_NAMES = MODEL_SKELETON.names
_INDEX = {name: i for i, name in enumerate(_NAMES)}
_PARENT = {name: _NAMES[p] for name, p in zip(_NAMES, MODEL_SKELETON.parents, strict=True) if p >= 0}

_SMOOTH_HIPS = (0.04, 0.02)
"""Seconds: standard deviations of the filters on what the hips give way at first and then."""
_SITTING, _STANDING = 0.55, 0.75
"""Height of the hip joints over the ankles, in leg lengths: below the first a sitter's hips belong on their seat."""
_UNDER, _BEFORE = 0.25, 0.4
"""Distance over the ground from hips to feet, in leg lengths: a crouching figure's and a sitting one's."""
_MOST_GIVEN = 0.15
"""Leg lengths by which the hips give way at the most."""
_STIFFEST = 0.06
"""Sine of a knee's bend below which all legs count as equally straight."""
_REST = 0.3
"""Weight of staying where they are for hips over feet of weight 1."""
_STRAIGHT = REACH - 0.001
_KNEE, _ELBOW = (0.0, -1.0, 0.0), (0.0, 1.0, 0.0)
_ASK_AFTER = 4
"""Rounds of the way back after which the motion so far tells when its feet stand; at first the rig's feet do."""
_ROUNDS, _NEAR = 24, 2e-4
"""Rounds of the way back at the most, and the error (metres and radians) at which it is done."""
_FLAT_FLOOR = 0.05


@dataclass(frozen=True, eq=False)
class RigMotion:
    """A rig's pose per frame, in the world (Blender's frame, metres).

    bones: B names, parents first; these and no others are to be keyed. rotations: (T, B, 4) world orientations of
    the bones' own axes. places: (T, B, 3) where the bones' heads are. fps: frames per second.
    """

    bones: tuple[str, ...]
    rotations: Array
    places: Array
    fps: float

    @property
    def hips(self) -> Array:
        """(T, 3) head of the first bone: the hips, or what carries the whole body."""
        return self.places[:, 0]


@dataclass(frozen=True, eq=False)
class _Leg:
    """What differs between the rig's leg and the model's at the rig's size, all (3,) metres in the T-pose.

    ball: from ankle to ball of the rig's foot. longer: what that has over the model's. aside: how much further out the
    hip joint is.
    """

    limb: Limb
    ball: Array
    longer: Array
    aside: Array


class Retargeter:
    """Takes motion to one rig and back. Raises RigError when the rig cannot be animated by the mapping.

    bones: the names that are keyed, parents first. scale: the rig's leg length over the model's; the scene is to be
    divided by it before, and is multiplied by it here.
    """

    def __init__(self, rig: RigInfo, mapping: Mapping) -> None:
        self._pose = rest_pose(rig, mapping)
        self._rig_name = rig.name
        self.bones = self._pose.bones
        self.scale = self._pose.leg_length / leg_length(MODEL_SKELETON)
        self.ankle_lift = self._pose.ankle_height - self.scale * ANKLE_HEIGHT
        self._legs = {side: self._leg(side, sign) for side, sign in SIDES}
        self._uplegs = [self._pose.bone_of[side + "UpLeg"] for side, _ in SIDES]

    def to_rig(self, motion: Motion, hands: Array | None = None) -> RigMotion:
        """The motion on the rig.

        hands: (T, 2) how much, 0 to 1, the left and the right hand must be at its scaled place (it holds something);
        None lets the arms keep the model's directions. Raises RigError when the motion is not the model's.
        """
        if motion.names != _NAMES:
            raise RigError("The motion is not on the model's skeleton; import it first.")
        joints = normalize(motion.rotations.astype(np.float64))
        positions = motion.positions.astype(np.float64)
        stances = _stances(positions, joints, motion.fps)
        root, turns = self._posed(positions, joints, stances, motion.fps)
        if hands is not None:
            self._reach(root, turns, positions, np.asarray(hands, dtype=np.float64))
        rotations = make_continuous(multiply(turns, np.broadcast_to(self._pose.axes, turns.shape)))
        return RigMotion(self.bones, rotations, self._pose.skeleton.positions(root, turns), motion.fps)

    def from_rig(self, hips: Array, rotations: Array, fps: float) -> Motion:
        """The rig's motion on the model skeleton, at the model's size: the opposite of `to_rig`.

        hips: (T, 3) world metres, head of the first of `bones`. rotations: (T, B, 4) world orientations of `bones`.
        Joints that the rig lacks go with their neighbours. Contacts are detected; there are no phase and actions.
        """
        turns = multiply(normalize(np.asarray(rotations, dtype=np.float64)), conjugate(self._pose.axes))
        joints = self._joints(turns)
        places = self._pose.skeleton.positions(hips, turns)
        middle = places[:, self._uplegs].mean(1)
        stances = {side: self._stance(side, places, turns, fps) for side, _ in SIDES}
        root = self._model_root((middle - [0.0, 0.0, self.ankle_lift]) / self.scale, joints)
        legs = [side + part for side, _ in SIDES for part in ("UpLeg", "Leg", "Foot")]
        numbers, bones = [_INDEX[joint] for joint in legs], [self._pose.bone_of[joint] for joint in legs]
        least, best, best_root = np.full(len(turns), np.inf), joints.copy(), root.copy()
        for done in range(_ROUNDS):
            # What `to_rig` makes of the motion so far tells what is still wrong with it.
            positions = MODEL_SKELETON.positions(root, joints)
            if done >= _ASK_AFTER:
                stances = _stances(positions, joints, fps)
                if done == _ASK_AFTER:
                    least[:] = np.inf
            there, made = self._posed(positions, joints, stances, fps)
            reached = self._pose.skeleton.positions(there, made)[:, self._uplegs].mean(1)
            short = (middle - reached) / self.scale
            wrong = multiply(turns[:, bones], conjugate(made[:, bones]))
            error = np.linalg.norm(short, axis=1) + np.linalg.norm(wrong[..., 1:], axis=-1).max(axis=1)
            better = error < least
            least[better], best[better], best_root[better] = error[better], joints[better], root[better]
            if error.max() < _NEAR and done >= _ASK_AFTER:
                break
            root = root + short
            joints[:, numbers] = normalize(multiply(wrong, joints[:, numbers]))
        return _motion(best_root, make_continuous(best), fps, self._rig_name)

    def targets(self, motion: Motion) -> Array:
        """Places (T, 22, 3) of the model's joints at the rig's size, in world metres (the legs' scale)."""
        return motion.positions.astype(np.float64) * self.scale

    # To the rig

    def _leg(self, side: str, sign: float) -> _Leg:
        pose, names = self._pose, self._pose.bones
        bones = {part: pose.bone_of[side + part] for part in ("UpLeg", "Leg", "Foot")}
        limb = Limb(names[bones["UpLeg"]], names[bones["Leg"]], names[bones["Foot"]], _KNEE)
        model = self.scale * MODEL_SKELETON.offsets[_INDEX[side + "Toe"]]
        ball = pose.offset(side + "Toe") if side + "Toe" in pose.bone_of else model
        rest = pose.skeleton.rest_positions()
        width = abs(rest[pose.bone_of["LeftUpLeg"], 0] - rest[pose.bone_of["RightUpLeg"], 0]) / 2
        aside = sign * (width - self.scale * abs(MODEL_SKELETON.offsets[_INDEX["LeftUpLeg"], 0]))
        return _Leg(limb, ball, ball - model, np.array([aside, 0.0, 0.0]))

    def _posed(self, positions: Array, joints: Array, stances: dict[str, Stance], fps: float) -> tuple[Array, Array]:
        """Root place (T, 3) and world rotations (T, B, 4) against the T-pose for a motion on the model.

        positions: (T, 22, 3). joints: (T, 22, 4).
        """
        turns = self._shared(joints)
        scaled = positions * self.scale
        hips = scaled[:, [_INDEX[side + "UpLeg"] for side, _ in SIDES]].mean(1)
        ankles = {side: self._place_foot(side, positions, turns, stances[side]) for side in self._legs}
        sits = self._sits(hips, ankles)
        hips[:, 2] += self.ankle_lift * (1 - sits)
        root = self._root_for(hips, turns)
        standing = {side: (1 - sits) * stands.held for side, stands in stances.items()}
        for seconds in _SMOOTH_HIPS:
            root = root + self._given_way(root, turns, ankles, standing, seconds * fps)
        root = root - self._lowered(root, turns, ankles, standing, fps)[:, None] * [0.0, 0.0, 1.0]
        origins = self._pose.skeleton.positions(root, turns)
        for side, leg in self._legs.items():
            upper, lower, end = (self._pose.bone_of[side + part] for part in ("UpLeg", "Leg", "Foot"))
            # The way that the leg goes by itself, and as much of the way to its place as the foot is held.
            way = stances[side].held[:, None] * (ankles[side] - origins[:, end])
            thigh, shin, _ = solve_limb(
                leg.limb,
                origins[:, upper],
                origins[:, end] + way,
                turns[:, upper],
                turns[:, lower],
                self._pose.skeleton,
            )
            # Where the foot is at its place already the leg stays as it is, straighter than a solved one may be.
            moves = np.linalg.norm(way, axis=1, keepdims=True) > _NEAR * self._pose.leg_length
            turns[:, upper] = np.where(moves, thigh, turns[:, upper])
            turns[:, lower] = np.where(moves, shin, turns[:, lower])
        return root, turns

    def _place_foot(self, side: str, positions: Array, turns: Array, stands: Stance) -> Array:
        """Where a foot's ankle belongs (T, 3); turns the foot in `turns` (T, B, 4).

        The ankle is where the scaled one is; while the ball stands, a foot that is longer or shorter than the model's
        is turned about it, so that the leg still reaches where the model's does.
        """
        leg, foot = self._legs[side], self._pose.bone_of[side + "Foot"]
        shape = (len(positions), 3)
        up = np.array([0.0, 0.0, self.ankle_lift])
        ankle = positions[:, _INDEX[side + "Foot"]] * self.scale
        ankle = ankle + rotate(stands.heading, np.broadcast_to(leg.aside, shape)) + up
        ball = positions[:, _INDEX[side + "Toe"]] * self.scale
        ball = ball + rotate(stands.heading, np.broadcast_to(leg.aside + leg.longer, shape)) + up
        length = float(np.linalg.norm(leg.ball))
        bone = rotate(turns[:, foot], np.broadcast_to(leg.ball, shape))
        aimed = length * normalize(bone + stands.ball[:, None] * (length * normalize(ball - ankle) - bone))
        turns[:, foot] = multiply(between(bone, aimed), turns[:, foot])
        return ankle + stands.ball[:, None] * (ball - aimed - ankle)

    def _sits(self, hips: Array, ankles: dict[str, Array]) -> Array:
        """How much (T,) hips (T, 3) that are low, with the feet ahead, belong on a seat and not over the feet."""
        away = (ankles["Left"] + ankles["Right"]) / 2 - hips
        low = np.minimum(ankles["Left"][:, 2], ankles["Right"][:, 2])
        height = (hips[:, 2] - low) / self._pose.leg_length
        ahead = np.hypot(away[:, 0], away[:, 1]) / self._pose.leg_length
        return ease((_STANDING - height) / (_STANDING - _SITTING)) * ease((ahead - _UNDER) / (_BEFORE - _UNDER))

    def _shared(self, joints: Array) -> Array:
        """World rotations (T, B, 4) of the bones against the T-pose from the joints' (T, 22, 4)."""
        out = np.empty((len(joints), len(self.bones), 4))
        for bone, source in enumerate(self._pose.sources):
            out[:, bone] = joints[:, source.a]
            if source.share > 0:
                share = np.full(len(joints), source.share)
                out[:, bone] = slerp(joints[:, source.a], joints[:, source.b], share)
        return out

    def _root_for(self, hips: Array, turns: Array) -> Array:
        """Place (T, 3) of the first bone that puts the middle between the hip joints at `hips` (T, 3)."""
        here = self._pose.skeleton.positions(np.zeros_like(hips), turns)[:, self._uplegs].mean(1)
        return hips - here

    def _given_way(
        self, root: Array, turns: Array, ankles: dict[str, Array], holds: dict[str, Array], sigma: float
    ) -> Array:
        """What (T, 3) the hips give way so that legs that stand keep their bend though thigh and shin differ.

        Of both feet's distances to their places the least squares, each in its leg's own measure: along a straight leg
        a centimetre costs a large turn of thigh and shin, across it or along a bent one a small one.
        """
        places = self._pose.skeleton.positions(root, turns)
        normal, right = np.zeros((len(root), 3, 3)), np.zeros((len(root), 3))
        for side in self._legs:
            hip, knee, ankle = (places[:, self._pose.bone_of[side + part]] for part in ("UpLeg", "Leg", "Foot"))
            bend = np.linalg.norm(np.cross(normalize(knee - hip), normalize(ankle - knee)), axis=1)
            along = normalize(ankle - hip)
            stiffness = (holds[side] / (bend + _STIFFEST) ** 2)[:, None, None]
            weight = stiffness * along[:, :, None] * along[:, None, :] + holds[side][:, None, None] * np.eye(3)
            normal += weight
            right += np.einsum("tij,tj->ti", weight, ankles[side] - ankle)
        mean = np.linalg.solve(gaussian(normal, sigma) + _REST * np.eye(3), gaussian(right, sigma)[..., None])[..., 0]
        longest = _MOST_GIVEN * self._pose.leg_length
        return mean * np.minimum(1.0, longest / np.maximum(np.linalg.norm(mean, axis=1), 1e-9))[:, None]

    def _lowered(
        self, root: Array, turns: Array, ankles: dict[str, Array], holds: dict[str, Array], fps: float
    ) -> Array:
        """How far (T,) in metres the hips sink so that feet that are held stay within the legs' reach."""
        places = self._pose.skeleton.positions(root, turns)
        need = np.zeros(len(root))
        for side in self._legs:
            away = ankles[side] - places[:, self._pose.bone_of[side + "UpLeg"]]
            length = sum(float(np.linalg.norm(self._pose.offset(side + part))) for part in ("Leg", "Foot")) * _STRAIGHT
            # A leg that the engine itself stretches further may do so here.
            own = places[:, self._pose.bone_of[side + "Foot"]] - places[:, self._pose.bone_of[side + "UpLeg"]]
            length = np.maximum(length, np.linalg.norm(own, axis=1))
            flat = np.minimum(np.hypot(away[:, 0], away[:, 1]), 0.95 * length)
            need = np.maximum(need, holds[side] * (-away[:, 2] - np.sqrt(length * length - flat * flat)))
        radius = max(round(_SMOOTH_HIPS[0] * fps), 1)
        padded = np.pad(np.clip(need, 0.0, _MOST_GIVEN * self._pose.leg_length), radius, mode="edge")
        widest = np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1).max(axis=1)
        return gaussian(widest, radius / 2)

    def _reach(self, root: Array, turns: Array, positions: Array, hands: Array) -> None:
        """Bend the arms in `turns` (T, B, 4) so that hands are at their scaled places as far as `hands` (T, 2) says."""
        places = self._pose.skeleton.positions(root, turns)
        for weight, (side, _) in zip(hands.T, SIDES, strict=True):
            if not all(side + part in self._pose.bone_of for part in ("Arm", "ForeArm", "Hand")):
                continue
            upper, lower, end = (self._pose.bone_of[side + part] for part in ("Arm", "ForeArm", "Hand"))
            goal = positions[:, _INDEX[side + "Hand"]] * self.scale
            target = places[:, end] + np.clip(weight, 0, 1)[:, None] * (goal - places[:, end])
            limb = Limb(self.bones[upper], self.bones[lower], self.bones[end], _ELBOW)
            turns[:, upper], turns[:, lower], _ = solve_limb(
                limb, places[:, upper], target, turns[:, upper], turns[:, lower], self._pose.skeleton
            )

    # From the rig

    def _stance(self, side: str, places: Array, turns: Array, fps: float) -> Stance:
        """How a foot stands in the rig's pose: bones' places (T, B, 3) and rotations against the T-pose (T, B, 4)."""
        foot = self._pose.bone_of[side + "Foot"]
        ball = rotate(turns[:, foot], np.broadcast_to(self._legs[side].ball, places[:, foot].shape))
        return stance(places[:, foot] / self.scale, (places[:, foot] + ball) / self.scale, turns[:, foot], fps)

    def _joints(self, turns: Array) -> Array:
        """World rotations (T, 22, 4) of the model's joints from the bones' against the T-pose."""
        out = np.empty((len(turns), len(_NAMES), 4))
        found = {joint: turns[:, bone] for joint, bone in self._pose.bone_of.items() if joint != CARRIER}
        for joint in _NAMES:
            if joint in found:
                out[:, _INDEX[joint]] = found[joint]
                continue
            above = out[:, _INDEX[_PARENT[joint]]]
            below = _found_below(joint, found)
            if below is None:
                out[:, _INDEX[joint]] = above
            else:
                out[:, _INDEX[joint]] = slerp(above, found[below], np.full(len(turns), 0.5))
        return out

    def _model_root(self, middle: Array, joints: Array) -> Array:
        """Place (T, 3) of the model's Hips that puts the middle between its hip joints at `middle` (T, 3)."""
        bones = MODEL_SKELETON.offsets[[_INDEX[side + "UpLeg"] for side, _ in SIDES]].mean(0)
        return middle - rotate(joints[:, _INDEX["Hips"]], np.broadcast_to(bones, middle.shape))


_TRUNK = ("Spine", "Spine1", "Spine2", "Neck", "Head")


def _found_below(joint: str, found: dict[str, Array]) -> str | None:
    """For a joint of the trunk the next one above it on the body that the rig has."""
    if joint not in _TRUNK:
        return None
    return next((other for other in _TRUNK[_TRUNK.index(joint) + 1 :] if other in found), None)


def _stances(positions: Array, joints: Array, fps: float) -> dict[str, Stance]:
    """How the feet of the model stand: joint places (T, 22, 3) and world rotations (T, 22, 4)."""
    out = {}
    for side, _ in SIDES:
        foot, toe = _INDEX[side + "Foot"], _INDEX[side + "Toe"]
        out[side] = stance(positions[:, foot], positions[:, toe], joints[:, foot], fps)
    return out


def _motion(root: Array, joints: Array, fps: float, name: str) -> Motion:
    positions = MODEL_SKELETON.positions(root, joints)
    toes = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
    floor = float(np.percentile(positions[:, toes, 2].min(axis=1), 10)) - TOE_HEIGHT
    floor = 0.0 if abs(floor) < _FLAT_FLOOR else floor
    track = root_track(positions, fps)
    track[:, 2] = floor
    return Motion(
        names=_NAMES,
        parents=MODEL_SKELETON.parents,
        positions=positions.astype(np.float32),
        rotations=joints.astype(np.float32),
        root=track.astype(np.float32),
        contacts=foot_contacts(positions - [0.0, 0.0, floor], fps),
        contact_names=CONTACT_JOINTS,
        phase=np.zeros(len(root), dtype=np.float32),
        actions=np.zeros((len(root), 0), dtype=np.float32),
        action_names=(),
        fps=fps,
        meta={"name": name},
    )
