# SPDX-License-Identifier: GPL-3.0-or-later
"""Retargets motion of the model skeleton to any rig, and a rig's motion to the model skeleton.

Every mapped bone takes its joint's world rotation, so that limbs point where the model's point. The ground plane is
scaled as a whole by the legs' lengths, so a planted foot stays planted; `legs` puts the feet of legs of other
proportions there. The inverse retargeting inverts the same steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import RigError
from ..motion.filters import gaussian
from ..motion.foot_lock import Heights
from ..motion.ik import Limb, solve_limb
from ..motion.motion import Motion
from ..motion.recorded import recording
from ..motion.rotations import Array, conjugate, make_continuous, multiply, normalize, slerp
from ..motion.skeleton import MODEL_SKELETON
from ..stepwise import Stepwise, by_frames, finished
from .arm_clearance import ArmClearance
from .body_measure import BodyMeasure, measured
from .grounding import standing_levels
from .joints import RigInfo
from .legs import MODEL_LEGS, MODEL_NUMBERS, Legs, model_stances
from .mapping import Mapping
from .naming import CARRIER
from .rest_pose import SIDES, rest_pose
from .rig_body import RigBody, rig_body
from .skin import Skin
from .stance import Stance

_NAMES = MODEL_SKELETON.names
_INDEX = {name: i for i, name in enumerate(_NAMES)}
_PARENT = {name: _NAMES[p] for name, p in zip(_NAMES, MODEL_SKELETON.parents, strict=True) if p >= 0}

_SIT = "sit"
"""Name of the action label of a character that sits down, sits or rises."""
_ELBOW = (0.0, 1.0, 0.0)
"""Direction of the elbow in the upper arm's frame."""
_STANCE_ROUNDS = 2
"""Rounds of the inverse retargeting after which the motion so far determines the stances; before, the rig's feet do."""
_ROUNDS, _NEAR = 24, 3e-4
"""Largest number of rounds of the inverse retargeting, and error (meters and radians) at which it is done."""
_AROUND = 0.05
"""Standard deviation in seconds of the filter over frames that estimates the convergence of the last round."""
_FURTHEST, _LEAST = 8.0, 0.9
"""Largest overrelaxation of a step, as a factor on the residual, and largest share by which a step falls short of
it."""
_MOST_TURNED = 0.5
"""Largest component of the sine of half a turn in one step."""


@dataclass(frozen=True, eq=False)
class RigMotion:
    """A rig's pose per frame, in the world (Blender's frame, meters).

    bones: B names, parents first; exactly these are to be keyed. rotations: (T, B, 4) world orientations of the bones'
    own axes. places: (T, B, 3) of the bones' heads. fps: frames per second.
    """

    bones: tuple[str, ...]
    rotations: Array
    places: Array
    fps: float

    @property
    def hips(self) -> Array:
        """Head (T, 3) of the first bone: the hips, or the bone that carries the whole body."""
        return self.places[:, 0]


class Retargeter:
    """Retargets motion to a rig and back. Raises RigError when the rig cannot be animated by the mapping.

    bones: the names that are keyed, parents first. scale: the rig's leg length over the model's; the scene is to be
    divided by it before, and is multiplied by it here. floating: bones besides the first whose places are to be keyed.
    """

    def __init__(self, rig: RigInfo, mapping: Mapping, skin: Skin | None = None) -> None:
        self._pose = rest_pose(rig, mapping)
        self._rig_name = rig.name
        self._body = RigBody() if skin is None else rig_body(skin, rig, self._pose)
        self.body_radii = self._body.radii
        self._legs = Legs(self._pose, self._body)
        self._arms = ArmClearance(self._body, self._pose, self._legs.scale)
        self.bones = self._pose.bones
        self.floating = tuple(self.bones[number] for number in self._pose.floating)
        self.scale, self.ankle_lift = self._legs.scale, self._legs.ankle_lift

    def to_rig(self, motion: Motion, hands: Array | None = None) -> RigMotion:
        """`going` at once."""
        return finished(self.going(motion, hands))

    def going(self, motion: Motion, hands: Array | None = None) -> Stepwise[RigMotion]:
        """Retarget the motion to the rig, in pieces of work.

        hands: (T, 2) weight, 0 to 1, with which the left and the right hand must be at their scaled places (while they
        hold something); None lets the arms keep the model's directions. Raises RigError when the motion is not the
        model's.
        """
        if motion.names != _NAMES:
            raise RigError("The motion is not on the model's skeleton; import it first.")
        joints = normalize(motion.rotations.astype(np.float64))
        positions = motion.positions.astype(np.float64)
        yield
        turns = yield from by_frames(self._shared, joints)
        stances = self._stances(motion)
        yield
        root, turns[:, self._legs.bones] = yield from self._legs.posing(
            positions[:, MODEL_NUMBERS],
            turns[:, self._legs.bones],
            stances,
            motion.fps,
            _sitting(motion),
            steady=_is_predicted(motion),
        )
        yield from self._arms.keeping_clear(root, turns, motion.fps, hands)
        if hands is not None:
            yield
            self._reach(root, turns, positions, np.asarray(hands, dtype=np.float64))
        axes = self._pose.axes
        rotations = yield from by_frames(lambda turned: multiply(turned, np.broadcast_to(axes, turned.shape)), turns)
        yield
        rotations = make_continuous(rotations)
        places = yield from by_frames(self._pose.skeleton.positions, root, turns)
        return RigMotion(self.bones, rotations, places, motion.fps)

    def from_rig(self, hips: Array, rotations: Array, fps: float) -> Motion:
        """`coming_back` at once."""
        return finished(self.coming_back(hips, rotations, fps))

    def coming_back(self, hips: Array, rotations: Array, fps: float) -> Stepwise[Motion]:
        """Retarget the rig's motion to the model skeleton, at the model's size: the inverse of `to_rig`, in pieces of
        work.

        hips: (T, 3) world meters, head of the first of `bones`. rotations: (T, B, 4) world orientations of `bones`.
        Joints that the rig lacks follow their neighbors. Contacts are detected; there are no phase and actions.
        """
        back = conjugate(self._pose.axes)
        rotations = np.asarray(rotations, dtype=np.float64)
        turns = yield from by_frames(lambda turned: multiply(normalize(turned), back), rotations)
        joints = yield from by_frames(self._joints, turns)
        root, joints[:, MODEL_NUMBERS] = yield from self._back(hips, turns, joints[:, MODEL_NUMBERS], fps)
        return (yield from recording(root, joints, fps, self._rig_name))

    def body_measure(
        self, motion: Motion, at: Array, places: Array, rotations: Array, ground: Heights | None = None
    ) -> BodyMeasure | None:
        """Measure the mesh at frames (N,) of a motion, where the rig's bones are at places (N, B, 3) with world
        orientations (N, B, 4); None for a rig without a mesh. ground: see `measured`."""
        turns = multiply(normalize(np.asarray(rotations, dtype=np.float64)), conjugate(self._pose.axes))
        stances, positions = self._stances(motion), motion.positions[:, MODEL_NUMBERS].astype(np.float64)
        levels = standing_levels(positions, MODEL_LEGS, stances if _is_predicted(motion) else {}, self.scale)
        label = {name: motion.contacts[:, i] for i, name in enumerate(motion.contact_names)}
        touch = [np.maximum(label[side + "Foot"], label[side + "Toe"])[at] for side, _ in SIDES]
        columns = np.stack([levels[side][at] for side, _ in SIDES], axis=1)
        return measured(self._body, places, turns, columns, np.stack(touch, axis=1), ground)

    def targets(self, motion: Motion) -> Array:
        """Places (T, 22, 3) of the model's joints at the rig's size, in world meters (the legs' scale)."""
        return motion.positions.astype(np.float64) * self.scale

    # To the rig

    def _stances(self, motion: Motion) -> dict[str, Stance]:
        joints = normalize(motion.rotations[:, MODEL_NUMBERS].astype(np.float64))
        return model_stances(motion.positions[:, MODEL_NUMBERS].astype(np.float64), joints, motion.fps)

    def _shared(self, joints: Array) -> Array:
        """World rotations (T, B, 4) of the bones against the T-pose from the joints' (T, 22, 4)."""
        out = np.empty((len(joints), len(self.bones), 4))
        for bone, source in enumerate(self._pose.sources):
            out[:, bone] = joints[:, source.a]
            if source.share > 0:
                share = np.full(len(joints), source.share)
                out[:, bone] = slerp(joints[:, source.a], joints[:, source.b], share)
        return out

    def _reach(self, root: Array, turns: Array, positions: Array, hands: Array) -> None:
        """Bend the arms in `turns` (T, B, 4) so that hands are at their scaled places, with weights `hands` (T, 2)."""
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

    def _back(self, hips: Array, turns: Array, joints: Array, fps: float) -> Stepwise[tuple[Array, Array]]:
        """Root (T, 3) and rotations (T, 9, 4) of MODEL_LEGS for the rig's place (T, 3) and turns (T, B, 4).

        joints: (T, 9, 4) the initial rotations, from the bones alone.
        """
        legs, turns = self._legs, turns[:, self._legs.bones]
        middle = legs.middle(hips, turns)
        yield
        stances = legs.stances(hips, turns, joints[:, 0], fps)
        yield
        root = (middle - [0.0, 0.0, self.ankle_lift]) / self.scale
        root = root - MODEL_LEGS.positions(np.zeros_like(root), joints)[:, _UPLEGS].mean(1)
        bones = legs.solved()
        least, best, best_root = np.full(len(turns), np.inf), joints.copy(), root.copy()
        steps = _Steps(fps)
        for done in range(_ROUNDS):
            # The residual of the motion so far is the difference of its `to_rig` from the rig's motion.
            positions = MODEL_LEGS.positions(root, joints)
            if done >= _STANCE_ROUNDS:
                stances = model_stances(positions, joints, fps)
                if done == _STANCE_ROUNDS:
                    least[:] = np.inf
                    steps = _Steps(fps)
            there = turns.copy()
            there[:, bones] = joints[:, _LEG_JOINTS]
            yield
            there_root, made = yield from legs.posing(positions, there, stances, fps, steady=False)
            yield
            short = (middle - legs.middle(there_root, made)) / self.scale
            wrong = multiply(turns[:, bones], conjugate(made[:, bones]))
            error = np.linalg.norm(short, axis=1) + np.linalg.norm(wrong[..., 1:], axis=-1).max(axis=1)
            better = error < least
            least[better], best[better], best_root[better] = error[better], joints[better], root[better]
            if error.max() < _NEAR and done >= _STANCE_ROUNDS:
                break
            yield
            way, turn = steps.after(short, wrong)
            yield
            root = root + way
            joints[:, _LEG_JOINTS] = normalize(multiply(turn, joints[:, _LEG_JOINTS]))
        return best_root, best

    def _joints(self, turns: Array) -> Array:
        """World rotations (T, 22, 4) of the model's joints from the bones' rotations against the T-pose."""
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


class _Steps:
    """Step lengths against a residual: the residual itself, corrected by the last step's effect (a secant over each
    frame and its neighbors, after Anderson)."""

    def __init__(self, fps: float) -> None:
        self._sigma = _AROUND * fps
        self._last: tuple[Array, Array] | None = None

    def after(self, short: Array, wrong: Array) -> tuple[Array, Array]:
        """Displacement (T, 3) and turns (T, N, 4) of the next step, for the displacement and the turns that are
        missing."""
        sign = np.where(wrong[..., :1] < 0, -1.0, 1.0)
        missing = np.concatenate((short, (sign * wrong[..., 1:]).reshape(len(wrong), -1)), axis=1)
        step = missing
        if self._last is not None:
            gone, before = self._last
            change = missing - before
            along, size = (gaussian(np.sum(change * other, axis=1), self._sigma) for other in (missing, change))
            share = np.clip(along / np.maximum(size, 1e-12), -_FURTHEST, _LEAST)
            step = missing - share[:, None] * (gone + change)
        self._last = (step, missing)
        axis = np.clip(step[:, 3:].reshape(wrong[..., 1:].shape), -_MOST_TURNED, _MOST_TURNED)
        real = np.sqrt(np.maximum(1.0 - np.sum(axis * axis, axis=-1, keepdims=True), 0.0))
        return step[:, :3], np.concatenate((real, axis), axis=-1)


_UPLEGS = MODEL_LEGS.indices([side + "UpLeg" for side, _ in SIDES])
_LEG_JOINTS = MODEL_LEGS.indices([side + part for side, _ in SIDES for part in ("UpLeg", "Leg", "Foot")])
_TRUNK = ("Spine", "Spine1", "Spine2", "Neck", "Head")
"""Joints of the trunk above the hips."""


def _sitting(motion: Motion) -> Array | float:
    """How much the motion's labels say (T,) that the character sits down, sits or rises."""
    if _SIT not in motion.action_names:
        return 0.0
    return np.asarray(motion.actions[:, motion.action_names.index(_SIT)], dtype=np.float64)


def _is_predicted(motion: Motion) -> bool:
    """Whether a network made the motion: its feet rise and sink by a centimeter while they stand. What was recorded
    from a rig is that rig's own."""
    return "model" in motion.meta


def _found_below(joint: str, found: dict[str, Array]) -> str | None:
    """The next joint of the trunk, toward the head, that the rig has."""
    if joint not in _TRUNK:
        return None
    return next((other for other in _TRUNK[_TRUNK.index(joint) + 1 :] if other in found), None)
