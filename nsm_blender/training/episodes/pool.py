# SPDX-License-Identifier: GPL-3.0-or-later
"""A pool of locomotion, recorded and walked by the PFNN, in which approaches and departures are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...baking.bake import Bake
from ...geometry.colliders import Placed
from ...models.nsm import ACTIONS, FPS
from ...motion.clip_file import LibraryEntry, load_library
from ...motion.filters import velocity
from ...motion.root import direction, to_local, to_world
from ...motion.rotations import Array, wrap_angle
from ...motion.skeleton import MODEL_SKELETON
from ...shot.shot import PathFollow, Shot, per_frame
from .captures import load_capture
from .track import Track, from_motion

RECORDED = "o3de_"
"""Beginning of the names of takes that are long and show nothing but locomotion, except those of `UNFIT`."""
UNFIT = ("jump", "pushes", "outofrange", "crouching")
"""Words in the names of those takes that show something else."""
LOCOMOTION = "locomotion"
"""Tag of takes that show nothing but locomotion."""
_MATCHED = MODEL_SKELETON.indices(
    ["Hips", "LeftFoot", "LeftToe", "RightFoot", "RightToe", "LeftHand", "RightHand", "Head"]
)
_VELOCITY_WEIGHT = 0.15
"""Meters that a difference of 1 m/s between two poses counts as."""
_ARMS_WEIGHT = 0.4
"""Weight of the arms in the difference of two poses, 1 for the other joints."""
_EVERY = 3
"""Frames between those that can be found."""
_APART = 20
"""Frames between two matches that count as different ones."""
_CANDIDATES = 30
"""Matches from which one is drawn."""
_ALIKE = 0.03
"""Difference in meters up to which matches are about equally likely."""
_LEAST_WEIGHT = 1e-6
"""Least chance of a match, so that a draw among bad ones is possible."""
_CONSIDERED = 1500
"""Matches whose ways are looked at when there are obstacles."""
_WAY_SAMPLES = 14
"""Places of a way at which its distance from obstacles is measured."""
_WAY_HEIGHTS = (0.2, 0.7, 1.2)
"""Heights in meters at which that distance is measured."""
_WAY_CLEARANCE = 0.24
"""Least meters from the root's way to an obstacle."""
_CARRYING_HEIGHTS = (0.85, 1.15)
"""Heights in meters at which the distance of what is carried from obstacles is measured."""
_CARRYING_CLEARANCE = 0.1
"""Least meters from what is carried to an obstacle."""
_CARRIED_AFTER = 0.35
"""Seconds from the join in which what is carried may still be over what it was taken from."""
_WORST = 0.16
"""Difference in meters from which a match is not joined to."""
_CARRY = ACTIONS.index("carry")
_KEPT_CLEAR = MODEL_SKELETON.indices(["Hips", "LeftLeg", "RightLeg", "LeftToe", "RightToe", "Head"])
_COMING, _CAME = 0.9, 0.2
"""Seconds before the join in which an approach from afar is still coming, and by how many meters at least: a character
that has long come waits for nothing."""
_OWN = 0.3
"""Share of the approaches that are ways of the network that learns, where such a way is near enough to the join."""
_FROM_REST = 0.5
"""Share of the approaches that begin with standing, where there is any standing before."""
_LONGEST = 8.0
"""Most seconds that an approach from standing takes."""
_CLEARANCE = 0.13
"""Meters from the joints `_KEPT_CLEAR` to an obstacle; close to the join, where the character stands before it on
purpose, less will do."""
_CLEARANCE_AT_JOIN = 0.02
"""Meters from these joints to an obstacle at the join."""
_CLEARANCE_RISE = 0.3
"""Meters of clearance for each meter away from the join."""


@dataclass(frozen=True, eq=False)
class Match:
    """A frame of the pool that is near to a wanted one. distance: meters, root of the mean square over joints."""

    track: int
    frame: int
    distance: float


class Pool:
    """Tracks of locomotion with what is needed to find frames in them. own: ways of the network that learns, from
    which approaches alone are taken."""

    def __init__(self, tracks: Sequence[Track], own: Sequence[Track] = ()) -> None:
        self.tracks = list(tracks)
        self._all = [*tracks, *own]
        self._roots = [track.root() for track in self._all]
        self.roots = self._roots[: len(tracks)]
        features = [_features(track, root) for track, root in zip(self._all, self._roots, strict=True)]
        self._features = np.concatenate([feature[::_EVERY] for feature in features])
        self._owner = np.concatenate([np.full(len(f[::_EVERY]), i) for i, f in enumerate(features)])
        self._frame = np.concatenate([np.arange(0, len(f), _EVERY) for f in features])
        self._length = np.array([len(f) for f in features])
        self._root = np.concatenate(self._roots)
        self._start = np.cumsum(self._length) - self._length
        coming = round(_COMING * FPS)
        before = np.maximum(self._frame - coming, 0) + self._start[self._owner]
        here = self._root[self._frame + self._start[self._owner]]
        self._came = np.linalg.norm(here[:, :2] - self._root[before, :2], axis=1) > _CAME
        self._is_own = self._owner >= len(tracks)
        carries = np.array([bool(track.actions[:, _CARRY].any()) for track in self._all])
        self._carries = carries[self._owner]

    def before(
        self,
        entry: Track,
        seconds: float,
        rng: np.random.Generator,
        obstacles: Placed | None = None,
        ahead: float = 0.0,
        far: float = 0.0,
        along: Array | None = None,
    ) -> tuple[Track, Match]:
        """About `seconds` of locomotion that end one frame before `entry` begins, in its place.

        Chosen at random among the best matches that keep clear of obstacles, the better the likelier; where none
        does, the one that does best. ahead: meters before the root, at the height of hands that carry, that are to
        be clear too, but for a moment at the join. far: meters from the join to where the track begins, at least, if
        that can be had; along: unit vector (2,) in the world along which they are measured.
        """
        from_rest = bool(rng.random() < _FROM_REST)
        own = bool(self._is_own.any() and rng.random() < _OWN)

        def taken(match: Match) -> Track:
            start = max(match.frame - round(seconds * FPS), 0)
            if from_rest:
                start = self._rest_before(match, start)
            return self._placed(match, start, match.frame, entry.root()[0])

        matches = self._matches(entry, 0, -seconds, rng, obstacles, ahead, far, along, own)
        return _clearest(matches, taken, -1, obstacles)

    def after(
        self,
        end: Track,
        seconds: float,
        rng: np.random.Generator,
        obstacles: Placed | None = None,
        ahead: float = 0.0,
        far: float = 0.0,
        along: Array | None = None,
    ) -> tuple[Track, Match]:
        """About `seconds` of locomotion that go on from the last frame of `end`; chosen as `before` does."""

        def taken(match: Match) -> Track:
            first = match.frame + 1
            return self._placed(match, first, first + round(seconds * FPS), end.root()[-1])

        return _clearest(
            self._matches(end, len(end) - 1, seconds, rng, obstacles, ahead, far, along), taken, 0, obstacles
        )

    def _rest_before(self, match: Match, start: int) -> int:
        """A frame more than a second before one sets off from standing, if that is near; else `start`."""
        idle = self._all[match.track].actions[:, ACTIONS.index("idle")] > 0.5
        earliest = max(match.frame - round(_LONGEST * FPS), 0)
        resting = np.flatnonzero(idle[earliest : match.frame - round(FPS)])
        return max(earliest + int(resting[-1]) - round(1.2 * FPS), 0) if len(resting) else start

    def _placed(self, match: Match, start: int, stop: int, wanted: Array) -> Track:
        root = self._roots[match.track][match.frame]
        turn = float(wrap_angle(wanted[3] - root[3]))
        return self._all[match.track].cut(start, stop).moved(turn, root[:2], wanted[:2] - root[:2])

    def _matches(
        self,
        track: Track,
        frame: int,
        seconds: float,
        rng: np.random.Generator,
        obstacles: Placed | None,
        ahead: float,
        far: float,
        along: Array | None,
        own: bool = False,
    ) -> list[Match]:
        """The best matches in random order, which have `seconds` after them, or before them when below 0; of the
        network's own ways when `own` is set and any is near enough."""
        root = track.root()
        wanted = _features(track, root)[frame]
        room = self._length[self._owner] - self._frame - 2 if seconds > 0 else self._frame
        distance = np.sqrt(np.square(self._features - wanted).sum(1) / len(_MATCHED))
        distance[room < abs(seconds) * FPS * 0.7] = np.inf
        elsewhere = np.where(self._is_own, np.inf, distance)
        # With a box in the hands the arms of others would be held out before nothing.
        among_own = np.where(self._is_own & (self._carries == (ahead > 0)), distance, np.inf)
        distance = among_own if own and among_own.min() < _WORST else elsewhere
        nearest = np.argpartition(distance, min(6 * _CONSIDERED, len(distance) - 1))[: 6 * _CONSIDERED]
        nearest = nearest[np.argsort(distance[nearest])]
        nearest = nearest[np.isfinite(distance[nearest])]
        # The best of each stretch, in order.
        _, first = np.unique(self._owner[nearest] * 10**6 + self._frame[nearest] // _APART, return_index=True)
        best = nearest[np.sort(first)][:_CONSIDERED]
        good = distance[best] < _WORST
        if far:
            comes = self._gets(best, root[frame], seconds, along) > far
            comes &= self._came[best] if seconds < 0 else True
            # What the network came to by itself is gone on from, however slowly it came.
            good &= comes | self._is_own[best]
        if obstacles is not None and len(obstacles):
            good &= self._clear_ways(best, root[frame], seconds, obstacles, ahead)
        best = best[good] if good.any() else best
        best = best[:_CANDIDATES]
        weight = np.exp(-np.square(distance[best] / max(distance[best[0]], _ALIKE))) + _LEAST_WEIGHT
        order = rng.choice(len(best), len(best), replace=False, p=weight / weight.sum())
        return [Match(int(self._owner[i]), int(self._frame[i]), float(distance[i])) for i in best[order]]

    def _way(self, found: Array, steps: Array) -> Array:
        """Roots (N, S, 4) at `steps` (S,) frames from the found ones, as far as their tracks go."""
        last = self._length[self._owner[found], None] - 1
        at = np.clip(self._frame[found, None] + np.round(steps).astype(int), 0, last)
        out: Array = self._root[self._start[self._owner[found], None] + at]
        return out

    def _gets(self, found: Array, wanted: Array, seconds: float, along: Array | None) -> Array:
        """Meters (N,) from the found frames to the root `seconds` later, straight or along a direction (2,)."""
        ends = self._way(found, np.array([0, seconds * FPS]))
        step = to_world(to_local(ends[:, 1, :2] - ends[:, 0, :2], ends[:, 0, 3]), wanted[3])
        out: Array = np.linalg.norm(step, axis=1) if along is None else step @ along
        return out

    def _clear_ways(self, found: Array, wanted: Array, seconds: float, obstacles: Placed, ahead: float) -> Array:
        """Which of the frames `found` lead along ways that keep off obstacles, when they are put at root `wanted`."""
        steps = np.round(np.linspace(0, seconds * FPS, _WAY_SAMPLES)).astype(int)
        then = self._way(found, steps)
        ways = to_world(to_local(then[..., :2] - then[:, :1, :2], then[:, :1, 3]), wanted[3]) + wanted[:2]
        facing = then[..., 3] - then[:, :1, 3] + wanted[3]
        gap = _gap(ways, _WAY_HEIGHTS, obstacles)
        if ahead:
            later = np.abs(steps) > _CARRIED_AFTER * FPS
            before = (ways + ahead * direction(facing))[:, later]
            hits = (_gap(before, _CARRYING_HEIGHTS, obstacles) < _CARRYING_CLEARANCE).any(1)
        else:
            hits = np.zeros(len(found), dtype=bool)
        # The character stands as near to the thing as it does; what counts is that the way comes no nearer.
        out: Array = (gap >= np.minimum(_WAY_CLEARANCE, gap[:, :1] - 0.01)).all(1) & ~hits
        return out


def shows_locomotion(entry: LibraryEntry) -> bool:
    """Whether a clip is a take of nothing but locomotion: its tags say so, or it is one of the public ones."""
    public = entry.name.startswith(RECORDED) and not any(word in entry.name for word in UNFIT)
    return public or LOCOMOTION in entry.tags


def recorded_tracks(
    data: Path, mirrored: Sequence[bool] = (False, True), left_out: frozenset[str] = frozenset()
) -> list[Track]:
    """The recorded takes of locomotion in a data folder, but those of the performers `left_out`."""
    tracks = []
    for entry in load_library(data):
        if shows_locomotion(entry) and entry.subject not in left_out:
            track = load_capture(entry).track
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
    """Places (N, 3) of a route of `length` meters that bends as people's do, from the origin."""
    step = 0.5
    count = int(length / step) + 2
    bends = np.cumsum(rng.normal(0, 0.12, count) + np.where(rng.random(count) < 0.12, rng.normal(0, 0.9, count), 0))
    heading = rng.uniform(-np.pi, np.pi) + bends
    places = np.zeros((count, 3))
    places[1:, 0] = np.cumsum(np.cos(heading[1:]) * step)
    places[1:, 1] = np.cumsum(np.sin(heading[1:]) * step)
    return places


def _gap(places: Array, heights: Sequence[float], obstacles: Placed) -> Array:
    """Meters (N, M) from places (N, M, 2) at the nearest of some heights to the obstacles."""
    points = np.concatenate(
        [np.concatenate((places, np.full((*places.shape[:2], 1), height)), axis=-1) for height in heights]
    )
    out: Array = obstacles.distance(points.reshape(-1, 3)).reshape(len(heights), *places.shape[:2]).min(0)
    return out


def _clearest(
    matches: Sequence[Match], taken: Callable[[Match], Track], join: int, obstacles: Placed | None
) -> tuple[Track, Match]:
    """The first match whose track keeps clear of obstacles, or the one that does so best. join: frame of the join."""
    best, most = None, -np.inf
    for match in matches:
        found = taken(match), match
        room = _room(found[0], join, obstacles) if obstacles is not None else np.inf
        if room >= 0:
            return found
        if room > most:
            best, most = found, room
    assert best is not None
    return best


def _room(track: Track, join: int, obstacles: Placed) -> float:
    """Meters that trunk and knees have more than they need to all obstacles, at least; below 0 when they have less."""
    joints = track.positions()[:, _KEPT_CLEAR]
    away = np.linalg.norm(track.hips[:, :2] - track.hips[join, :2], axis=1)
    needed = np.clip(_CLEARANCE_RISE * away, _CLEARANCE_AT_JOIN, _CLEARANCE)[::6]
    gap = obstacles.distance(joints[::6].reshape(-1, 3)).reshape(len(needed), -1).min(1)
    return float((gap - needed).min(initial=np.inf))


def _features(track: Track, root: Array) -> Array:
    """Places and weighted velocities (T, 6 joints) of the matched joints in the root frame."""
    positions = track.positions()[:, _MATCHED]
    speeds = velocity(positions, FPS)
    centered = positions.copy()
    centered[..., :2] = to_local(positions[..., :2] - root[:, None, :2], root[:, None, 3])
    speeds[..., :2] = to_local(speeds[..., :2], root[:, None, 3])
    weight = np.ones(len(_MATCHED))
    weight[5:] = _ARMS_WEIGHT
    out = np.concatenate((centered * weight[:, None], speeds * (_VELOCITY_WEIGHT * weight[:, None])), axis=1)
    return out.reshape(len(track), -1).astype(np.float32)
