# SPDX-License-Identifier: GPL-3.0-or-later
"""World rotations with bones along given joint places: the manifold has places, a rig needs rotations."""

from __future__ import annotations

import numpy as np

from ..motion.easing import smoothstep
from ..motion.ik import interpolate_unsure
from ..motion.rotations import (
    Array,
    between,
    conjugate,
    from_axis_angle,
    from_matrix,
    make_continuous,
    multiply,
    normalize,
    rotate,
)
from ..motion.skeleton import MODEL_SKELETON
from ..stepwise import Stepwise, by_frames, finished

_STRAIGHT, _BENT = 0.01, 0.05
"""Distances in meters of a knee or elbow from the line through its limb's ends: below the first the limb shows no
bending plane, and above the second it shows it for certain."""
_FORWARD, _BACKWARD = (0.0, -1.0, 0.0), (0.0, 1.0, 0.0)
"""Directions of a knee in the frame of the upper leg, and of an elbow in the frame of the upper arm."""
_STEEP, _LEVEL = 0.5, 0.9
"""Cosines of a foot's slope: on a steeper foot than the first the roll is the leg's, on a flatter foot than the second
the ground's."""
_FOLDED, _FOLDING = np.cos(np.radians(165)), np.cos(np.radians(145))
"""Cosines of a limb's bend: beyond the first the limb is folded so far that it shows no plane, and up to the second it
shows it for certain."""
_OPPOSITE, _TWISTED = np.radians(140), np.radians(110)
"""Angles in radians of twist: beyond the first the limb bends the wrong way, and up to the second it is twisted."""
_UPSIDE_DOWN = np.radians(120)
"""Roll in radians up to which a foot is leveled."""

# (joint, what its own frame's z axis runs along: from, to)
_TRUNK = (("Spine", "Spine1"), ("Spine1", "Spine2"), ("Spine2", "Neck"), ("Neck", "Head"))
_CHEST_SHARE = {"Spine": 1 / 3, "Spine1": 2 / 3, "Spine2": 1.0, "Neck": 1.0}
"""Share of the twist between pelvis and shoulders that each joint of the trunk takes."""
# (shoulder or none, upper, middle, end, tip or none, where the middle joint points)
_LIMBS = tuple(
    chain
    for side in ("Left", "Right")
    for chain in (
        (None, side + "UpLeg", side + "Leg", side + "Foot", side + "Toe", _FORWARD),
        (side + "Shoulder", side + "Arm", side + "ForeArm", side + "Hand", None, _BACKWARD),
    )
)


def rotations_of(places: Array, reference: Array | None = None, motions: int = 1) -> Array:
    """World rotations (T, J, 4) of MODEL_SKELETON that point its bones along the joint places.

    places: (T, J, 3) world, meters; bones need not have their exact lengths. reference: (T, J, 4) world rotations of a
    similar motion, or None. motions: number of motions of the same length in `places`, one after another.

    Pelvis and chest follow from hip and shoulder joints; limbs from their direction and the plane in which knee and
    elbow bend. While a limb is straight, or folded, its twist is interpolated from before to after. Rotations that
    places do not determine (the twist of limbs that are never bent, the rotation of head, hands and toes) are as in the
    reference relative to the parent, or as in the rest pose. For places that a reference gives by forward kinematics,
    the result is the reference. The rotations are continuous over time where the places are.
    """
    return finished(finding_rotations(places, reference, motions))


def finding_rotations(places: Array, reference: Array | None = None, motions: int = 1) -> Stepwise[Array]:
    """`rotations_of` in pieces."""
    found = _Pose(places.astype(np.float64, copy=False))
    yield
    trunk, known = found.trunk(), None
    yield
    if reference is not None:
        turned = reference.astype(np.float64)
        # The reference, turned as a whole, has the same shape: its trunk frames give what the places leave out.
        yield
        placed = yield from by_frames(MODEL_SKELETON.positions, np.zeros((*turned.shape[:-2], 3)), turned)
        before = _Pose(placed)
        yield
        own = before.trunk()
        yield
        offset = yield from by_frames(lambda own, turned: multiply(conjugate(own), turned), own, turned)
        trunk = yield from by_frames(multiply, trunk, offset)
        yield
        local = yield from by_frames(MODEL_SKELETON.local_rotations, turned)
        known = _Reference(before, turned, local)
    out = yield from _with_limbs(found, trunk, known, motions)
    yield
    continuous = make_continuous(out)
    yield
    return continuous.astype(places.dtype)


class _Pose:
    """Joint places (T, J, 3) by name."""

    def __init__(self, places: Array) -> None:
        # Stored joint by joint, in reading order: strides across frames would miss the cache.
        self._places = np.ascontiguousarray(places.swapaxes(0, 1))

    def bone(self, start: str, end: str) -> Array:
        """Vector (T, 3) from a joint to another."""
        out: Array = self._places[MODEL_SKELETON.index(end)] - self._places[MODEL_SKELETON.index(start)]
        return out

    def aside(self, upper: str, middle: str, end: str) -> Array:
        """Offset (T, 3) in meters of knee or elbow from the line through the limb's ends."""
        whole, part = self.bone(upper, end), self.bone(upper, middle)
        square = np.maximum(_dot(whole, whole), 1e-8)
        out: Array = part - whole * _dot(whole, part) / square
        return out

    def certainty(self, upper: str, middle: str, end: str) -> Array:
        """Certainty (T, 1), 0..1, of a limb's bending plane."""
        aside, start, stop = self.aside(upper, middle, end), self.bone(upper, middle), self.bone(middle, end)
        straight = _dot(start, stop) / np.maximum(np.sqrt(_dot(start, start) * _dot(stop, stop)), 1e-8)
        return _rise(np.sqrt(_dot(aside, aside)), _STRAIGHT, _BENT) * _rise(straight, _FOLDED, _FOLDING)

    def trunk(self) -> Array:
        """Rotations (T, J, 4) of pelvis and spine from the places alone; identity elsewhere."""
        out = np.zeros((*self._places.shape[:2], 4)).swapaxes(0, 1)
        out[..., 0] = 1
        left, right = self.bone("Hips", "LeftUpLeg"), self.bone("Hips", "RightUpLeg")
        out[:, 0] = _frame(left - right, -(left + right), _PELVIS_TILT)
        hips, shoulders = normalize(left - right), normalize(self.bone("RightArm", "LeftArm"))
        for name, child in _TRUNK:
            share = _CHEST_SHARE[name]
            across = (1 - share) * hips + share * shoulders
            out[:, MODEL_SKELETON.index(name)] = _upright(self.bone(name, child), across, child)
        out[:, MODEL_SKELETON.index("Head")] = out[:, MODEL_SKELETON.index("Neck")]
        return out


class _Reference:
    """Local rotations of the reference, and its limbs' bending directions."""

    def __init__(self, pose: _Pose, rotations: Array, local: Array) -> None:
        self._rotations, self._pose, self._local = rotations, pose, local

    def local(self, name: str) -> Array:
        """Rotation (T, 4) relative to the parent."""
        return self._local[:, MODEL_SKELETON.index(name)]

    def pole(self, upper: str, middle: str, end: str) -> tuple[Array, Array]:
        """Direction (T, 3) of the limb's bend in the upper bone's frame, and its certainty (T, 1)."""
        aside, sure = self._pose.aside(upper, middle, end), self._pose.certainty(upper, middle, end)
        back = conjugate(self._rotations[:, MODEL_SKELETON.index(upper)])
        return rotate(back, normalize(aside)), sure


def _with_limbs(pose: _Pose, rotations: Array, reference: _Reference | None, motions: int) -> Stepwise[Array]:
    """Complete the trunk's `rotations` (T, J, 4), from the trunk outwards, in pieces."""
    out = rotations

    def follow(name: str) -> Array:
        """The joint's rotation when it moves with its parent as in the reference motion."""
        above = out[:, MODEL_SKELETON.parents[MODEL_SKELETON.index(name)]]
        return above if reference is None else multiply(above, reference.local(name))

    def point(name: str, child: str) -> Array:
        """The followed rotation, turned the shortest way along its bone."""
        return _aim(follow(name), pose.bone(name, child), child)

    for shoulder, upper, middle, end, tip, natural in _LIMBS:
        if shoulder is not None:
            out[:, MODEL_SKELETON.index(shoulder)] = point(shoulder, upper)
        yield
        turned = point(upper, middle)
        yield
        aside = pose.aside(upper, middle, end)
        pole, sure = np.broadcast_to(natural, aside.shape), pose.certainty(upper, middle, end)
        if reference is not None:
            pole, also = reference.pole(upper, middle, end)
            sure = np.minimum(sure, also)
        yield
        out[:, MODEL_SKELETON.index(upper)] = _twist(turned, pose.bone(upper, middle), pole, aside, sure, motions)
        yield
        out[:, MODEL_SKELETON.index(middle)] = point(middle, end)
        yield
        if tip is None:
            out[:, MODEL_SKELETON.index(end)] = follow(end)
            continue
        foot = point(end, tip)
        if reference is None:
            foot = _level(foot, pose.bone(end, tip))
        out[:, MODEL_SKELETON.index(end)] = foot
        out[:, MODEL_SKELETON.index(tip)] = follow(tip)
    return out


def _aim(rotation: Array, bone: Array, child: str) -> Array:
    """Turn `rotation` (T, 4) the shortest way so that the rest bone to `child` points along `bone` (T, 3)."""
    rest = np.broadcast_to(MODEL_SKELETON.offsets[MODEL_SKELETON.index(child)], bone.shape)
    return multiply(between(rotate(rotation, rest), bone), rotation)


def _twist(rotation: Array, bone: Array, pole: Array, aside: Array, sure: Array, motions: int) -> Array:
    """Twist `rotation` (T, 4) about `bone` (T, 3) so that its `pole` (T, 3, own frame) points `aside` (T, 3).

    The twist counts by its certainty `sure` (T, 1), and never turns the limb to the opposite side; elsewhere it is
    interpolated.
    """
    axis = normalize(bone)
    angle = _angle_about(axis, normalize(_across(rotate(rotation, pole), axis)), aside)
    sure = sure[:, 0] * _rise(-np.abs(angle), -_OPPOSITE, -_TWISTED)
    twist = interpolate_unsure(angle.reshape(motions, -1), sure.reshape(motions, -1))
    return multiply(from_axis_angle(axis, twist.reshape(-1)), rotation)


def _level(rotation: Array, bone: Array) -> Array:
    """Roll a foot (T, 4) about its `bone` (T, 3) until it is level, the more the flatter it points."""
    axis = normalize(bone)
    now = rotate(rotation, np.broadcast_to([1.0, 0.0, 0.0], bone.shape))
    flat = np.sqrt(np.maximum(1 - axis[:, 2:] ** 2, 0))
    across = np.cross(np.broadcast_to([0.0, 0.0, 1.0], bone.shape), axis)
    share = _rise(flat, _STEEP, _LEVEL)[:, 0]
    angle = _angle_about(axis, now, across)
    # Where both are nearly opposite, the way round is ambiguous, and the foot keeps its roll.
    share = share * _rise(-np.abs(angle), -np.pi, -_UPSIDE_DOWN)
    return multiply(from_axis_angle(axis, share * angle), rotation)


def _angle_about(axis: Array, now: Array, wanted: Array) -> Array:
    """Angle (T,) in radians about the unit `axis` (T, 3) from `now` to `wanted` (T, 3)."""
    out: Array = np.arctan2(_dot(axis, np.cross(now, wanted)), _dot(now, wanted))[:, 0]
    return out


def _rise(x: Array, start: float, stop: float) -> Array:
    """Smooth step from 0 at `start` to 1 at `stop`."""
    return smoothstep((x - start) / (stop - start))


def _dot(a: Array, b: Array) -> Array:
    """Inner products (T, 1) of vectors (T, 3)."""
    out: Array = np.einsum("ti,ti->t", a, b)[:, None]
    return out


def _across(v: Array, axis: Array) -> Array:
    """The part of `v` (T, 3) at right angles to the unit `axis` (T, 3)."""
    out: Array = v - axis * _dot(axis, v)
    return out


def _upright(bone: Array, across: Array, child: str) -> Array:
    """Rotation (T, 4) with the rest bone to `child` exactly along `bone` and x nearly along `across` (T, 3)."""
    rest = MODEL_SKELETON.offsets[MODEL_SKELETON.index(child)]
    lean = between(np.array([0.0, 0.0, 1.0]), rest)
    z = normalize(bone)
    x = normalize(_across(across, z))
    frame = from_matrix(np.stack((x, np.cross(z, x), z), axis=-1))
    return multiply(frame, np.broadcast_to(conjugate(lean), frame.shape))


def _frame(left: Array, up: Array, tilt: Array) -> Array:
    """Rotation (T, 4) with x exactly along `left`; `up` (T, 3) is z of the rest pose turned by `tilt` (4,)."""
    x = normalize(left)
    z = normalize(_across(up, x))
    frame = from_matrix(np.stack((x, np.cross(z, x), z), axis=-1))
    return multiply(frame, np.broadcast_to(conjugate(tilt), frame.shape))


_HIP_JOINTS = MODEL_SKELETON.offsets[MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])]
_PELVIS_TILT = between(np.array([0.0, 0.0, 1.0]), -_HIP_JOINTS.sum(0))
"""Rotation (4,) from straight up to the direction from the middle of the hip joints, below and before Hips, to Hips."""
