# SPDX-License-Identifier: GPL-3.0-or-later
"""Punches and kicks that hit given places at given times (Holden et al. 2016, sections 6 and 8)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ShotError
from ..models.manifold import FPS, FRAME, Autoencoder
from ..models.synthesis import EFFECTORS, STRIKE_FRAMES, EndEffectors, nearest_strike, strike_inputs, strike_window
from ..motion.easing import smoothstep
from ..motion.filters import without_short_runs
from ..motion.foot_lock import planting_feet
from ..motion.ik import ARMS, LEGS, solve_limb
from ..motion.mirror import mirror_vectors
from ..motion.motion import Motion
from ..motion.root import angle_of, direction, to_local, to_world
from ..motion.rotations import Array, conjugate, make_continuous, multiply, normalize, rotate
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..paths import weights_folder
from ..stepwise import Stepwise, by_frames
from .frames import mirror_frames, to_world_positions
from .rotations_from_positions import finding_rotations
from .synthesis import REACH_FRAMES

ACTIONS = ("stand", "punch", "kick")
"""Labels of the actions of a strike."""
FARTHEST = 1.6
"""Largest distance in meters over the ground from the character to a target; farther away, the character would have to
walk."""
_TRIES = 5
"""Largest number of attempts, each corrected by the last; an attempt takes a few milliseconds."""
_CLOSE = 0.003
"""Distance in meters that an attempt may miss by without another attempt: the last correction is then invisible."""
_CORRECTION = 0.7
"""Share of a miss by which the next attempt's aim is shifted."""
_FARTHEST_SHIFT = 0.3
"""Largest shift in meters of the aim beside the target; the network has not learned to go farther off."""
_BETWEEN = 0.5
"""Shortest time in seconds between two strikes."""
_PIN_WIDTH = 9.0
"""Standard deviation in frames of the last correction of the limb."""
_LEAN_WIDTH = 14.0
"""Standard deviation in frames of the last correction of the body, where the limb is too short."""
_NEAR_ENOUGH = 0.0005
"""Distance in meters by which the final hit may be off."""
_FARTHEST_LEAN = 0.3
"""Largest shift in meters of the hips toward a target."""
_GLIDE = 0.1
"""Least speed in m/s of every stride to a hit, so that even a stride that the network leaves out can be scaled."""
_PASSING = 18
"""Frames after a hit within which the root returns to the network's own speed."""
_LEANS = 3
"""Number of times that the body moves nearer: planted feet take some of the shift back."""
_STRIKING_BEND = np.radians(30.0)
"""Bend in radians of knee or elbow at a hit: recorded kicks hit with 22 to 24 degrees, punches with 32 to 37
(medians)."""
_ROUNDS = 4
"""Number of times that a leg is bent anew to its target, as the foot turns with it."""
_LIFTED = 24
"""Frames before and after a kick in which its foot is lifted."""
_LIMBS = (ARMS["Left"], ARMS["Right"], LEGS["Left"], LEGS["Right"])
"""The limb of each of EFFECTORS."""
_MIRRORED = (1, 0, 3, 2)
"""The mirror image of each of EFFECTORS."""
_NEAR, _FOLDED = 12, np.radians(110.0)
"""Frames before and after a hit in which its limb should not be bent farther than the second value, in radians."""


@dataclass(frozen=True)
class Target:
    """A place (x, y, z) in meters that `effector`, one of EFFECTORS, hits at `time` in seconds."""

    effector: str
    place: tuple[float, float, float]
    time: float


@dataclass(frozen=True)
class StrikeShot:
    """Punches and kicks of a character.

    frames at fps, the first at time 0. start: x, y, z of the character, or None for the best place to hit the first
    target. facing: angle about +Z in radians, or None for the best facing to hit the first target.
    """

    name: str
    fps: float
    frames: int
    targets: Sequence[Target]
    start: tuple[float, float, float] | None = None
    facing: float | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    def validate(self) -> None:
        """Raise ShotError, with the sentence the user should read, when the shot cannot be made."""
        if self.frames < 2 or not 1 <= self.fps <= 240:
            raise ShotError("The shot has fewer than 2 frames or a frame rate that is not between 1 and 240.")
        if not self.targets:
            raise ShotError("The shot has no target; add one for a hand or a foot.")
        times = sorted(target.time for target in self.targets)
        if times[0] < 0 or times[-1] > (self.frames - 1) / self.fps:
            raise ShotError("A target is to be hit outside the shot's frames; move its time.")
        if any(b - a < _BETWEEN for a, b in pairwise(times)):
            raise ShotError(f"Two targets are less than {_BETWEEN:g} s apart; move one of them.")
        for target in self.targets:
            if target.effector not in EFFECTORS:
                raise ShotError(f"'{target.effector}' is not one of {', '.join(EFFECTORS)}.")
            if not np.isfinite([*target.place, target.time]).all() or len(target.place) != 3:
                raise ShotError("A target's place or time is not a finite number.")


@dataclass(frozen=True, eq=False)
class _Attempt:
    """An attempt of the network with rigid bones and planted feet, at 60 fps.

    root: (T, 4). hips: (T, 3) and rotations: (T, J, 4) before the feet are planted. contacts: (T, 4). places: (T, J, 3)
    and turned: (T, J, 4) after it. misses: (targets, 3) meters from hands and feet to their targets.
    """

    root: Array
    hips: Array
    rotations: Array
    contacts: Array
    places: Array
    turned: Array
    misses: Array

    @property
    def worst(self) -> float:
        """Largest distance in meters from a target."""
        return float(_lengths(self.misses).max())


class StrikeSynthesis:
    """Punches and kicks in progress; `step()` until `done`, then call `motion()`, as for `Synthesis`.

    Raises ShotError or WeightsError on construction.
    """

    def __init__(
        self, shot: StrikeShot, autoencoder: Autoencoder | None = None, network: EndEffectors | None = None
    ) -> None:
        shot.validate()
        folder: Path = weights_folder()
        self.shot = shot
        self._autoencoder = autoencoder or Autoencoder.load(folder / "autoencoder.safetensors")
        self._network = network or EndEffectors.load(folder / "end_effectors.safetensors")
        targets = sorted(shot.targets, key=lambda target: target.time)
        self._effectors = [EFFECTORS.index(target.effector) for target in targets]
        self._places = np.array([target.place for target in targets], dtype=np.float64)
        self._hits = [round(target.time * FPS) for target in targets]
        count = math.ceil((shot.frames - 1) / shot.fps * FPS) + 1
        self._count = count + count % 2
        self._start = self._start_of(shot)
        self._check_distance()
        # Shift of the aim with which the network hits the targets; corrected with every attempt.
        self._shifts = np.zeros_like(self._places)
        self._tries: list[_Attempt] = []
        # The network is better at kicks of the left leg: where a limb folds, the shot's mirror image is tried as well.
        self._mirrored = False
        self._motion: Motion | None = None
        self._errors: tuple[Array, Array] | None = None
        self._work = self._run()

    @property
    def done(self) -> bool:
        """Whether all frames are made."""
        return self._motion is not None

    @property
    def progress(self) -> float:
        """Share of the work that is done, 0..1."""
        return 1.0 if self.done else len(self._tries) / (_TRIES + 1)

    def step(self) -> None:
        """Do a piece of an attempt of the network, or of the final poses."""
        next(self._work, None)

    def motion(self) -> Motion:
        """The finished motion at the shot's frame rate, exactly `shot.frames` frames."""
        while not self.done:
            self.step()
        assert self._motion is not None
        return self._motion

    def _run(self) -> Iterator[None]:
        while not self._tries or (len(self._tries) < _TRIES and self._tries[-1].worst > _CLOSE):
            yield from self._try()
            yield
        self._motion = yield from self._finish()

    def hit_errors(self) -> tuple[Array, Array]:
        """Distances (targets,) in meters from the targets at their times, before and after the last correction.

        Before: of the network's motion with rigid bones and planted feet. After: with body and limb bent to the
        targets.
        """
        self.motion()
        assert self._errors is not None
        return self._errors

    def _start_of(self, shot: StrikeShot) -> tuple[float, float, float, float]:
        """Root x, y, z and facing angle at the first frame."""
        usual = self._network.usual_target(self._effectors[0])
        if shot.start is None:
            angle = shot.facing or 0.0
            x, y = self._places[0, :2] - to_world(usual[:2].astype(np.float64), np.array(angle))
            return float(x), float(y), 0.0, angle
        if shot.facing is not None:
            return (*shot.start, shot.facing)
        return (*shot.start, facing_of(shot.start, self._places[0]) - facing_of((0.0, 0.0), usual))

    def _check_distance(self) -> None:
        away = np.linalg.norm(self._places[0, :2] - np.array(self._start[:2]))
        if away > FARTHEST:
            raise ShotError(
                f"The target is {away:.1f} m away from the character; bring it within {FARTHEST:g} m or walk there."
            )

    @staticmethod
    def _around(place: Array, root: Array) -> Array:
        """A world place (3,) in the frame of the root (4,)."""
        return np.append(to_local(place[:2] - root[:2], root[3]), place[2] - root[2])

    def _try(self) -> Iterator[None]:
        """Make an attempt from the shifted targets, and shift them against its misses."""
        made = yield from self._made(self._mirrored)
        if not self._tries and max(self._bends(made)) > _FOLDED:
            other = yield from self._made(mirrored=True)
            if max(self._bends(other)) < max(self._bends(made)):
                made, self._mirrored = other, True
        self._tries.append(made)
        self._shifts = self._shifts + _CORRECTION * self._tries[-1].misses
        size = np.linalg.norm(self._shifts, axis=1, keepdims=True)
        self._shifts *= np.minimum(1, _FARTHEST_SHIFT / np.maximum(size, 1e-9))

    def _made(self, mirrored: bool) -> Stepwise[_Attempt]:
        """Make an attempt from the shifted targets' paths, or (mirrored) from their mirror image."""
        long = self._count + 2 * REACH_FRAMES
        hits = [hit + REACH_FRAMES for hit in self._hits]
        nearest, since = nearest_strike(long, hits)
        path = np.zeros((long, 3), dtype=np.float32)
        for k, effector in enumerate(self._effectors):
            before = self._before(k)
            aim = self._around(self._places[k] + self._shifts[k], before)
            mine = np.flatnonzero((nearest == k) & (np.abs(since) <= STRIKE_FRAMES))
            path[mine] = self._network.path(effector, aim)[since[mine] + STRIKE_FRAMES]
        effectors = self._effectors
        if mirrored:
            path, effectors = mirror_vectors(path), [_MIRRORED[effector] for effector in effectors]
        hidden = yield from self._network.hiding(strike_inputs(path, hits, effectors))
        made = yield from self._autoencoder.decoding(hidden)
        yield
        if mirrored:
            made = mirror_frames(made)
        root = self._root(made, strike_window(since))[REACH_FRAMES:-REACH_FRAMES]
        return (yield from self._posed(made[REACH_FRAMES:-REACH_FRAMES], root))

    def _bends(self, made: _Attempt) -> list[float]:
        """Largest bend in radians of each limb around its hit."""
        out = []
        for hit, effector in zip(self._hits, self._effectors, strict=True):
            limb = _LIMBS[effector]
            upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
            near = made.places[max(hit - _NEAR, 0) : hit + _NEAR]
            first, second = normalize(near[:, middle] - near[:, upper]), normalize(near[:, end] - near[:, middle])
            out.append(float(np.arccos(np.clip(np.sum(first * second, axis=-1), -1, 1)).max()))
        return out

    def _posed(self, made: Array, root: Array) -> Stepwise[_Attempt]:
        """The network's frames as an attempt with rigid bones and planted feet."""
        around = yield from by_frames(to_world_positions, made, root)
        contacts, hips = self._contacts(made), around[:, 0]
        rotations = yield from finding_rotations(around)
        places, turned = yield from self._planted(hips, rotations, contacts)
        return _Attempt(root, hips, rotations, contacts, places, turned, self._misses(places))

    def _before(self, strike: int) -> Array:
        """Root (4,) before a strike, from the last attempt."""
        frame = max(self._hits[strike] - STRIKE_FRAMES, 0)
        return self._tries[-1].root[frame] if self._tries else np.array(self._start)

    def _root(self, made: Array, window: Array) -> Array:
        """Root (T with margins, 4): strides are kept around the strikes only, and the first frame is the start."""
        velocity = made[:, FRAME.root_velocity].astype(np.float64) * window[:, None] / FPS
        turn = made[:, FRAME.root_turn][:, 0].astype(np.float64) * window / FPS
        turn[:REACH_FRAMES], velocity[:REACH_FRAMES] = 0, 0
        out = np.empty((len(made), 4))
        out[:, 2] = self._start[2]
        out[:, 3] = self._start[3] + np.concatenate(([0.0], np.cumsum(turn[:-1])))
        out[:, :2] = self._start[:2]
        out[1:, :2] += np.cumsum(to_world(velocity[:-1], out[:-1, 3]), axis=0)
        return out

    def _finish(self) -> Stepwise[Motion]:
        best = min(self._tries, key=lambda t: t.worst)
        away = self._distanced(best)
        root, hips = best.root.copy(), best.hips + away
        root[:, :2] += away[:, :2]
        # Pinned before the feet are planted: the network's limbs bend smoothly even where no leg could fold so far.
        yield
        first = yield from by_frames(MODEL_SKELETON.positions, hips, best.rotations)
        _, rotations = yield from self._pinned(first, best.rotations)
        posed, turned = yield from self._planted(hips, rotations, best.contacts)
        leant = np.zeros_like(self._places)
        for _ in range(_LEANS):
            reached, _ = yield from self._pinned(posed, turned)
            misses = self._misses(reached)
            if _lengths(misses).max() < _NEAR_ENOUGH:
                break
            leant += misses
            leant *= np.minimum(1, _FARTHEST_LEAN / np.maximum(_lengths(leant), 1e-9))[:, None]
            bumps = np.stack([_bump(self._count, hit, _LEAN_WIDTH) for hit in self._hits], axis=1)
            posed, turned = yield from self._planted(hips + bumps @ leant, rotations, best.contacts)
        posed, rotations = yield from self._pinned(posed, turned)
        yield
        self._errors = _lengths(best.misses), _lengths(self._misses(posed))
        actions = np.zeros((self._count, len(ACTIONS)), dtype=np.float32)
        for hit, effector in zip(self._hits, self._effectors, strict=True):
            window = strike_window(np.arange(self._count) - hit)
            column = ACTIONS.index("punch" if effector < 2 else "kick")
            actions[:, column] = np.maximum(actions[:, column], window)
        actions[:, 0] = np.maximum(1 - actions.sum(1), 0)
        motion = Motion(
            names=MODEL_SKELETON.names,
            parents=MODEL_SKELETON.parents,
            positions=posed.astype(np.float32),
            rotations=make_continuous(rotations).astype(np.float32),
            root=root.astype(np.float32),
            contacts=best.contacts,
            contact_names=CONTACT_JOINTS,
            phase=np.zeros(self._count, dtype=np.float32),
            actions=actions,
            action_names=ACTIONS,
            fps=FPS,
            meta={**self.shot.meta, "model": "manifold", "weights": self._network.hash, "name": self.shot.name},
        )
        yield
        return (yield from motion.resampling(self.shot.fps, self.shot.frames))

    def _planted(self, hips: Array, rotations: Array, contacts: Array) -> Stepwise[tuple[Array, Array]]:
        floor = self._start[2]
        lowered = hips - np.array([0.0, 0.0, floor])
        posed, turned = yield from planting_feet(lowered[None], rotations[None], contacts[None])
        return posed[0] + np.array([0.0, 0.0, floor]), turned[0]

    def _misses(self, places: Array) -> Array:
        """Vectors (targets, 3) in meters from hands and feet at the hits to their targets."""
        joints = [MODEL_SKELETON.index(EFFECTORS[e]) for e in self._effectors]
        out: Array = self._places - places[self._hits, joints]
        return out

    def _contacts(self, made: Array) -> Array:
        """Contacts (T, 4), 0 or 1, of the network's frames; a kicking foot has none."""
        down = np.stack([without_short_runs(c > 0, 6, 6) for c in made[:, FRAME.contact].T], axis=1)
        for hit, effector in zip(self._hits, self._effectors, strict=True):
            if EFFECTORS[effector].endswith("Toe"):
                side = 0 if EFFECTORS[effector].startswith("Left") else 2
                down[max(hit - _LIFTED, 0) : hit + _LIFTED, side : side + 2] = False
        return down.astype(np.float32)

    def _distanced(self, made: _Attempt) -> Array:
        """Shift (T, 3) over the ground with which the body keeps the distance at which limbs strike nearly straight.

        The network moves the root too near, so that its limbs hit folded; each stride up to a hit is shortened or
        lengthened. It never becomes a step back.
        """
        out = np.zeros((self._count, 3))
        times, speed = np.arange(self._count), np.diff(made.root[:, :2], axis=0, append=made.root[-1:, :2])
        for k, (hit, effector) in enumerate(zip(self._hits, self._effectors, strict=True)):
            limb = _LIMBS[effector]
            upper, middle, end, tip = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end, EFFECTORS[effector]])
            a = float(np.linalg.norm(MODEL_SKELETON.offsets[middle]))
            ahead = direction(made.root[hit, 3])
            # The tip lengthens the lower bone, and turns its line against that bone in the bend.
            thigh = made.places[hit, middle] - made.places[hit, upper]
            shin, far = (made.places[hit, joint] - made.places[hit, middle] for joint in (end, tip))
            b = float(np.linalg.norm(far))
            bend = max(_STRIKING_BEND - _angle(thigh, shin) + _angle(thigh, far), 0.0)
            arm = self._places[k] - made.places[hit, upper] - out[hit]
            onward = float(arm[:2] @ ahead)
            reach = a * a + b * b + 2 * a * b * np.cos(bend) - float(arm @ arm) + onward * onward
            since = times - hit
            pace = (np.maximum(speed @ ahead, 0) + _GLIDE / FPS) * strike_window(since)
            pace *= 1 - smoothstep(since / _PASSING)
            stride = np.concatenate(([0.0], np.cumsum(pace[:-1])))
            nearer = max(onward - np.sqrt(max(reach, 0.0)), -float(stride[hit]))
            out[:, :2] += nearer * ahead * (stride / max(float(stride[hit]), 1e-6))[:, None]
        return out

    def _pinned(self, places: Array, rotations: Array) -> Stepwise[tuple[Array, Array]]:
        """The poses with each limb bent to meet its target."""
        out = rotations.copy()
        for k, (hit, effector) in enumerate(zip(self._hits, self._effectors, strict=True)):
            yield
            limb = _LIMBS[effector]
            upper, middle, end, tip = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end, EFFECTORS[effector]])
            share = _bump(len(places), hit, _PIN_WIDTH)[:, None]
            near = np.flatnonzero(share[:, 0] > 1e-3)
            now = int(np.flatnonzero(near == hit)[0])
            # A limb may strike twice: each strike starts from the last correction.
            before, posed = out[near], MODEL_SKELETON.positions(places[near, 0], out[near])
            bone, lack = MODEL_SKELETON.offsets[tip], self._places[k] - posed[now, tip]
            for turns in range(1 if tip == end else _ROUNDS, -1, -1):
                wanted = posed[:, end] + share[near] * lack
                out[near, upper], out[near, middle], reached = solve_limb(
                    limb, posed[:, upper], wanted, before[:, upper], before[:, middle]
                )
                if not turns:  # the last time the foot stays, so that it meets its target
                    break
                # Hand and foot turn with their parent bone.
                turn = multiply(out[near, middle], conjugate(before[:, middle]))
                out[near, end] = multiply(turn, before[:, end])
                hits = reached[now] if tip == end else reached[now] + rotate(out[hit, end], bone)
                lack = lack + self._places[k] - hits
        posed = yield from by_frames(MODEL_SKELETON.positions, places[:, 0], out)
        return posed, out


def _bump(count: int, hit: int, width: float) -> Array:
    """Gaussian (count,) that is 1 at frame `hit`; width: standard deviation in frames."""
    return np.exp(-0.5 * ((np.arange(count) - hit) / width) ** 2)


def _angle(a: Array, b: Array) -> float:
    """Angle in radians between two vectors (3,)."""
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def _lengths(vectors: Array) -> Array:
    """Lengths (N,) of vectors (N, 3)."""
    out: Array = np.linalg.norm(vectors, axis=1)
    return out


def facing_of(start: Sequence[float] | Array, target: Sequence[float] | Array) -> float:
    """Facing angle of a character at `start` (x, y) that looks at `target` (x, y)."""
    return float(angle_of(np.asarray(target[:2], dtype=np.float64) - np.asarray(start[:2], dtype=np.float64)))
