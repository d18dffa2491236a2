# SPDX-License-Identifier: GPL-3.0-or-later
"""Constraints that cannot hold: refused where no pose could meet them, reported where an edit misses them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import EditError
from ..motion.motion import Motion
from ..motion.rotations import Array, normalize, rotate
from ..motion.skeleton import CONTACT_JOINTS, HIPS_HEIGHT, MODEL_SKELETON
from .constraints import Base, Constraint, KeepTrajectory, LookAt, PinJoint, PoseKey
from .frames import around_root

_SWAY = 0.5
"""Largest distance in meters over the ground by which the hips leave their place for a pin."""
_MISSED = 0.01
"""Distance in meters by which a pin or a pose may be missed without a warning."""
_LOOKED_PAST = np.radians(10)
"""Angle in radians by which a gaze may miss its target without a warning."""
_FOOT_MOVED = 0.02
"""Distance in meters from which a pinned foot no longer stands in its place."""


def refuse_out_of_reach(base: Base, constraints: Sequence[Constraint]) -> None:
    """Raise EditError for a pin that no pose reaches, whatever the solver does."""
    kept = _kept(base, constraints)
    for pin in _pins(constraints):
        inside = pin.frames(base)
        target = pin.target(base)[0][inside]
        reach = _chain_length(pin.joint)
        too_high = float((target[:, 2] - base.start[2]).max()) - HIPS_HEIGHT - reach
        if too_high > 0:
            raise EditError(
                f"The pin of {pin.joint} lies {100 * too_high:.0f} cm higher than the character reaches on its toes; "
                "lower it."
            )
        away = np.linalg.norm(target - base.kinematics.world([0])[inside, 0], axis=1)
        too_far = float(np.where(kept[inside], away, 0).max()) - reach - _SWAY
        if too_far > 0:
            raise EditError(
                f"The pin of {pin.joint} lies {100 * (too_far + _SWAY):.0f} cm out of reach of the kept path; "
                "move it nearer, or let the path bend by disabling 'Keep Trajectory' there."
            )


def missed(base: Base, constraints: Sequence[Constraint], motion: Motion) -> tuple[dict[str, float], list[str]]:
    """The largest errors of a finished edit: figures by name, and sentences for the user.

    Figures: pin_error_cm, pose_error_cm, gaze_error_deg, each where there is such a constraint.
    """
    figures: dict[str, float] = {}
    sentences: list[str] = []

    def note(name: str, value: float, unit: float, limit: float, sentence: str) -> None:
        figures[name] = max(figures.get(name, 0.0), value * unit)
        if value > limit:
            sentences.append(sentence.format(value * unit))

    kept = _kept(base, constraints)
    for pin in _pins(constraints):
        advice = ", or disable 'Keep Trajectory' there" if kept[pin.frames(base)].any() else ""
        sentence = f"{pin.joint} stays {{:.0f}} cm short of its pin, which is out of reach; move it nearer{advice}."
        note("pin_error_cm", pin_error(base, pin, motion), 100, _MISSED, sentence)
    for constraint in constraints:
        if constraint.weight <= 0:
            continue
        if isinstance(constraint, PoseKey):
            joint, off = _pose_error(base, constraint, motion)
            sentence = f"The pose key is missed by {{:.0f}} cm at {joint}, where other constraints hold."
            note("pose_error_cm", off, 100, 5 * _MISSED, sentence)
        elif isinstance(constraint, LookAt):
            sentence = "The head stays {:.0f} degrees short of what it looks at; no neck turns farther."
            note("gaze_error_deg", _gaze_error(base, constraint, motion), 180 / np.pi, _LOOKED_PAST, sentence)
    return figures, sentences


def pin_error(base: Base, pin: PinJoint, motion: Motion) -> float:
    """Largest distance in meters of a pinned joint of a motion at 60 fps from its places."""
    inside = pin.frames(base)
    places = motion.positions[inside, MODEL_SKELETON.index(pin.joint)]
    return float(np.linalg.norm(places - pin.target(base)[0][inside], axis=1).max())


def standing(base: Base, constraints: Sequence[Constraint]) -> Array:
    """Contacts (T, 4) without those of feet that a pin moves elsewhere."""
    out = base.contacts.copy()
    for pin in _pins(constraints):
        side = pin.joint.removesuffix("Foot").removesuffix("Toe")
        if side in ("Left", "Right"):
            target, share = pin.target(base)
            moved = np.linalg.norm(target - base.kinematics.world([MODEL_SKELETON.index(pin.joint)])[:, 0], axis=1)
            columns = [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]
            out[np.ix_((share > 0) & (moved > _FOOT_MOVED), columns)] = 0
    return out


def _pins(constraints: Sequence[Constraint]) -> list[PinJoint]:
    return [c for c in constraints if isinstance(c, PinJoint) and c.weight > 0]


def _kept(base: Base, constraints: Sequence[Constraint]) -> Array:
    """Mask (T,) of the frames in which the root keeps its trajectory."""
    out = np.zeros(len(base), dtype=bool)
    for constraint in constraints:
        if isinstance(constraint, KeepTrajectory) and constraint.weight > 0:
            out[constraint.frames(base)] = True
    return out


def _chain_length(joint: str) -> float:
    """Length in meters of the bones from the hips to a joint."""
    length, index = 0.0, MODEL_SKELETON.index(joint)
    while index > 0:
        length += float(np.linalg.norm(MODEL_SKELETON.offsets[index]))
        index = MODEL_SKELETON.parents[index]
    return length


def _pose_error(base: Base, key: PoseKey, motion: Motion) -> tuple[str, float]:
    """The joint that is farthest off in a key's range, and its distance in meters."""
    inside = key.frames(base)
    off = around_root(motion.positions[inside], motion.root[inside]) - np.asarray(key.places)
    worst = np.linalg.norm(off, axis=-1).max(0)
    return MODEL_SKELETON.names[int(worst.argmax())], float(worst.max())


def _gaze_error(base: Base, look: LookAt, motion: Motion) -> float:
    """Largest angle in radians between the head's direction and its target."""
    inside = look.frames(base)
    head = MODEL_SKELETON.index("Head")
    toward = normalize(look.places(base)[0][inside] - motion.positions[inside, head])
    facing = rotate(motion.rotations[inside, head].astype(np.float64), np.broadcast_to([0.0, -1.0, 0.0], toward.shape))
    return float(np.arccos(np.clip(np.einsum("ti,ti->t", facing, toward), -1, 1)).max())
