# SPDX-License-Identifier: GPL-3.0-or-later
"""Episodes of walking to a seat, sitting, getting up and leaving, on furniture of many shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...geometry.colliders import Collider, Placed, Surroundings
from ...geometry.furniture import Piece, held_out, make
from ...geometry.roles import Seat
from ...models.nsm import CONTACTS, FPS
from ...motion.root import angle_of
from ...motion.rotations import Array, from_yaw, rotate
from ...motion.skeleton import MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from .clutter import clutter
from .episode import DEEPEST, Episode, Fault, Goals, penetration, unnatural
from .pool import Pool
from .reach import Target, eased, reaching
from .sitting import Sit
from .track import Track, joined

SEATS = ("chair", "armchair", "stool", "sofa", "bench", "office_chair")
LARGEST_CHANGE = 0.09
"""Metres by which a sit is played on a higher or lower seat than it was recorded on."""
WRIST_ABOVE_REST = 0.035
_BLEND = 1.0
"""Seconds over which the change of the seat's height comes in (5.2, step 4)."""
_HAND_BLEND = 0.6
_ENTRIES = 5
_AS_RECORDED = 0.4
"""Share of the sits on a seat that was told which stay on it; the others take place on made-up ones."""
_HIP_JOINTS = MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])


def sit_episode(pool: Pool, sits: Sequence[Sit], rng: np.random.Generator, name: str) -> Episode | Fault:
    """One episode from a random template on a random seat, or why it is not good enough."""
    down = _choose([sit for sit in sits if sit.down is not None and sit.down[0] > 12], rng)
    up = down if down.up is not None and rng.random() < 0.7 else _choose(_rises_like(down, sits), rng)
    if down.shape is not None and rng.random() < _AS_RECORDED:
        seat, collider = down.shape.seat, down.shape.collider(f"{name} seat")
    else:
        piece = _seat_near(down.seat_height, rng)
        if piece is None:
            return Fault("no seat of this height", down.seat_height)
        seat, collider = _placed(piece, name)
    parts, spans = _assembled(pool, down, up, Surroundings([collider]).at(0), rng)
    track = joined(parts)
    start, seated, rising, risen = spans
    track = track.relabelled(start, rising + round(0.6 * (risen - rising)), "sit")
    track = _fitted(track, seat, (start, seated, rising, risen))
    hips = track.positions()[seated:rising, _HIP_JOINTS].mean(axis=(0, 1))
    # What is left of drift between the templates' seats, where two were joined.
    off = np.hypot(*hips[:2])
    if off > 0.12:
        return Fault("the hips are off the seat", float(off))
    leaving = rising - round(rng.uniform(0.05, 0.3) * FPS)
    goals = Goals.steered(len(track)).wanting(
        slice(0, leaving), np.array(seat.place), float(angle_of(np.array(seat.facing[:2]))), "sit", 0
    )
    touching = np.zeros((len(track), 3), dtype=np.float32)
    touching[seated : rising + 1, CONTACTS.index("Hips") - 2] = 1
    if seat.arm_rests:
        touching[:, :2] = _hand_weights(len(track), seat, spans)[:, :2] > 0.95
    colliders = [collider, *clutter(track, [collider], rng)]
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
    frames = [f for f in range(0, len(track), 4) if not spans[0] + 6 < f < spans[3] - 6]
    if (value := float(penetration(track.positions(), episode.surroundings(), frames).max(initial=0))) > DEEPEST:
        return Fault("the body enters the furniture", value)
    return None


def _choose(sits: Sequence[Sit], rng: np.random.Generator) -> Sit:
    sit = sits[int(rng.integers(len(sits)))]
    return sit.mirrored() if rng.random() < 0.5 else sit


def _rises_like(down: Sit, sits: Sequence[Sit]) -> list[Sit]:
    """Sits with a rise from about the same height; the nearest one when there is none."""
    rises = [sit for sit in sits if sit.up is not None]
    near = [sit for sit in rises if abs(sit.hips[2] - down.hips[2]) < 0.06]
    return near or sorted(rises, key=lambda sit: abs(sit.hips[2] - down.hips[2]))[:1]


def _seat_near(height: float, rng: np.random.Generator) -> Piece | None:
    for _ in range(60):
        seed = int(rng.integers(1, 100000))
        if held_out(seed):
            continue
        piece = make(SEATS[int(rng.integers(len(SEATS)))], seed)
        if isinstance(piece.handles, Seat) and abs(piece.handles.place[2] - height) < LARGEST_CHANGE:
            return piece
    return None


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
