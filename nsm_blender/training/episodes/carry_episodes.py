# SPDX-License-Identifier: GPL-3.0-or-later
"""Episodes of taking a box and walking off with it, and of bringing a box and putting it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...geometry.colliders import Collider, Cuboids, Placed, Surroundings
from ...geometry.furniture import Piece, held_out, make
from ...geometry.roles import Carryable, Surface
from ...models.nsm import ACTIONS, CONTACTS, FPS
from ...motion.root import angle_of, direction, to_world
from ...motion.rotations import Array, from_yaw, multiply, normalize, rotate
from ...motion.skeleton import MODEL_SKELETON
from .clutter import clutter
from .episode import FREE, Episode, Fault, Goals, penetration, sharpest, slide
from .lifting import Lift
from .pool import Pool
from .reach import ARMS, Target, eased, hand_places, held, palm, reaching
from .track import Track, joined

BOXES = ("box", "crate", "sack", "drum")
SUPPORTS = ("table", "desk", "shelf", "cupboard", "platform", "bench")
PALM_THICKNESS = 0.02
"""Metres between the middle of the palm's bones and the face that it lies on."""
PALM = 0.09
"""Metres from the wrist to the middle of the palm."""
_BLEND = 1.0
_HIPS_SHARE = 0.75
"""Share of a change of the box's height that the hips take part in, as far as the legs go."""
_STANDING_HIPS = 0.965
_UPRIGHT_RISE = 0.6
"""Metres that a box is higher than recorded, at which one takes it standing upright."""
_CARRY_AHEAD = (0.30, 0.40)
_CARRY_HEIGHT = (0.92, 1.10)
_RECORDED_HEIGHT = 1.0
"""Metres of the palms at which the recorded boxes are carried."""
_LEGS_ROOM = 0.26
"""Metres from the middle of a carrier to the edge of what the box stands on."""
_DEEPEST = 0.05
_SLIDE_LIMIT = 4.0
_ACCELERATION_LIMIT = 90.0
_TRUNK = MODEL_SKELETON.indices(
    [name for name in MODEL_SKELETON.names if not name.startswith(("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToe"))
     and not name.startswith(("RightUpLeg", "RightLeg", "RightFoot", "RightToe"))]
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Box:
    """A thing to carry. cuboids: its frame's origin is the middle between the palms, the carrier is at +Y.
    width: metres between the palms. bottom: metres from the palms down to its underside. reach: from the palms
    towards the carrier to its nearest point."""

    name: str
    cuboids: Cuboids
    width: float
    bottom: float
    near: float


def carry_episode(pool: Pool, lifts: Sequence[Lift], rng: np.random.Generator, name: str) -> Episode | Fault:
    """One episode from a random template with a random box at a random height, or why it is not good enough."""
    lift = lifts[int(rng.integers(len(lifts)))]
    lift = lift.mirrored() if rng.random() < 0.5 else lift
    box = _random_box(rng, name)
    support = _support(rng, box, lift) if rng.random() < 0.65 else None
    grasp_height = (support[1] if support else 0.0) + box.bottom
    obstacles = Surroundings([support[0]]).at(0) if support else None
    parts, grasp, span = _assembled(pool, lift, obstacles, rng)
    track = joined(parts)
    held_from, held_to = (grasp, len(track) - 1) if lift.way == "up" else (0, grasp)
    track = _fitted(track, lift, box, grasp, grasp_height, rng)
    label = slice(span[0], len(track)) if lift.way == "up" else slice(0, span[1])
    track = _carrying(track, label)
    poses = _box_poses(track, grasp, grasp_height, held_from, held_to)
    moving = Collider(f"{name} box", box.cuboids, poses, "carryable")
    colliders = [moving, *([support[0]] if support else [])]
    goals, colliders = _goals(track, lift, poses, colliders, grasp, span, box)
    touching = np.zeros((len(track), 3), dtype=np.float32)
    touching[held_from : held_to + 1, [CONTACTS.index("LeftHand") - 2, CONTACTS.index("RightHand") - 2]] = 1
    colliders += clutter(track, colliders, rng)
    subjects = (lift.subject,)
    episode = Episode(name, "carry", subjects, track, (span,), goals, touching, colliders)
    return _fault(episode, 2 if support else 1) or episode


def _fault(episode: Episode, own: int) -> Fault | None:
    track = episode.track
    if (value := slide(track)) > _SLIDE_LIMIT:
        return Fault("feet slide", value)
    if (value := sharpest(track)) > _ACCELERATION_LIMIT:
        return Fault("jerk", value)
    solid = replace(episode, colliders=episode.colliders[1:own] or [])
    if solid.colliders:
        deepest = float(penetration(track.positions(), solid.surroundings(), range(0, len(track), 4)).max(initial=0))
        if deepest > _DEEPEST:
            return Fault("the body enters the furniture", deepest)
    return None


def _random_box(rng: np.random.Generator, name: str) -> _Box:
    while True:
        seed = int(rng.integers(1, 100000))
        if held_out(seed):
            continue
        piece = make(BOXES[int(rng.integers(len(BOXES)))], seed)
        ways = [piece.handles, *piece.also]
        way = ways[int(rng.integers(len(ways)))]
        assert isinstance(way, Carryable)
        left, right = np.array(way.left), np.array(way.right)
        width = float(np.linalg.norm(left - right))
        if 0.2 < width < 0.62:
            return _in_palm_frame(piece, way, width, name)


def _in_palm_frame(piece: Piece, way: Carryable, width: float, name: str) -> _Box:
    middle = (np.array(way.left) + np.array(way.right)) / 2
    # The carrier is to be at +Y.
    turn = np.pi - float(angle_of(np.array(way.facing[:2])))
    turns = round(turn / (np.pi / 2))
    yaw = from_yaw(np.array(turns * np.pi / 2))
    centre = rotate(np.broadcast_to(yaw, (len(piece.boxes.centre), 4)), piece.boxes.centre - middle)
    half = piece.boxes.half[:, [1, 0, 2]] if turns % 2 else piece.boxes.half
    low = (centre - half).min(0)
    high = (centre + half).max(0)
    return _Box(f"{name} {piece.kind}", Cuboids(centre, half), width, float(-low[2]), float(high[1]))


def _support(rng: np.random.Generator, box: _Box, lift: Lift) -> tuple[Collider, float] | None:
    """Something on whose front edge the box stands, and the height of its top; in the box's frame."""
    room = float(lift.track.hips[lift.grasp, 1]) - _LEGS_ROOM
    if room < 0.3 * box.near:
        return None
    for _ in range(20):
        seed = int(rng.integers(1, 100000))
        if held_out(seed):
            continue
        piece = make(SUPPORTS[int(rng.integers(len(SUPPORTS)))], seed)
        tops = [way for way in [piece.handles, *piece.also] if isinstance(way, Surface)]
        tops = [way for way in tops if abs(way.facing[1] + 1) < 1e-6 and 0.2 < way.place[2] < 1.15]
        if not tops:
            continue
        top = tops[int(rng.integers(len(tops)))]
        turn = from_yaw(np.array(np.pi))
        edge = rotate(turn, np.array(top.place)) + np.array([0.0, top.depth / 2, 0.0])
        shift = np.array(
            [float(rng.uniform(-0.15, 0.15)), min(box.near + float(rng.uniform(0.0, 0.04)), room) - edge[1], 0.0]
        )
        pose = np.concatenate((shift, turn))[None]
        return Collider("support", piece.boxes, pose, "surface"), float(top.place[2])
    return None


def _assembled(
    pool: Pool, lift: Lift, obstacles: Placed | None, rng: np.random.Generator
) -> tuple[list[Track], int, tuple[int, int]]:
    """Approach, template and departure; the frame of the grasp, and first and last of the movement."""
    start, end = lift.span
    earliest = max(0, start - round(2.0 * FPS))
    entry = int(rng.integers(earliest, max(start - 6, earliest) + 1))
    stop = min(end + int(rng.integers(0, round(0.6 * FPS))), len(lift.track) - 2)
    core = lift.track.cut(entry, stop + 1)
    approach, _ = pool.before(core, float(rng.uniform(1.5, 4.5)), rng, obstacles)
    departure, _ = pool.after(core, float(rng.uniform(2.0, 4.5)), rng, obstacles)
    first = len(approach)
    return [approach, core, departure], first + lift.grasp - entry, (first + start - entry, first + end - entry)


def _fitted(track: Track, lift: Lift, box: _Box, grasp: int, grasp_height: float, rng: np.random.Generator) -> Track:
    """The track with the box's faces between the palms, from the grasp on, carried before the body elsewhere."""
    count = len(track)
    change = grasp_height - lift.height
    blend = _BLEND * FPS
    near = eased(count, grasp - 1.3 * blend, grasp - 4, grasp + 4, grasp + 1.3 * blend)
    hips = np.zeros((count, 3))
    room = np.maximum(_STANDING_HIPS - track.hips[:, 2], 0)
    hips[:, 2] = np.clip(_HIPS_SHARE * change * near, -0.12, room)
    straight = near * np.clip(change / _UPRIGHT_RISE, 0, 0.85)
    track = _straightened(track, straight)
    wrists = hand_places(track)
    palms = {side: palm(track, side, PALM) for side in ARMS}
    across = palms["Left"] - palms["Right"]
    middle = (palms["Left"] + palms["Right"]) / 2
    # At the grasp the box is where it stands, before the body it is carried, and on the way between it follows both.
    root = track.root()
    ahead, height = float(rng.uniform(*_CARRY_AHEAD)) + box.near, float(rng.uniform(*_CARRY_HEIGHT))
    carried = np.concatenate((root[:, :2] + direction(root[:, 3]) * ahead, np.zeros((count, 1))), axis=1)
    carried[:, 2] = height + 0.6 * (track.hips[:, 2] - _STANDING_HIPS)
    lying = np.array([0.0, 0.0, grasp_height])
    # The way up is drawn out or shortened, so that it leads from the new grasp to the usual height.
    slope = (height - grasp_height) / (_RECORDED_HEIGHT - lift.height)
    recorded = middle.copy()
    recorded[:, 2] = grasp_height + np.clip(middle[:, 2] - lift.height, 0, None) * slope
    at_grasp = eased(count, grasp - 0.35 * FPS, grasp - 2, grasp + 2, grasp + 0.35 * FPS)[:, None]
    far = 1 - eased(count, grasp - 1.6 * blend, grasp - 0.7 * blend, grasp + 0.7 * blend, grasp + 1.6 * blend)[:, None]
    place = (1 - far) * recorded + far * carried
    place = (1 - at_grasp) * place + at_grasp * lying
    facing = normalize(across * np.array([1.0, 1.0, 0.0]))
    square = np.concatenate((to_world(np.tile([1.0, 0.0], (count, 1)), root[:, 3]), np.zeros((count, 1))), axis=1)
    aligned = np.maximum(far, at_grasp)
    facing = normalize((1 - aligned) * facing + aligned * square)
    half = (box.width / 2 + PALM_THICKNESS) * facing
    hands = {}
    weight = _hold_weight(count, lift, grasp)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        hands[side] = Target(place + sign * half - (palms[side] - wrists[side]), weight)
    return _palms_to(reaching(track, hips, hands), place, half, weight)


def _palms_to(track: Track, place: Array, half: Array, weight: Array) -> Track:
    """Once more, as the hands turned with the forearms."""
    wrists = hand_places(track)
    hands = {
        side: Target(place + sign * half - (palm(track, side, PALM) - wrists[side]), weight)
        for side, sign in (("Left", 1.0), ("Right", -1.0))
    }
    return reaching(track, np.zeros((len(track), 3)), hands)


def _hold_weight(count: int, lift: Lift, grasp: int) -> Array:
    """Weight of the box on the hands: from a moment before the grasp on, or until a moment after letting go."""
    fade = 0.45 * FPS
    if lift.way == "up":
        return eased(count, grasp - fade, grasp - 2, count, count + 1)
    return eased(count, -2, -1, grasp + 2, grasp + fade)


def _straightened(track: Track, weight: Array) -> Track:
    """The trunk turned towards upright by `weight` (T,)."""
    root = track.root()
    upright = np.broadcast_to(from_yaw(root[:, 3])[:, None], (len(track), len(_TRUNK), 4))
    head_up = ("Hips", "Spine", "Spine1", "Spine2", "Neck", "Head")
    trunk = [i for i, joint in enumerate(_TRUNK) if MODEL_SKELETON.names[joint] in head_up]
    rotations = track.rotations.copy()
    before = rotations[:, MODEL_SKELETON.index("Spine2")].copy()
    joints = [_TRUNK[i] for i in trunk]
    rotations[:, joints] = held(rotations[:, joints], upright[:, trunk], weight)
    # The arms hang from the chest and turn with it.
    turn = multiply(rotations[:, MODEL_SKELETON.index("Spine2")], before * np.array([1.0, -1, -1, -1]))
    arms = [joint for joint in _TRUNK if joint not in joints]
    rotations[:, arms] = multiply(np.broadcast_to(turn[:, None], rotations[:, arms].shape), rotations[:, arms])
    return replace(track, rotations=rotations)


def _carrying(track: Track, frames: slice) -> Track:
    """With "carry" besides the labels of the walk."""
    actions = track.actions.copy()
    actions[frames, ACTIONS.index("carry")] = 1
    return replace(track, actions=actions)


def _box_poses(track: Track, grasp: int, grasp_height: float, held_from: int, held_to: int) -> Array:
    """Poses (T, 7) of the box: lying where it is taken or left, between the palms while held."""
    palms = {side: palm(track, side, PALM) for side in ARMS}
    middle = (palms["Left"] + palms["Right"]) / 2
    across = palms["Left"] - palms["Right"]
    yaw = np.unwrap(np.arctan2(across[:, 1], across[:, 0]))
    poses = np.concatenate((middle, from_yaw(yaw)), axis=1)
    lying = np.concatenate(([0.0, 0.0, grasp_height], from_yaw(np.array(0.0))))
    resting = np.ones(len(track), dtype=bool)
    resting[held_from : held_to + 1] = False
    poses[resting] = lying
    share = eased(len(track), grasp - 6, grasp, grasp, grasp + 6)[:, None]
    poses = (1 - share) * poses + share * lying
    poses[:, 3:] = normalize(poses[:, 3:])
    return poses


def _goals(
    track: Track,
    lift: Lift,
    poses: Array,
    colliders: list[Collider],
    grasp: int,
    span: tuple[int, int],
    box: _Box,
) -> tuple[Goals, list[Collider]]:
    """What is wanted: the box, and then the way; or the way with the box, and then the place for it."""
    goals = Goals.steered(len(track))
    place = poses[grasp, :3]
    # The character comes along -Y and so faces 0.
    if lift.way == "up":
        return goals.wanting(slice(0, span[1] - 10), place, 0.0, "carry", 0).using(
            slice(span[1] - 10, None), 0
        ), colliders
    ghost = Collider(f"{box.name} goal", box.cuboids, np.concatenate((place, from_yaw(np.array(0.0))))[None], "ghost")
    colliders = [*colliders, ghost]
    goals = goals.using(slice(0, None), 0)
    away = np.linalg.norm(track.hips[:, :2], axis=1)
    far = np.flatnonzero(away[:grasp] > 3.5)
    first = int(far[-1]) + 1 if len(far) else 0
    goals = goals.wanting(slice(first, grasp + 8), place, 0.0, "idle", len(colliders) - 1)
    return goals.using(slice(grasp + 8, None), FREE), colliders
