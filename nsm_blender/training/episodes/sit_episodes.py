# SPDX-License-Identifier: GPL-3.0-or-later
"""Episodes of walking to a seat, sitting, getting up and leaving, on furniture of many shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...geometry.body import depth
from ...geometry.colliders import Collider, Cuboids, Placed, Surroundings
from ...geometry.furniture import Piece, held_out, make
from ...geometry.roles import Seat
from ...models.nsm import CONTACTS, FPS
from ...motion.easing import eased
from ...motion.root import angle_of
from ...motion.rotations import Array, from_yaw, rotate
from ...motion.skeleton import MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from .clutter import clutter
from .episode import DEEPEST, Episode, Fault, Goals, asked_for, unnatural
from .pool import Pool
from .reach import Target, reaching
from .sitting import Sit
from .track import HALF_LIFE, Track, joined

SEATS = ("chair", "armchair", "stool", "sofa", "bench", "office_chair")
LARGEST_CHANGE = 0.09
"""Meters by which a sit is played at most on a higher or lower seat than it was recorded on."""
_USUAL = (0.27, 0.63)
"""Heights in meters of recorded seats that come close to made-up furniture; furniture is made for the others."""
_LOWER = 0.04
"""Most meters by which that furniture is lower than the recorded seat."""
_UNUSUAL = 0.3
"""Chance of a sit on such a seat, to 1 for others."""
WRIST_ABOVE_REST = 0.035
"""Meters of the wrist above the arm rest that its palm lies on."""
_BLEND = 1.0
"""Seconds over which the change of the seat's height comes in (5.2, step 4)."""
_HAND_BLEND = 0.6
"""Seconds over which a hand comes to an arm rest and leaves it."""
_SEATED_HALF_LIFE = 0.35
"""Seconds in which half of the difference between two templates is gone on the seat: hands lie as far apart there as
from the lap to the side."""
_ENTRIES = 5
"""Frames of a sit at which an approach may be joined to it."""
_AS_RECORDED = 0.4
"""Share of the sits on a told seat that stay on it; the others take place on made-up ones."""
_HIP_JOINTS = MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])
_SHINS = (MODEL_SKELETON.indices(["LeftLeg", "RightLeg"]), MODEL_SKELETON.indices(["LeftFoot", "RightFoot"]))
_SHIN_RADIUS = 0.05
"""Meters from the middle of a shin to its skin."""
_SHARES = np.array([0.1, 0.4, 0.7, 1.0])
"""Places along a shin, as shares of its length from the knee down, where its room is measured."""
_EVERY = 4
"""Frames between the poses that are checked."""
_TURNING = 6
"""Frames at both ends of sitting in which the hips do not touch the seat yet."""
_PIECES = 60
"""Pieces of furniture that are tried for one of the right height with room for the legs."""
_AHEAD = (0.0, 0.03, 0.06, 0.09)
"""Meters by which the feet may stand farther before a seat than they were recorded, to be clear of its front."""


def sit_episode(pool: Pool, sits: Sequence[Sit], rng: np.random.Generator, name: str) -> Episode | Fault:
    """Make an episode from a random template on a random seat, or why it is not good enough."""
    down = _choose([sit for sit in sits if sit.down is not None and sit.down[0] > 12], rng)
    up = down if down.up is not None and rng.random() < 0.7 else _choose(_rises_like(down, sits), rng)
    ahead = 0.0
    if down.shape is not None and rng.random() < _AS_RECORDED:
        seat, collider = down.shape.seat, down.shape.collider(f"{name} seat")
    else:
        found = _seat_for(down, up, name, rng)
        if isinstance(found, Fault):
            return found
        seat, collider, ahead = found
    parts, spans = _assembled(pool, down, up, Surroundings([collider]).at(0), rng)
    # The hips are brought back onto the seat below, and the feet stay where they then are.
    track = joined(parts, (HALF_LIFE, _SEATED_HALF_LIFE, HALF_LIFE)).moved(0.0, np.zeros(2), np.array([0.0, -ahead]))
    start, seated, rising, risen = spans
    track = track.relabeled(start, rising + round(0.6 * (risen - rising)), "sit")
    track = _fitted(track, seat, (start, seated, rising, risen))
    hips = track.positions()[seated:rising, _HIP_JOINTS].mean(axis=(0, 1))
    # What is left of drift between the templates' seats, where two were joined.
    off = np.hypot(*hips[:2])
    if off > 0.12:
        return Fault("the hips are off the seat", float(off))
    leaving = rising - round(rng.uniform(0.05, 0.3) * FPS)
    asked = asked_for(track.root(), start, rng)
    goals = Goals.steered(len(track)).wanting(
        slice(asked, leaving), np.array(seat.place), float(angle_of(np.array(seat.facing[:2]))), "sit", 0
    )
    touching = np.zeros((len(track), 3), dtype=np.float32)
    touching[seated : rising + 1, CONTACTS.index("Hips") - 2] = 1
    if seat.arm_rests:
        touching[:, :2] = _hand_weights(len(track), seat, spans)[:, :2] > 0.95
    colliders = [collider, *clutter(track, [collider], rng, np.zeros(2))]
    episode = Episode(
        name,
        "sit",
        tuple({down.subject, up.subject}),
        track,
        ((start, seated), (rising, risen)),
        goals,
        touching,
        colliders,
    )
    return _fault(episode, (start, seated, rising, risen)) or episode


def _fault(episode: Episode, spans: tuple[int, int, int, int]) -> Fault | None:
    track = episode.track
    if (fault := unnatural(track)) is not None:
        return fault
    positions, around, seat = track.positions(), episode.surroundings(), [episode.colliders[0].name]
    # The seat is put under the recorded hips: how far thighs sink into it is the recording's, and no fault.
    deepest = max(
        depth(positions[f], f, around, seat, spans[0] + _TURNING < f < spans[3] - _TURNING, False, np.inf)
        for f in range(0, len(track), _EVERY)
    )
    return Fault("the body enters the furniture", deepest) if deepest > DEEPEST else None


def _choose(sits: Sequence[Sit], rng: np.random.Generator) -> Sit:
    often = np.array([1.0 if _is_usual(sit) else _UNUSUAL for sit in sits])
    sit = sits[int(rng.choice(len(sits), p=often / often.sum()))]
    return sit.mirrored() if rng.random() < 0.5 else sit


def _rises_like(down: Sit, sits: Sequence[Sit]) -> list[Sit]:
    """Sits with a rise from about the same height; the nearest one when there is none."""
    rises = [sit for sit in sits if sit.up is not None]
    near = [sit for sit in rises if abs(sit.hips[2] - down.hips[2]) < 0.06]
    return near or sorted(rises, key=lambda sit: abs(sit.hips[2] - down.hips[2]))[:1]


def _seat_for(down: Sit, up: Sit, name: str, rng: np.random.Generator) -> tuple[Seat, Collider, float] | Fault:
    """A made-up seat of about the height of the one that was recorded, and by how much farther ahead the feet are to
    stand, so that there is room for the legs."""
    spans = ((down, (down.down or down.seated)[0], down.seated[1]), (up, up.seated[0], (up.up or up.seated)[1]))
    shins = np.concatenate([_shins(*span) for span in spans])
    for _ in range(_PIECES):
        seed = int(rng.integers(1, 100000))
        if held_out(seed):
            continue
        piece = make(SEATS[int(rng.integers(len(SEATS)))], seed)
        if not _is_usual(down):
            piece = _stretched(piece, down.seat_height + float(rng.uniform(-_LOWER, LARGEST_CHANGE)))
        elif not isinstance(piece.handles, Seat) or abs(piece.handles.place[2] - down.seat_height) >= LARGEST_CHANGE:
            continue
        seat, collider = _placed(piece, name)
        placed = Surroundings([collider]).at(0)
        for ahead in _AHEAD:
            if placed.distance(shins - [0.0, ahead, 0.0]).min() > _SHIN_RADIUS - DEEPEST:
                return seat, collider, ahead
    return Fault("no seat of this height with room for the legs", down.seat_height)


def _is_usual(sit: Sit) -> bool:
    return _USUAL[0] < sit.seat_height < _USUAL[1]


def _stretched(piece: Piece, height: float) -> Piece:
    """A seat whose boxes and handles are pressed together or drawn out to a sitting height: a pouf, a bar
    stool."""
    seat = piece.handles
    assert isinstance(seat, Seat)
    share = np.array([1.0, 1.0, height / seat.place[2]])
    handles = replace(
        seat, place=(share * seat.place).tolist(), arm_rests=[(share * rest).tolist() for rest in seat.arm_rests]
    )
    return replace(piece, boxes=Cuboids(piece.boxes.center * share, piece.boxes.half * share), handles=handles)


def _shins(sit: Sit, first: int, last: int) -> Array:
    """Points (N, 3) along the shins from one frame of a sit to another, in the seat's frame."""
    places = sit.in_seat_frame().track.cut(first, last + 1).positions()[::_EVERY]
    knees, ankles = (places[:, joints, None] for joints in _SHINS)
    points: Array = knees + _SHARES[:, None] * (ankles - knees)
    return points.reshape(-1, 3)


def _assembled(
    pool: Pool, down: Sit, up: Sit, obstacles: Placed, rng: np.random.Generator
) -> tuple[list[Track], tuple[int, int, int, int]]:
    """Approach, template, hold, rise and departure; and the frames of sitting down and getting up."""
    assert down.down is not None and up.up is not None
    # The earlier the pool hands over, the more of the walk is the recorded one.
    earliest = max(0, down.down[0] - round(2.5 * FPS))
    entries = rng.integers(earliest, down.down[0] - 8, _ENTRIES)
    seconds = float(rng.uniform(1.5, 5.0))
    found = [(pool.before(down.track.cut(int(e), len(down.track)), seconds, rng, obstacles), int(e)) for e in entries]
    (approach, _), entry = min(found, key=lambda item: item[0][1].distance)
    seated_first, seated_last = down.seated
    hold = round(float(rng.uniform(0.8, 3.0)) * FPS)
    first = down.track.cut(entry, min(seated_first + hold // 2, seated_last) + 1)
    up_first, _ = up.seated
    # Sitting on goes to and fro over what was recorded, when that is short.
    rest_from = max(up.up[0] - hold // 2, up_first)
    end = min(up.up[1] + round(float(rng.uniform(0.0, 0.5)) * FPS), len(up.track) - 2)
    second = up.track.cut(rest_from, end + 1)
    departure, _ = pool.after(second, float(rng.uniform(2.0, 3.5)), rng, obstacles)
    start = len(approach) + down.down[0] - entry
    seated = len(approach) + seated_first - entry
    rising = len(approach) + len(first) + up.up[0] - rest_from
    risen = rising + up.up[1] - up.up[0]
    return [approach, first, second, departure], (start, seated, rising, risen)


def _placed(piece: Piece, name: str) -> tuple[Seat, Collider]:
    """The piece with its seat over the origin, facing -Y, and the seat there."""
    assert isinstance(piece.handles, Seat)
    seat = piece.handles
    turn = -float(angle_of(np.array(seat.facing[:2])))
    yaw = from_yaw(np.array(turn))

    def moved(place: Sequence[float]) -> Array:
        return rotate(yaw, np.array(place)) + shift

    shift = np.zeros(3)
    at = moved(seat.place)
    shift = np.array([-at[0], -at[1], 0.0])
    placed = replace(
        seat,
        place=moved(seat.place).tolist(),
        facing=[0.0, -1.0, 0.0],
        arm_rests=[moved(rest).tolist() for rest in seat.arm_rests],
    )
    pose = np.concatenate((shift, yaw))[None]
    return placed, Collider(f"{name} {piece.kind}", piece.boxes, pose, "seat", piece.handles)


def _fitted(track: Track, seat: Seat, spans: tuple[int, int, int, int]) -> Track:
    """The track with the hips on the seat, blended over a second, and the hands on the arm rests."""
    start, seated, rising, risen = spans
    blend = round(_BLEND * FPS)
    weight = eased(len(track), min(start, seated - blend), seated, rising, max(risen, rising + blend))
    positions = track.positions()
    joints = positions[seated : rising + 1, _HIP_JOINTS].mean(axis=(0, 1))
    change = np.zeros((len(track), 3))
    change[:, 2] = weight * (seat.place[2] + SEAT_BELOW_HIP_JOINTS - joints[2])
    # Where two recordings meet on the seat, they share one place.
    middle = np.median(positions[seated : rising + 1, 0, :2], axis=0)
    change[:, :2] = weight[:, None] * (np.array(seat.place[:2]) - middle)
    hands: Mapping[str, Target] = {}
    if seat.arm_rests:
        weights = _hand_weights(len(track), seat, spans)
        hands = {
            side: Target(_rest_for(seat, side, len(track)), weights[:, i]) for i, side in enumerate(("Left", "Right"))
        }
    return reaching(track, change, hands)


def _hand_weights(count: int, seat: Seat, spans: tuple[int, int, int, int]) -> Array:
    start, seated, rising, risen = spans
    blend = round(_HAND_BLEND * FPS)
    weight = eased(count, max(start, seated - blend) - 10, seated, rising, min(risen, rising + blend))
    out = np.zeros((count, 2))
    for rest in seat.arm_rests:
        out[:, 0 if rest[0] > 0 else 1] = weight
    return out


def _rest_for(seat: Seat, side: str, count: int) -> Array:
    """Where the wrist of a side rests (T, 3); anything when there is no rest on that side."""
    wanted = [rest for rest in seat.arm_rests if (rest[0] > 0) == (side == "Left")]
    place = np.array(wanted[0] if wanted else seat.place) + np.array([0.0, 0.0, WRIST_ABOVE_REST])
    return np.tile(place, (count, 1))
