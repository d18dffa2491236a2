# SPDX-License-Identifier: GPL-3.0-or-later
"""From solved frames to world transforms that meet the constraints exactly.

The solve leaves bones a few millimeters and planted feet a few centimeters a second off. Here rotations give rigid
bones, feet are locked by two-bone inverse kinematics, the root takes the kept trajectory, pinned hands and feet are
brought the last millimeters, and the head turns to its target.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..models.manifold import FRAME
from ..motion.foot_lock import planting_feet
from ..motion.ik import ARMS, LEGS, REACH, Limb, solve_limb
from ..motion.rotations import Array, between, conjugate, from_exponential_map, multiply, rotate, to_exponential_map
from ..motion.skeleton import MODEL_SKELETON
from ..rollout.pose import joint_places
from ..stepwise import Stepwise, by_frames
from .constraints import Base, Constraint, FloorHeight, FootSkate, KeepTrajectory, LookAt, PinJoint, PoseKey, eased
from .frames import integrate_root, to_world_positions, with_bone_lengths
from .rotations_from_positions import finding_rotations
from .terms import ROOT

_LAST_EASE = 0.25
"""Time in seconds over which the last, small correction of a pinned joint fades in and out."""
_HEAD_TURN = np.radians(75)
"""Largest turn in radians of a head from its direction in the motion."""

_TRUNK = list(range(MODEL_SKELETON.index("Spine"), len(MODEL_SKELETON)))
"""Joints of the trunk and all above it."""
_LEANS = 3
"""Number of times that the trunk leans for an arm."""
_LARGEST_LEAN = np.radians(10)
"""Largest lean in radians of the trunk, each time, for the last centimeters of an arm."""
_LIMBS = {limb.end: limb for limb in (*ARMS.values(), *LEGS.values())}
"""Arms and legs by their end joint."""


def finish(
    base: Base, frames: Array, constraints: Sequence[Constraint], reference: Array | None, strength: float = 1.0
) -> Stepwise[tuple[Array, Array, Array, Array]]:
    """Pose solved frames (T, FRAME.size) of the motion `base`, in pieces.

    strength: interpolation of the frames from the motion (0) to the constraints (1); planted feet stand still at any.
    reference: (T, J, 4) world rotations of the motion before, for rotations that joint places do not determine, or
    None. Returns joint places (T, J, 3), world rotations (T, J, 4), root (T, 4) and contacts (T, 4).
    """
    root = integrate_root(with_kept_root(base, frames, constraints, strength), base.start)
    yield
    posed = _posed(base, frames, constraints, strength)
    placed = yield from by_frames(to_world_positions, posed, root)
    # The legs are left to inverse kinematics.
    wanted = yield from by_frames(lambda places: with_bone_lengths(places, "Spine"), placed)
    rotations = yield from finding_rotations(wanted, reference)
    hips, contacts = wanted[:, 0], base.contacts
    pins = [c for c in constraints if isinstance(c, PinJoint) and c.weight > 0]
    for pin in pins:
        if pin.joint == "Hips":
            hips = _pinned_places(base, pin, hips, strength)
    skate = [c for c in constraints if isinstance(c, FootSkate) and c.weight > 0]
    if skate:
        contacts = np.zeros_like(base.contacts)
        for feet in skate:
            inside = feet.frames(base)
            contacts[inside] = feet.labels(base)[inside]
        floor = [c.height for c in constraints if isinstance(c, FloorHeight) and c.weight > 0]
        level = np.array([0.0, 0.0, floor[0] if floor else 0.0])
        planted, turned = yield from planting_feet(
            (hips - level)[None], rotations[None], contacts[None], targets=(wanted - level)[None], own_heights=not floor
        )
        hips, rotations = planted[0, :, 0] + level, turned[0]
    for pin in pins:
        if pin.joint in _LIMBS:
            yield
            rotations = _reach(base, pin, hips, rotations, strength)
    for constraint in constraints:
        if isinstance(constraint, LookAt) and constraint.weight > 0:
            yield
            rotations = _look(base, constraint, hips, rotations, min(strength, 1.0))
    places = yield from by_frames(joint_places, hips, rotations)
    return places, rotations, root, contacts


def with_kept_root(base: Base, frames: Array, constraints: Sequence[Constraint], strength: float = 1.0) -> Array:
    """Frames with exactly the root velocity and turn that are kept."""
    out = frames.copy()
    for constraint in constraints:
        if isinstance(constraint, KeepTrajectory) and constraint.weight > 0:
            inside = constraint.frames(base)
            own = base.frames[inside, ROOT]
            out[inside, ROOT] = own + strength * (constraint.target(base)[inside] - own)
    return out


def _posed(base: Base, frames: Array, constraints: Sequence[Constraint], strength: float) -> Array:
    """Frames that meet every pose key exactly and approach it smoothly."""
    out = frames.copy()
    for key in constraints:
        if isinstance(key, PoseKey) and key.weight > 0:
            inside = key.frames(base)
            before = base.frames[inside, FRAME.joint_position]
            missing = np.zeros_like(frames[:, FRAME.joint_position])
            missing[inside] = before + strength * (key.pose().reshape(-1) - before) - out[inside, FRAME.joint_position]
            out[:, FRAME.joint_position] += _held(missing, inside, min(_LAST_EASE, key.ease))
    return out


def _held(missing: Array, inside: slice, ease: float) -> Array:
    """Corrections (T, d) that are known `inside` a range, and fade in and out within `ease` seconds around it."""
    missing[: inside.start], missing[inside.stop :] = missing[inside.start], missing[inside.stop - 1]
    out: Array = eased(len(missing), inside, ease)[:, None] * missing
    return out


def free_features(base: Base, constraints: Sequence[Constraint]) -> Array:
    """Mask (T, FRAME.size): 0 for the root velocity and turn of frames in which they are kept, 1 elsewhere."""
    out = np.ones_like(base.frames)
    for constraint in constraints:
        if isinstance(constraint, KeepTrajectory) and constraint.weight > 0:
            out[constraint.frames(base), ROOT] = 0
    return out


def _pinned_places(base: Base, pin: PinJoint, now: Array, strength: float) -> Array:
    """Places `now` (T, 3) of a joint, moved to the pin's places in its range and approaching them smoothly around
    it."""
    inside = pin.frames(base)
    before = base.kinematics.world([MODEL_SKELETON.index(pin.joint)])[:, 0]
    missing = before + strength * (pin.target(base)[0] - before) - now
    return now + _held(missing, inside, min(_LAST_EASE, pin.ease))


def _reach(base: Base, pin: PinJoint, hips: Array, rotations: Array, strength: float) -> Array:
    """World rotations (T, J, 4) with a pinned hand or foot at its places, as far as the limb reaches."""
    limb = _LIMBS[pin.joint]
    upper, middle, end = MODEL_SKELETON.indices((limb.upper, limb.middle, limb.end))
    places = joint_places(hips, rotations)
    target = _pinned_places(base, pin, places[:, end], strength)
    if limb in ARMS.values():
        rotations = _lean(limb, hips, rotations, target)
        places = joint_places(hips, rotations)
    out = rotations.copy()
    out[:, upper], out[:, middle], _ = solve_limb(
        limb, places[:, upper], target, rotations[:, upper], rotations[:, middle]
    )
    if limb in ARMS.values():
        # A hand turns with its forearm; a foot keeps its orientation.
        out[:, end] = multiply(multiply(out[:, middle], conjugate(rotations[:, middle])), rotations[:, end])
    return out


def _lean(limb: Limb, hips: Array, rotations: Array, target: Array) -> Array:
    """World rotations (T, J, 4) with the trunk leaning as far as an arm is too short for its target (T, 3)."""
    spine, upper = MODEL_SKELETON.indices(("Spine", limb.upper))
    length = REACH * float(
        np.linalg.norm(MODEL_SKELETON.offsets[MODEL_SKELETON.indices((limb.middle, limb.end))], axis=1).sum()
    )
    out = rotations
    for _ in range(_LEANS):
        places = joint_places(hips, out)
        arm = target - places[:, upper]
        far = np.linalg.norm(arm, axis=1, keepdims=True)
        lack = arm * np.maximum(1 - length / np.maximum(far, 1e-6), 0)
        from_spine = places[:, upper] - places[:, spine]
        turn = to_exponential_map(between(from_spine, from_spine + lack))
        angle = np.linalg.norm(turn, axis=1, keepdims=True)
        turn *= np.minimum(1, _LARGEST_LEAN / np.maximum(angle, 1e-6))
        out = out.copy()
        out[:, _TRUNK] = multiply(from_exponential_map(turn)[:, None], out[:, _TRUNK])
    return out


def _look(base: Base, constraint: LookAt, hips: Array, rotations: Array, strength: float) -> Array:
    """World rotations (T, J, 4) with the head turned to the target, as far as a neck allows."""
    head = MODEL_SKELETON.index("Head")
    target, share = constraint.places(base)
    toward = target - joint_places(hips, rotations)[:, head]
    facing = rotate(rotations[:, head], np.broadcast_to([0.0, -1.0, 0.0], toward.shape))
    turn = to_exponential_map(between(facing, toward))
    angle = np.linalg.norm(turn, axis=1, keepdims=True)
    turn *= strength * share[:, None] * np.minimum(1, _HEAD_TURN / np.maximum(angle, 1e-6))
    out = rotations.copy()
    out[:, head] = multiply(from_exponential_map(turn), rotations[:, head])
    return out
