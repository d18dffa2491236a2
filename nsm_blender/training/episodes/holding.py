# SPDX-License-Identifier: GPL-3.0-or-later
"""A box between two hands: from where it lies to where it is carried, and a body that holds it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...geometry.colliders import Cuboids
from ...models.nsm import FPS
from ...motion.easing import eased
from ...motion.filters import gaussian
from ...motion.root import direction, to_world
from ...motion.rotations import Array, from_yaw, multiply, normalize, rotate
from ...motion.skeleton import MODEL_SKELETON
from .boxes import Box
from .lifting import Lift
from .reach import ARMS, Target, held, palm, reaching
from .track import Track

PALM_THICKNESS = 0.02
"""Meters between the middle of the palm's bones and the face that it lies on."""
PALM = 0.09
"""Meters from the wrist to the middle of the palm."""
_BLEND = 1.0
"""Seconds that coming to a box, and leaving it, lasts about."""
_HIPS_SHARE = 0.75
"""Share of a change of the box's height that the hips take part in, as far as the legs go."""
_DEEPEST_DIP = 0.12
"""Largest meters that the hips go below where they were recorded."""
_STANDING_HIPS = 0.965
"""Height of the hips in meters over the ground that stretches the legs."""
_UPRIGHT_RISE = 0.6
"""Meters that a box has to be higher than recorded to be taken standing upright."""
_MOST_UPRIGHT = 0.85
"""Largest share by which a bent body is straightened."""
_BEHIND_ANKLES = 0.03
"""Meters that the hips of an upright body are behind the ankles."""
_CARRY_AHEAD = (0.24, 0.34)
"""Meters from the root to the nearest face of what is carried, from the least to the most."""
_FARTHEST = 0.48
"""Largest meters from the root to the palms, unless the box is so deep that its face would touch the body."""
_LEAST_AHEAD = 0.19
"""Least meters from the root to the nearest face of what is carried."""
_CARRY_HEIGHT = (0.92, 1.10)
"""Height in meters at which palms carry, from the least to the most."""
_RECORDED_HEIGHT = 1.0
"""Height in meters of the palms at which the recorded boxes are carried."""
_BENT_BELOW, _BENT = 0.9, 0.25
"""Height in meters of the palms below which a standing character bends the knees to take something, and the hips' share
of that."""
_BACK = 0.15
"""Meters that the hips go back for each radian of leaning forward."""
_LIFTED = 0.05
"""Meters that a box is lifted off a table before it is drawn near."""
_OPEN = 0.06
"""Meters that each hand is off its face on the way there."""
FADE = 0.95
"""Seconds over which hands come to a box and leave it: with people's accelerations."""
_RESTS = 0.1
"""Seconds for which the hands of a character that only stood there rest on a box, before and after the grasp."""
_STILL, _LONGEST_REST = 0.012, 0.5
"""Meters of height within which recorded hands rest on a box, and most seconds before and after the grasp."""
_LEAN = 0.9
"""Radians that a standing character leans forward for each meter that the palms are below `_LEANT_BELOW`."""
_LEANT_BELOW = 1.05
"""Height in meters of the palms below which a standing character leans forward."""
_KNEE_SMOOTHING = 0.1
"""Seconds: standard deviation of the filter on what makes room for the knees."""
_KNEE = 0.12
"""Meters from a knee joint to a box in front of it."""
_BELLY = 0.2
"""Least meters from the hips to the nearest face of a box."""
_OVERLAP = 0.1
"""Meters of height over which knees begin to matter."""
_TRUNK = ("Hips", "Spine", "Spine1", "Spine2", "Neck", "Head")
_SHOULDERS = MODEL_SKELETON.indices([side + "Shoulder" for side in ARMS])


@dataclass(frozen=True, eq=False)
class Hold:
    """When and how a box is held. grasp: frame at which it is taken or left. height: meters of the palms then.
    ahead: meters from the root to the box while it is carried, carried: meters of the palms then. before, after: frames
    about the grasp for which the hands rest on the box where it lies."""

    grasp: int
    height: float
    ahead: float
    carried: float
    before: int = 0
    after: int = 0

    @staticmethod
    def random(height: float, box: Box, rng: np.random.Generator) -> Hold:
        """Carried as people may; the grasp is to be set."""
        ahead = max(min(box.near + float(rng.uniform(*_CARRY_AHEAD)), _FARTHEST), box.near + _LEAST_AHEAD)
        return Hold(0, height, ahead, float(rng.uniform(*_CARRY_HEIGHT)))

    def of(self, lift: Lift, grasp: int) -> Hold:
        """The hold of a template, whose grasp is at a frame: hands rest on the box for as long as they did there."""
        if lift.standing:
            rests = round(_RESTS * FPS)
            return replace(self, grasp=grasp, before=rests, after=rests)
        height = (palm(lift.track, "Left", PALM)[:, 2] + palm(lift.track, "Right", PALM)[:, 2]) / 2
        still = np.abs(height - height[lift.grasp]) < _STILL
        most = round(_LONGEST_REST * FPS)
        before, after = (
            int(np.cumprod(frames)[:most].sum()) for frames in (still[lift.grasp :: -1][1:], still[lift.grasp + 1 :])
        )
        return replace(self, grasp=grasp, before=before, after=after)


def holding(track: Track, lift: Lift, box: Box, hold: Hold) -> Track:
    """The track with the box's faces between the palms from the grasp on, or until then."""
    track, hips = _raised(track, lift, hold)
    place, facing, weight = _way(track, hips, lift, box, hold)
    spread = np.maximum(1 - weight, 0) * _OPEN
    half = (box.width / 2 + PALM_THICKNESS + spread)[:, None] * facing
    palms = {side: Target(place + sign * half, weight, PALM) for side, sign in (("Left", 1.0), ("Right", -1.0))}
    return reaching(track, hips, palms)


def box_poses(track: Track, hold: Hold, held_frames: slice) -> Array:
    """Poses (T, 7) of the box: lying where it is taken or left, between the palms while held."""
    left, right = palm(track, "Left", PALM), palm(track, "Right", PALM)
    across = left - right
    yaw = np.unwrap(np.arctan2(across[:, 1], across[:, 0]))
    poses = np.concatenate(((left + right) / 2, from_yaw(yaw)), axis=1)
    lying = np.concatenate(([0.0, 0.0, hold.height], from_yaw(np.array(0.0))))
    resting = np.ones(len(track), dtype=bool)
    resting[held_frames] = False
    poses[resting] = lying
    share = eased(len(track), hold.grasp - 6, hold.grasp, hold.grasp, hold.grasp + 6)[:, None]
    poses = (1 - share) * poses + share * lying
    poses[:, 3:] = normalize(poses[:, 3:])
    return poses


def off_faces(track: Track, poses: Array, box: Box, frames: slice) -> float:
    """Meters that a palm is off the middle of its face while the box is held, at most."""
    inverse = poses[frames, 3:] * np.array([1.0, -1.0, -1.0, -1.0])
    worst = 0.0
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        local = rotate(inverse, palm(track, side, PALM)[frames] - poses[frames, :3])
        wanted = np.array([sign * (box.width / 2 + PALM_THICKNESS), 0.0, 0.0])
        worst = max(worst, float(np.linalg.norm(local - wanted, axis=1).max(initial=0)))
    return worst


def inner_points(cuboids: Cuboids, inset: float) -> Array:
    """Points (P, 3) inside cuboids, `inset` meters under their faces, where they are as thick as that."""
    grid = np.array([[x, y, z] for x in (-1, -0.5, 0, 0.5, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)], dtype=float)
    half = np.maximum(cuboids.half - inset, 0.0)
    points: Array = (cuboids.center[:, None] + grid * half[:, None]).reshape(-1, 3)
    return points


def _raised(track: Track, lift: Lift, hold: Hold) -> tuple[Track, Array]:
    """The track with an upright trunk for high boxes, and the change (T, 3) of its hips."""
    count, hips = len(track), np.zeros((len(track), 3))
    reach = 1.3 * _BLEND * FPS
    near = eased(count, hold.grasp - reach, hold.grasp - 4, hold.grasp + 4, hold.grasp + reach)
    if lift.standing:
        lean = near * np.clip(_LEAN * (_LEANT_BELOW - hold.height), 0, 1)
        hips[:, 2] = -near * _BENT * max(_BENT_BELOW - hold.height, 0)
        hips[:, :2] = -_BACK * lean[:, None] * direction(track.root()[:, 3])
        return _leaning(track, lean), hips
    change = hold.height - lift.height
    room = np.maximum(_STANDING_HIPS - track.hips[:, 2], 0)
    hips[:, 2] = np.clip(_HIPS_SHARE * change * near, -_DEEPEST_DIP, room)
    upright = near * np.clip(change / _UPRIGHT_RISE, 0, _MOST_UPRIGHT)
    ankles = track.positions()[:, MODEL_SKELETON.indices(["LeftFoot", "RightFoot"]), :2].mean(1)
    over = ankles - _BEHIND_ANKLES * direction(track.root()[:, 3])
    hips[:, :2] = upright[:, None] * (over - track.hips[:, :2])
    return _straightened(track, upright), hips


def _way(track: Track, hips: Array, lift: Lift, box: Box, hold: Hold) -> tuple[Array, Array, Array]:
    """Middle between the palms (T, 3), unit vectors (T, 3) from the right to the left one, weight (T,) on the hands."""
    count, grasp, blend = len(track), hold.grasp, _BLEND * FPS
    root = track.root()
    left, right = palm(track, "Left", PALM), palm(track, "Right", PALM)
    # Before the body it is carried; it sways half as much as the hips.
    carried = np.concatenate((root[:, :2] + direction(root[:, 3]) * hold.ahead, np.zeros((count, 1))), axis=1)
    carried[:, 2] = hold.carried + 0.6 * (track.hips[:, 2] - _STANDING_HIPS)
    lying = np.array([0.0, 0.0, hold.height])
    square = _leftward(root[:, 3])
    fade, first, last = FADE * FPS, grasp - hold.before, grasp + hold.after
    weight = (
        eased(count, first - fade, first, count, count + 1)
        if lift.way == "up"
        else eased(count, -2, -1, last, last + fade)
    )
    if lift.standing:
        away = 1 - eased(count, grasp - blend, first, last, grasp + blend)
        off = 1 - eased(count, grasp - 1.3 * blend, grasp - 0.5 * blend, grasp + 0.5 * blend, grasp + 1.3 * blend)
        lifted = _LIFTED * (1 - eased(count, grasp - 0.5 * blend, first, last, grasp + 0.5 * blend))
        place = lying + away[:, None] * (carried - lying)
        place[:, 2] = hold.height + lifted * (1 - off) + off * (carried[:, 2] - hold.height)
        facing = normalize(np.array([1.0, 0.0, 0.0]) + away[:, None] * (square - np.array([1.0, 0.0, 0.0])))
        return place, facing, weight
    at_grasp = eased(count, first - 0.7 * blend, first, last, last + 0.7 * blend)[:, None]
    far = 1 - eased(count, grasp - 1.6 * blend, grasp - 0.7 * blend, grasp + 0.7 * blend, grasp + 1.6 * blend)[:, None]
    # The way up is drawn out or shortened, so that it leads from the new grasp to the usual height.
    slope = (hold.carried - hold.height) / (_RECORDED_HEIGHT - lift.height)
    recorded = (left + right) / 2
    recorded[:, 2] = hold.height + np.clip(recorded[:, 2] - lift.height, 0, None) * slope
    recorded[:, :2] += hips[:, :2]
    place = _before_knees((1 - far) * recorded + far * carried, track, hips, box)
    place = (1 - at_grasp) * place + at_grasp * lying
    facing = normalize((left - right) * np.array([1.0, 1.0, 0.0]))
    aligned = np.maximum(far, at_grasp)
    return place, normalize((1 - aligned) * facing + aligned * square), weight


def _leftward(angle: Array) -> Array:
    """Unit vectors (T, 3) to the left of facing angles `angle` (T,)."""
    return np.stack((np.cos(angle), np.sin(angle), np.zeros(len(angle))), axis=1)


def _before_knees(place: Array, track: Track, hips: Array, box: Box) -> Array:
    """Places (T, 3) of the palms' middle, moved ahead where the box would be inside the knees or the belly."""
    root = track.root()
    ahead = direction(root[:, 3])
    body = root[:, :2] + hips[:, :2]
    knees = track.positions()[:, MODEL_SKELETON.indices(["LeftLeg", "RightLeg"])] + hips[:, None] * 0.5
    reach = np.einsum("tkj,tj->tk", knees[..., :2] - body[:, None], ahead)
    aside = np.abs(
        np.einsum("tkj,tj->tk", knees - np.concatenate((body, place[:, 2:]), axis=1)[:, None], _leftward(root[:, 3]))
    )
    overlap = np.clip((knees[..., 2] + _KNEE - (place[:, 2:] - box.bottom)) / _OVERLAP, 0, 1)
    overlap *= np.clip((box.width / 2 + _KNEE - aside) / _OVERLAP, 0, 1)
    now = np.einsum("tj,tj->t", place[:, :2] - body, ahead)
    lack = (overlap * np.clip(reach + _KNEE + box.near - now[:, None], 0, None)).max(1)
    lack = np.maximum(lack, np.clip(_BELLY + box.near - now, 0, None))
    out = place.copy()
    out[:, :2] += ahead * gaussian(lack, _KNEE_SMOOTHING * FPS)[:, None]
    return out


def _leaning(track: Track, angle: Array) -> Track:
    """The track with the trunk leaning forward by `angle` (T,); the arms hang as they did."""
    left = np.concatenate(
        (to_world(np.tile([1.0, 0.0], (len(track), 1)), track.root()[:, 3]), np.zeros((len(track), 1))), axis=1
    )
    turn = np.concatenate((np.cos(angle / 2)[:, None], np.sin(angle / 2)[:, None] * left), axis=1)
    above = [*MODEL_SKELETON.indices(_TRUNK[1:]), *_SHOULDERS]
    rotations = track.rotations.copy()
    rotations[:, above] = multiply(np.broadcast_to(turn[:, None], (len(track), len(above), 4)), rotations[:, above])
    return replace(track, rotations=rotations)


def _straightened(track: Track, weight: Array) -> Track:
    """The trunk turned toward upright by `weight` (T,)."""
    upright = from_yaw(track.root()[:, 3])
    trunk, chest = MODEL_SKELETON.indices(_TRUNK), MODEL_SKELETON.index("Spine2")
    rotations = track.rotations.copy()
    before = rotations[:, chest].copy()
    rotations[:, trunk] = held(
        rotations[:, trunk], np.broadcast_to(upright[:, None], (len(track), len(trunk), 4)), weight
    )
    # The shoulders turn with the chest; the arms hang as they did.
    turn = multiply(rotations[:, chest], before * np.array([1.0, -1, -1, -1]))
    shoulders = rotations[:, _SHOULDERS]
    rotations[:, _SHOULDERS] = multiply(np.broadcast_to(turn[:, None], shoulders.shape), shoulders)
    return replace(track, rotations=rotations)
