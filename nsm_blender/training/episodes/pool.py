# SPDX-License-Identifier: GPL-3.0-or-later
"""A pool of locomotion, recorded and walked by the PFNN, in which approaches and departures are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...control.bake import Bake
from ...control.shot import PathFollow, Shot, per_frame
from ...geometry.colliders import Placed
from ...models.nsm import ACTIONS, FPS
from ...motion.clip_file import load_clip, load_library
from ...motion.feet import level_feet
from ...motion.filters import velocity
from ...motion.retarget import to_model_skeleton
from ...motion.root import to_local
from ...motion.rotations import Array, wrap_angle
from ...motion.skeleton import MODEL_SKELETON
from .track import Track, from_clip, from_motion

RECORDED = "o3de_"
"""Takes whose names begin so are long and free of anything but locomotion, apart from those named here:"""
UNFIT = ("jump", "pushes", "outofrange", "crouching")
_MATCHED = MODEL_SKELETON.indices(
    ["Hips", "LeftFoot", "LeftToe", "RightFoot", "RightToe", "LeftHand", "RightHand", "Head"]
)
_VELOCITY_WEIGHT = 0.15
"""Seconds: a difference of 1 m/s counts as this many metres."""
_ARMS_WEIGHT = 0.4
_APART = 20
"""Frames between two matches that count as different ones."""
_CANDIDATES = 40
_KEPT_CLEAR = MODEL_SKELETON.indices(["Hips", "LeftLeg", "RightLeg", "LeftToe", "RightToe", "Head"])
_FROM_REST = 0.5
"""Share of the approaches that begin with standing, where there is any standing before."""
_LONGEST = 8.0
"""Seconds that an approach from standing takes at most."""
_CLEARANCE = 0.13
"""Metres from these joints to an obstacle."""


@dataclass(frozen=True, eq=False)
class Match:
    """A frame of the pool that is near to a wanted one. distance: metres, root of the mean square over joints."""

    track: int
    frame: int
    distance: float


class Pool:
    """Tracks of locomotion with what is needed to find frames in them."""

    def __init__(self, tracks: Sequence[Track]) -> None:
        self.tracks = list(tracks)
        self.roots = [track.root() for track in self.tracks]
        features = [_features(track, root) for track, root in zip(self.tracks, self.roots, strict=True)]
        self._features = np.concatenate(features)
        self._owner = np.concatenate([np.full(len(f), i) for i, f in enumerate(features)])
        self._frame = np.concatenate([np.arange(len(f)) for f in features])
        self._length = np.array([len(f) for f in features])

    def before(
        self, entry: Track, seconds: float, rng: np.random.Generator, obstacles: Placed | None = None
    ) -> tuple[Track, Match]:
        """About `seconds` of locomotion that end one frame before `entry` begins, in its place.

        Chosen at random among the best matches that keep clear of obstacles, the better the likelier; where none
        does, one that does not.
        """
        wanted = entry.root()[0]
        from_rest = bool(rng.random() < _FROM_REST)
        for match in self._matches(entry, 0, seconds, rng, ending=True):
            start = max(match.frame - round(seconds * FPS), 0)
            if from_rest:
                start = self._rest_before(match, start)
            found = self._placed(match, start, match.frame, wanted), match
            if obstacles is None or _clear(found[0], obstacles):
                break
        return found

    def after(
        self, end: Track, seconds: float, rng: np.random.Generator, obstacles: Placed | None = None
    ) -> tuple[Track, Match]:
        """About `seconds` of locomotion that go on from the last frame of `end`; chosen as `before` does."""
        wanted = end.root()[-1]
        for match in self._matches(end, len(end) - 1, seconds, rng, ending=False):
            first = match.frame + 1
            found = self._placed(match, first, first + round(seconds * FPS), wanted), match
            if obstacles is None or _clear(found[0], obstacles):
                break
        return found

    def _rest_before(self, match: Match, start: int) -> int:
        """A frame more than a second before one sets off from standing, if that is near; else `start`."""
        idle = self.tracks[match.track].actions[:, ACTIONS.index("idle")] > 0.5
        earliest = max(match.frame - round(_LONGEST * FPS), 0)
        resting = np.flatnonzero(idle[earliest : match.frame - round(FPS)])
        return max(earliest + int(resting[-1]) - round(1.2 * FPS), 0) if len(resting) else start

    def _placed(self, match: Match, start: int, stop: int, wanted: Array) -> Track:
        root = self.roots[match.track][match.frame]
        turn = float(wrap_angle(wanted[3] - root[3]))
        return self.tracks[match.track].cut(start, stop).moved(turn, root[:2], wanted[:2] - root[:2])

    def _matches(self, track: Track, frame: int, seconds: float, rng: np.random.Generator, ending: bool) -> list[Match]:
        """The best matches in random order."""
        wanted = _features(track, track.root())[frame]
        room = self._frame if ending else self._length[self._owner] - self._frame - 2
        distance = np.sqrt(np.square(self._features - wanted).sum(1) / len(_MATCHED))
        distance[room < seconds * FPS * 0.7] = np.inf
        best: list[int] = []
        for i in np.argsort(distance)[: 60 * _CANDIDATES].tolist():
            near = (self._owner[best] == self._owner[i]) & (np.abs(self._frame[best] - self._frame[i]) < _APART)
            if not near.any():
                best.append(i)
            if len(best) == _CANDIDATES:
                break
        found = distance[best]
        weight = np.exp(-((found / found[0]) ** 2))
        order = rng.choice(len(best), len(best), replace=False, p=weight / weight.sum())
        chosen = [best[i] for i in order]
        return [Match(int(self._owner[i]), int(self._frame[i]), float(distance[i])) for i in chosen]


def recorded_tracks(data: Path, mirrored: Sequence[bool] = (False, True)) -> list[Track]:
    """The recorded takes of locomotion in a data folder."""
    tracks = []
    for entry in load_library(data):
        if entry.name.startswith(RECORDED) and not any(word in entry.name for word in UNFIT):
            clip = to_model_skeleton(level_feet(load_clip(data / "clips" / f"{entry.name}.npz")).resampled(FPS))
            track = from_clip(clip)
            tracks += [track.mirrored() if flip else track for flip in mirrored]
    return tracks


def walked_tracks(count: int, seed: int, seconds: float = 10.0) -> list[Track]:
    """Walks of our PFNN from standing along random routes, which end standing or go on."""
    rng = np.random.default_rng(seed)
    frames = round(seconds * FPS)
    tracks = []
    for _ in range(count):
        running = rng.random() < 0.2
        speed = rng.uniform(2.3, 3.2) if running else rng.uniform(0.9, 1.6)
        speeds = np.full(frames, speed)
        speeds[: int(rng.uniform(0.2, 1.0) * FPS)] = 0
        if rng.random() < 0.5:
            speeds[int(rng.uniform(0.4, 0.9) * frames) :] = 0
        shot = Shot(
            name="approach",
            fps=FPS,
            frames=frames,
            path=PathFollow(
                points=_random_route(rng, seconds * speed + 2).tolist(),
                speeds=speeds.tolist(),
                gaits=["jog" if running else "walk"] * frames,
                facing_offsets=per_frame(0.0, frames),
            ),
            start=[0.0, 0.0, 0.0, float(rng.uniform(-np.pi, np.pi))],
        )
        tracks.append(from_motion(Bake(shot).motion()))
    return tracks


def _random_route(rng: np.random.Generator, length: float) -> Array:
    """Places (N, 3) of a route of `length` metres that bends as people's do, from the origin."""
    step = 0.5
    count = int(length / step) + 2
    bends = np.cumsum(rng.normal(0, 0.12, count) + np.where(rng.random(count) < 0.12, rng.normal(0, 0.9, count), 0))
    heading = rng.uniform(-np.pi, np.pi) + bends
    places = np.zeros((count, 3))
    places[1:, 0] = np.cumsum(np.cos(heading[1:]) * step)
    places[1:, 1] = np.cumsum(np.sin(heading[1:]) * step)
    return places


def _clear(track: Track, obstacles: Placed) -> bool:
    """Whether the trunk and the knees keep off all obstacles."""
    joints = track.positions()[::6, _KEPT_CLEAR].reshape(-1, 3)
    return bool(obstacles.distance(joints).min(initial=np.inf) > _CLEARANCE)


def _features(track: Track, root: Array) -> Array:
    """Places and weighted velocities (T, 6 joints) of the matched joints in the root frame."""
    positions = track.positions()[:, _MATCHED]
    speeds = velocity(positions, FPS)
    centred = positions.copy()
    centred[..., :2] = to_local(positions[..., :2] - root[:, None, :2], root[:, None, 3])
    speeds[..., :2] = to_local(speeds[..., :2], root[:, None, 3])
    weight = np.ones(len(_MATCHED))
    weight[5:] = _ARMS_WEIGHT
    out = np.concatenate((centred * weight[:, None], speeds * (_VELOCITY_WEIGHT * weight[:, None])), axis=1)
    return out.reshape(len(track), -1).astype(np.float32)
