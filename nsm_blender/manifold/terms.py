# SPDX-License-Identifier: GPL-3.0-or-later
"""Costs of a motion as sums of squares, with exact derivatives (section 7.1 of Holden et al. 2016).

A term is a vector of residuals r(X) of the decoded frames X, scaled to visible differences so that terms of different
kinds weigh alike; its cost is |r|^2, its gradient 2 J^T r. Gauss-Newton needs J and J^T apart.
"""

from __future__ import annotations

import numpy as np

from ..models.manifold import FPS, FRAME
from ..models.matmul import matmul
from ..motion.rotations import Array, normalize
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from .frames import joint_places
from .kinematics import Kinematics, quarter_turn

PLACE_UNIT = 0.01
"""Distance in meters off a place that counts as one unit of residual."""
SPEED_UNIT = 0.1
"""Speed in m/s that counts as one unit of residual: a foot that slides so slides visibly."""
TURN_UNIT = 0.1
"""Turn rate in rad/s that counts as one unit of residual."""
BONE_UNIT = 0.005
"""Change of a bone's length in meters that counts as one unit of residual."""
_PINNED = 0.01
"""Distance in meters along an axis by which a pinned joint may be off at the end of a solve."""
GAZE_UNIT = 0.05
"""Length of the difference of two unit directions that counts as one unit of residual, about 3 degrees."""

_FEET = MODEL_SKELETON.indices(CONTACT_JOINTS)


class Term:
    """A cost |r|^2."""

    def residual(self, at: Kinematics) -> Array:
        """r, of any shape."""
        raise NotImplementedError

    def tangent(self, at: Kinematics, change: Array) -> Array:
        """J `change`, the first-order change of r. change: (T, FRAME.size)."""
        raise NotImplementedError

    def gradient(self, at: Kinematics, residual: Array, out: Array) -> None:
        """Add J^T `residual` to `out` (T, FRAME.size)."""
        raise NotImplementedError

    def met(self, residual: Array) -> bool:
        """Whether a solve may end with this residual if the sum of all costs is low enough."""
        return True


class FootSlide(Term):
    """Planted heels and toes do not move over the ground (eq. 10 with target velocity zero).

    The paper's v_r + w x p + v_j in its exact discrete form: from frame t to t + 1 a place p of the root
    frame moves by R(w / fps) p[t + 1] - p[t] + v_r / fps.
    weight: (T - 1, 4), zero where a joint of CONTACT_JOINTS is free to move after that frame.
    """

    def __init__(self, weight: Array) -> None:
        self._weight = (np.sqrt(weight) / SPEED_UNIT)[..., None].astype(np.float32)

    def residual(self, at: Kinematics) -> Array:
        """(T - 1, 4, 3)."""
        feet = at.places[:, _FEET]
        velocity = (_turned(feet[1:], _angles(at)) - feet[:-1]) * np.float32(FPS)
        velocity[..., :2] += at.frames[:-1, None, FRAME.root_velocity]
        return velocity * self._weight

    def tangent(self, at: Kinematics, change: Array) -> Array:
        """(T - 1, 4, 3)."""
        feet, angle = joint_places(change)[:, _FEET], _angles(at)
        velocity = (_turned(feet[1:], angle) - feet[:-1]) * np.float32(FPS)
        arm = quarter_turn(_turned(at.places[1:, _FEET], angle)[..., :2])
        velocity[..., :2] += change[:-1, None, FRAME.root_velocity] + arm * change[:-1, None, FRAME.root_turn]
        return velocity * self._weight

    def gradient(self, at: Kinematics, residual: Array, out: Array) -> None:
        """See `Term`."""
        weighted, angle = residual * self._weight, _angles(at)
        places = joint_places(out)
        places[1:, _FEET] += _turned(weighted, -angle) * np.float32(FPS)
        places[:-1, _FEET] -= weighted * np.float32(FPS)
        arm = quarter_turn(_turned(at.places[1:, _FEET], angle)[..., :2])
        out[:-1, FRAME.root_velocity] += weighted[..., :2].sum(1)
        out[:-1, FRAME.root_turn.start] += (arm * weighted[..., :2]).sum((1, 2))


_STRUTS = (("LeftUpLeg", "RightUpLeg"), ("Neck", "LeftShoulder"), ("Neck", "RightShoulder"))
"""Pairs of joints on a rigid body, with a distance as fixed as a bone's length."""


class Bones(Term):
    """Every bone keeps its length (eq. 11), and so do distances within the pelvis and the chest. weight: (T,)."""

    def __init__(self, weight: Array) -> None:
        self._weight = (np.sqrt(weight) / BONE_UNIT)[:, None].astype(np.float32)
        pairs = [(parent, joint) for joint, parent in enumerate(MODEL_SKELETON.parents) if parent >= 0]
        pairs += [(MODEL_SKELETON.index(a), MODEL_SKELETON.index(b)) for a, b in _STRUTS]
        start, end = np.array(pairs).T
        rest = MODEL_SKELETON.rest_positions()
        self._lengths = np.linalg.norm(rest[end] - rest[start], axis=1).astype(np.float32)
        # A bone without length has no direction: its three coordinates are the residual.
        self._points = np.flatnonzero(self._lengths < 1e-6)
        difference = np.zeros((len(MODEL_SKELETON), len(pairs)), dtype=np.float32)
        difference[end, np.arange(len(pairs))] = 1
        difference[start, np.arange(len(pairs))] = -1
        self._difference = np.kron(difference, np.eye(3, dtype=np.float32))
        self._transposed = np.ascontiguousarray(self._difference.T)
        self._at: Kinematics | None = None

    def residual(self, at: Kinematics) -> Array:
        """(T, bones + 3 for each bone of length zero)."""
        _, length = self._directions(at)
        bones = self._bones(at.frames)
        return np.concatenate((length - self._lengths, self._flat(bones)), axis=1) * self._weight

    def tangent(self, at: Kinematics, change: Array) -> Array:
        """(T, bones + 3 for each bone of length zero)."""
        direction, _ = self._directions(at)
        bones = self._bones(change)
        along = np.einsum("tbc,tbc->tb", direction, bones)
        return np.concatenate((along, self._flat(bones)), axis=1) * self._weight

    def gradient(self, at: Kinematics, residual: Array, out: Array) -> None:
        """See `Term`."""
        direction, _ = self._directions(at)
        weighted = residual * self._weight
        count = len(self._lengths)
        vectors = direction * weighted[:, :count, None]
        vectors[:, self._points] += weighted[:, count:].reshape(len(out), -1, 3)
        out[:, FRAME.joint_position] += matmul(vectors.reshape(len(out), -1), self._transposed)

    def _bones(self, frames: Array) -> Array:
        places = np.ascontiguousarray(frames[:, FRAME.joint_position], dtype=np.float32)
        return matmul(places, self._difference).reshape(len(frames), -1, 3)

    def _flat(self, bones: Array) -> Array:
        return bones[:, self._points].reshape(len(bones), -1)

    def _directions(self, at: Kinematics) -> tuple[Array, Array]:
        """Unit vectors (T, bones, 3), zero for bones of length zero, and lengths; cached for each point of a solve."""
        if self._at is not at:
            bones = self._bones(at.frames)
            length = np.sqrt(np.einsum("tbc,tbc->tb", bones, bones))
            direction = bones / np.maximum(length, 1e-6)[..., None]
            direction[:, self._points] = 0
            length[:, self._points] = 0
            self._at, self._cached = at, (direction, length)
        return self._cached


class Trajectory(Term):
    """The root keeps its velocity and turn (eq. 12). target: (T, 3) m/s and rad/s. weight: (T,)."""

    def __init__(self, target: Array, weight: Array) -> None:
        self._target = target
        unit = np.array([SPEED_UNIT, SPEED_UNIT, TURN_UNIT])
        self._weight = (np.sqrt(weight)[:, None] / unit).astype(np.float32)

    def residual(self, at: Kinematics) -> Array:
        """(T, 3)."""
        return (at.frames[:, ROOT] - self._target) * self._weight

    def tangent(self, at: Kinematics, change: Array) -> Array:
        """(T, 3)."""
        return change[:, ROOT] * self._weight

    def gradient(self, at: Kinematics, residual: Array, out: Array) -> None:
        """See `Term`."""
        out[:, ROOT] += residual * self._weight


ROOT = slice(FRAME.root_velocity.start, FRAME.root_turn.stop)
"""Slice of a frame with the root's velocity and turn."""

RESTING = {"Foot": ANKLE_HEIGHT, "Toe": TOE_HEIGHT}
"""Height in meters above the floor of a planted heel (the ankle, when the foot is flat) and toe."""
LOWEST = {"Foot": ANKLE_HEIGHT - 0.015, "Toe": TOE_HEIGHT - 0.005}
"""Height in meters above the floor of the ankle and the toe joint below which the sole is in the floor."""


class Floor(Term):
    """Planted feet are at the floor's height, the others not below it.

    contacts: (T, 4), 0 or 1. height: meters above the root's z. weight: (T,).
    """

    def __init__(self, contacts: Array, height: float, weight: Array) -> None:
        on = contacts > 0.5
        parts = [name.removeprefix("Left").removeprefix("Right") for name in CONTACT_JOINTS]
        self._planted = on.copy()
        for side in ("Left", "Right"):
            heel, toe = CONTACT_JOINTS.index(side + "Foot"), CONTACT_JOINTS.index(side + "Toe")
            # A heel planted alone says nothing of the ankle's height: the foot may have any angle.
            self._planted[:, heel] &= on[:, toe]
        self._resting = height + np.array([RESTING[p] for p in parts], dtype=np.float32)
        self._lowest = height + np.array([LOWEST[p] for p in parts], dtype=np.float32)
        self._weight = (np.sqrt(weight)[:, None] / PLACE_UNIT).astype(np.float32)

    def residual(self, at: Kinematics) -> Array:
        """(T, 4)."""
        z = at.places[:, _FEET, 2]
        return np.where(self._planted, z - self._resting, np.minimum(z - self._lowest, 0)) * self._weight

    def tangent(self, at: Kinematics, change: Array) -> Array:
        """(T, 4)."""
        return joint_places(change)[:, _FEET, 2] * self._active(at)

    def gradient(self, at: Kinematics, residual: Array, out: Array) -> None:
        """See `Term`."""
        joint_places(out)[:, _FEET, 2] += residual * self._active(at)

    def _active(self, at: Kinematics) -> Array:
        return self._weight * (self._planted | (at.places[:, _FEET, 2] < self._lowest))


class Pin(Term):
    """A joint at world places. target: (T, 3). weight: (T,), zero where it is free."""

    def __init__(self, joint: int, target: Array, weight: Array) -> None:
        self._joint, self._target = [joint], target[:, None]
        self._weight = np.sqrt(weight)[:, None, None] / PLACE_UNIT

    def residual(self, at: Kinematics) -> Array:
        """(T, 1, 3)."""
        return (at.world(self._joint) - self._target) * self._weight

    def tangent(self, at: Kinematics, change: Array) -> Array:
        """(T, 1, 3)."""
        return at.world_tangent(change, self._joint) * self._weight

    def gradient(self, at: Kinematics, residual: Array, out: Array) -> None:
        """See `Term`."""
        at.world_gradient(residual * self._weight, self._joint, out)

    def met(self, residual: Array) -> bool:
        """Whether inverse kinematics can make up for the residual with a small change."""
        held = self._weight > 0.999 * self._weight.max(initial=0.0)
        off = np.where(held, residual / np.maximum(self._weight, 1e-12), 0)
        return bool(np.abs(off).max(initial=0.0) < _PINNED)


class Pose(Term):
    """All joints at places around the root. target: (T, J, 3). weight: (T,)."""

    def __init__(self, target: Array, weight: Array) -> None:
        self._target = target.reshape(len(target), -1)
        self._weight = (np.sqrt(weight)[:, None] / PLACE_UNIT).astype(np.float32)

    def residual(self, at: Kinematics) -> Array:
        """(T, J * 3)."""
        return (at.frames[:, FRAME.joint_position] - self._target) * self._weight

    def tangent(self, at: Kinematics, change: Array) -> Array:
        """(T, J * 3)."""
        return change[:, FRAME.joint_position] * self._weight

    def gradient(self, at: Kinematics, residual: Array, out: Array) -> None:
        """See `Term`."""
        out[:, FRAME.joint_position] += residual * self._weight


GAZE_JOINTS = MODEL_SKELETON.indices(("RightArm", "LeftArm", "Neck", "Head"))
"""Joints that define the upper body's facing."""
NECK_TURN = np.radians(50)
"""Largest turn in radians of the head on the shoulders; the body turns by the rest."""
_SLACK = float(2 * np.sin(NECK_TURN / 2))
"""Length of the difference of two unit directions NECK_TURN apart."""


class Look(Term):
    """The upper body turns so that the head can look at places. target: (T, 3) world. weight: (T,).

    `Head` is the base of the skull, so joint places do not determine the turn of the head on the neck. They determine
    f, across the shoulders and up the neck; f is turned up by `tilt`, the neck's mean lean, so that it is level in the
    given motion. The residual is zero while the target is within NECK_TURN of f; the rotation of the head itself is
    added afterwards.
    """

    def __init__(self, target: Array, tilt: float, weight: Array) -> None:
        self._target, self._tilt = target, tilt
        self._weight = np.sqrt(weight)[:, None] / GAZE_UNIT

    def residual(self, at: Kinematics) -> Array:
        """(T, 3)."""
        difference = self._parts(at)[0]
        return difference * self._beyond(difference) * self._weight

    def tangent(self, at: Kinematics, change: Array) -> Array:
        """(T, 3)."""
        difference, left, up, toward = self._parts(at)
        moved = at.world_tangent(change, GAZE_JOINTS)
        d_left, d_up = moved[:, 1] - moved[:, 0], moved[:, 3] - moved[:, 2]
        d_cross = np.cross(d_left, up) + np.cross(left, d_up)
        d_gaze = np.cos(self._tilt) * _d_unit(np.cross(left, up), d_cross) + np.sin(self._tilt) * _d_unit(up, d_up)
        return self._softened(difference, d_gaze - _d_unit(toward, -moved[:, 3])) * self._weight

    def gradient(self, at: Kinematics, residual: Array, out: Array) -> None:
        """See `Term`."""
        difference, left, up, toward = self._parts(at)
        # Derivatives of normalizing and of the slack are symmetric matrices: their own transposes.
        g = self._softened(difference, residual * self._weight)
        g_cross = np.cos(self._tilt) * _d_unit(np.cross(left, up), g)
        g_left = np.cross(up, g_cross)
        g_up = np.cross(g_cross, left) + np.sin(self._tilt) * _d_unit(up, g)
        world = np.stack((-g_left, g_left, -g_up, g_up + _d_unit(toward, g)), axis=1)
        at.world_gradient(world, GAZE_JOINTS, out)

    def _parts(self, at: Kinematics) -> tuple[Array, Array, Array, Array]:
        """Gaze minus wanted direction, shoulder axis to the left, neck upward, head to target; (T, 3) each."""
        places = at.world(GAZE_JOINTS)
        left, up = places[:, 1] - places[:, 0], places[:, 3] - places[:, 2]
        toward = self._target - places[:, 3]
        return gaze(places, self._tilt) - normalize(toward), left, up, toward

    def _beyond(self, difference: Array) -> Array:
        """Share (T, 1) of the difference that exceeds the neck's turn."""
        size = np.linalg.norm(difference, axis=1, keepdims=True)
        out: Array = np.maximum(0, 1 - _SLACK / np.maximum(size, 1e-9))
        return out

    def _softened(self, difference: Array, change: Array) -> Array:
        """Derivative of difference * _beyond(difference) along `change` (T, 3)."""
        size = np.maximum(np.linalg.norm(difference, axis=1, keepdims=True), 1e-9)
        along = (difference * change).sum(1, keepdims=True)
        out = self._beyond(difference) * change + _SLACK / size**3 * difference * along
        return np.where(size > _SLACK, out, 0)


def gaze(places: Array, tilt: float) -> Array:
    """Unit directions (T, 3) that the upper body faces, from places (T, 4, 3) of GAZE_JOINTS; see `Look`."""
    left, up = places[:, 1] - places[:, 0], places[:, 3] - places[:, 2]
    return np.cos(tilt) * normalize(np.cross(left, up)) + np.sin(tilt) * normalize(up)


def _d_unit(v: Array, change: Array) -> Array:
    """Derivative (T, 3) of v / |v| along `change`, both (T, 3)."""
    size = np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-9)
    unit = v / size
    out: Array = (change - unit * (unit * change).sum(1, keepdims=True)) / size
    return out


def _angles(at: Kinematics) -> Array:
    """Turn of the root (T - 1, 1) in each frame, radians."""
    return at.frames[:-1, FRAME.root_turn] / np.float32(FPS)


def _turned(v: Array, angle: Array) -> Array:
    """Vectors (T, n, 3) turned about z by angles (T, 1)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack((c * v[..., 0] - s * v[..., 1], s * v[..., 0] + c * v[..., 1], v[..., 2]), axis=-1)
