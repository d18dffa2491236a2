# SPDX-License-Identifier: GPL-3.0-or-later
"""Synthesis of motion from a curve with speeds through the motion manifold (Holden et al. 2016, section 6).

Trajectory T (synthesis_trajectory.py) -> square waves Gamma -> contacts F -> hidden units -> frames -> world, feet
planted.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np

from ..errors import ShotError
from ..models.manifold import DECODER_REACH, FPS, FRAME, Autoencoder
from ..models.synthesis import (
    FEED_FORWARD_REACH,
    FOOTSTEPS_REACH,
    LOCOMOTION,
    WAVES,
    FeedForward,
    Footsteps,
    Stepping,
    square_waves,
)
from ..motion.easing import smoothstep
from ..motion.filters import gaussian, highest_around, runs
from ..motion.foot_lock import Heights, planting_feet
from ..motion.gait import GAITS, JOG_SPEED, STAND_SPEED
from ..motion.motion import Motion
from ..motion.root import to_world
from ..motion.rotations import Array, make_continuous, wrap_angle
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..paths import weights_folder
from ..shot.shot import Shot
from ..stepwise import Stepwise, by_frames, finished
from .frames import to_world_positions
from .ground import check_ground
from .rotations_from_positions import finding_rotations
from .spacing import SPACING, Passes, Spacing, kept_apart, passes_between
from .synthesis_trajectory import Course, course_of

REACH_FRAMES = 2 * ((FEED_FORWARD_REACH + DECODER_REACH + 1) // 2)
"""Frames to either side of a change of the trajectory or the contacts in which the motion may change."""
_MARGIN = REACH_FRAMES + 2 * ((FOOTSTEPS_REACH + 1) // 2)
"""Frames by which the trajectory is extended at both ends, so that no border effect shows."""
_SWAY = 0.4
"""Standard deviation in seconds of the filter that separates the sway of the steps from a drift off the curve."""
_GROUND_SMOOTHING = 0.25
"""Time in seconds over which the hips follow the height of the ground under the curve."""
_SAME = 1e-4
"""Largest difference of T, F or Gamma that counts as rounding."""
_SHORTEST_SPREAD = 120
"""Least number of frames over which a difference of the steps' phase is made up."""
_GROUP = 10
"""Characters of a crowd that are made together, so few that their arrays stay in the processor's cache."""
_TURN = 0.01
"""Seconds that each core works in one step of a crowd: so short that Esc is noticed at once, and long against the 0.1
ms that starting the threads takes."""


@dataclass(frozen=True)
class Options:
    """Settings of a synthesis beside the curve and the speeds.

    stepping: the artist's parameters of the square waves. phase: radians of the step cycle at the first frame. sway:
    share of the natural sway of the hips around the curve; 0 keeps them exactly on it. standing_start: whether the
    character sets off from rest.
    """

    stepping: Stepping = field(default_factory=Stepping)
    phase: float = 0.0
    sway: float = 1.0
    standing_start: bool = False


@dataclass(frozen=True, eq=False)
class Networks:
    """The three networks of the synthesis from curves, loaded once and used for many motions."""

    autoencoder: Autoencoder
    footsteps: Footsteps
    locomotion: FeedForward

    @staticmethod
    def load(folder: Path | str | None = None) -> Networks:
        """Load the networks from a folder of weights, or those that ship with the engine. Raises WeightsError."""
        folder = Path(folder) if folder is not None else weights_folder()
        return Networks(
            Autoencoder.load(folder / "autoencoder.safetensors"),
            Footsteps.load(folder / "footsteps.safetensors"),
            FeedForward.load(folder / "locomotion.safetensors", LOCOMOTION.size),
        )


@dataclass(frozen=True, eq=False)
class Steps:
    """Footsteps of N characters along courses extended by _MARGIN at both ends.

    trajectory: T (N, T, 3). waves: Gamma (N, T, WAVES.size). angle: omega (N, T). contacts: F (N, T, 4) in -1, 1.
    """

    trajectory: Array
    waves: Array
    angle: Array
    contacts: Array

    def inputs(self) -> Array:
        """[T F] (N, T, LOCOMOTION.size), extended by REACH_FRAMES only."""
        cut = slice(_MARGIN - REACH_FRAMES, REACH_FRAMES - _MARGIN)
        return np.concatenate((self.trajectory[:, cut], self.contacts[:, cut]), axis=-1)


class Synthesis:
    """A synthesis in progress. `step()` does a piece of work; repeat until `done`, then call `motion()`.

    Raises ShotError or WeightsError on construction when the shot cannot be synthesized. The speeds of the shot's path
    separate walking from running; its gaits are not used. previous: a finished synthesis, of which all that a change of
    the curve leaves alone is kept. ground: heights of the terrain.
    """

    def __init__(
        self,
        shot: Shot,
        options: Options | None = None,
        networks: Networks | None = None,
        previous: Synthesis | None = None,
        ground: Heights | None = None,
    ) -> None:
        self.shot, self.options = shot, options or Options()
        self.networks = networks or Networks.load()
        _check(shot)
        self.course = _course(shot, self.options)
        self._previous, self._ground = previous, ground
        self._steps: Steps | None = None
        self._frames: Array | None = None
        self._motion: Motion | None = None
        self._work = self._run()

    @property
    def done(self) -> bool:
        """Whether all frames are made."""
        return self._motion is not None

    @property
    def progress(self) -> float:
        """Share of the work that is done, 0..1."""
        parts = (0.1, self._steps), (0.5, self._frames), (0.4, self._motion)
        return sum(share for share, part in parts if part is not None)

    def step(self) -> None:
        """Do a piece of the footsteps, then of the frames, then of the poses."""
        next(self._work, None)

    def _run(self) -> Iterator[None]:
        before, stepping = self._previous, self.options.stepping
        if self._ground is not None:
            yield from check_ground(self.shot.name, self.course.track, self._ground)
        steps = yield from stepping_feet(self.networks, [self.course], [self.options])
        if before is not None and before._steps is not None and before.options.stepping == stepping:
            yield
            steps = _in_step(steps, before._steps, stepping)
        self._steps = steps
        yield
        inputs = steps.inputs()
        if before is None or before._steps is None or before._frames is None:
            frames = yield from synthesizing(self.networks, inputs)
        else:
            frames = yield from _changed(self.networks, inputs, before._steps.inputs(), before._frames)
        self._frames, self._previous = frames, None  # otherwise each would keep its predecessors
        yield
        made = yield from _motions(
            self.networks, [self.shot], [self.course], [self.options], steps, frames, self._ground
        )
        self._motion = made[0]

    def motion(self) -> Motion:
        """The finished motion at the shot's frame rate, exactly `shot.frames` frames."""
        while not self.done:
            self.step()
        assert self._motion is not None
        return self._motion

    def frames(self) -> Array:
        """Frames X (T, FRAME.size) at 60 fps of the networks, before the feet are planted."""
        while self._frames is None:
            self.step()
        return self._frames[0, REACH_FRAMES : REACH_FRAMES + len(self.course.track)]

    def contacts(self) -> Array:
        """Contacts F (T, 4) at 60 fps of the footstep network, 1 on the ground and -1 above it."""
        while self._steps is None:
            self.step()
        return self._steps.contacts[0, _MARGIN : _MARGIN + len(self.course.track)]


class Crowd:
    """Several syntheses together; `step()` does some of the characters, as in `Synthesis`.

    options: for all shots alike, or for each shot. spacing: how the walkers are kept apart in time, those after in the
    list from those before; None lets them meet.
    """

    def __init__(
        self,
        shots: Sequence[Shot],
        options: Options | Sequence[Options] | None = None,
        networks: Networks | None = None,
        ground: Heights | None = None,
        spacing: Spacing | None = SPACING,
    ) -> None:
        if not shots:
            raise ShotError("The crowd has no characters; choose curves to walk along.")
        each = [options or Options()] * len(shots) if options is None or isinstance(options, Options) else list(options)
        if len(each) != len(shots):
            raise ShotError(f"The crowd has {len(shots)} characters but {len(each)} sets of options.")
        self.networks = networks or Networks.load()
        self._shots, self._options, self._ground, self._spacing = list(shots), each, ground, spacing
        for shot in shots:
            _check(shot)
        # Characters of similar lengths go together, so that few frames are wasted.
        self._order = sorted(range(len(shots)), key=lambda i: shots[i].frames / shots[i].fps)
        self._waiting = [self._order[first : first + _GROUP] for first in range(0, len(self._order), _GROUP)]
        self._courses: list[Course] = []
        self._active: list[Iterator[None]] = [self._follow()]
        self._made: dict[int, Motion] = {}

    @property
    def done(self) -> bool:
        """Whether all motions are made."""
        return len(self._made) == len(self._shots)

    @property
    def progress(self) -> float:
        """Share of the characters that are done, 0..1."""
        return len(self._made) / len(self._shots)

    def step(self) -> None:
        """Work a little on the motions of some characters: on a group for each core."""
        # NumPy's large operations let other threads run; the ground's function may not be safe to call from several.
        cores = (os.cpu_count() or 1) if self._ground is None else 1
        while self._courses and self._waiting and len(self._active) < cores:
            self._active.append(self._group(self._waiting.pop(0)))
        if len(self._active) > 1:
            with ThreadPoolExecutor(cores) as pool:
                going = list(pool.map(_go_on, self._active))
        else:
            going = [_go_on(one) for one in self._active]
        self._active = [one for one, on in zip(self._active, going, strict=True) if on]

    def _follow(self) -> Iterator[None]:
        """Find the courses of all, in pieces."""
        courses = []
        for shot, option in zip(self._shots, self._options, strict=True):
            courses.append(_course(shot, option))
            yield
        self._courses = courses if self._spacing is None else (yield from kept_apart(courses, self._spacing))

    def passes(self) -> Passes:
        """How near the walkers' hips come to each other."""
        slowest = min(motion.fps for motion in self.motions())
        return passes_between([motion.positions[:: round(motion.fps / slowest), 0, :2] for motion in self.motions()])

    def _group(self, chosen: Sequence[int]) -> Iterator[None]:
        """Make the motions of some of the shots, in pieces."""
        shots, options = [self._shots[i] for i in chosen], [self._options[i] for i in chosen]
        courses = [self._courses[i] for i in chosen]
        if self._ground is not None:
            for shot, course in zip(shots, courses, strict=True):
                yield from check_ground(shot.name, course.track, self._ground)
        steps = yield from stepping_feet(self.networks, courses, options)
        frames = yield from synthesizing(self.networks, steps.inputs())
        motions = yield from _motions(self.networks, shots, courses, options, steps, frames, self._ground)
        self._made.update(zip(chosen, motions, strict=True))

    def motions(self) -> list[Motion]:
        """All motions, in the order of the shots."""
        while not self.done:
            self.step()
        return [self._made[i] for i in range(len(self._shots))]


def footsteps(networks: Networks, courses: Sequence[Course], options: Sequence[Options]) -> Steps:
    """Foot contacts of N characters; shorter courses are extended to the longest one's length."""
    return finished(stepping_feet(networks, courses, options))


def stepping_feet(networks: Networks, courses: Sequence[Course], options: Sequence[Options]) -> Stepwise[Steps]:
    """`footsteps` in pieces."""
    longest = max(len(c.track) for c in courses)
    trajectory = np.stack(
        [np.pad(c.trajectory, ((_MARGIN, _MARGIN + longest - len(c.track)), (0, 0)), mode="edge") for c in courses]
    )
    trajectory = _even(trajectory)
    waves = yield from networks.footsteps.waving(trajectory)
    yield
    frequency = waves[..., WAVES.frequency][..., 0] * np.array([[o.stepping.frequency] for o in options])
    angle = np.cumsum(frequency.astype(np.float64), axis=1)
    angle += np.array([[o.phase] for o in options]) - angle[:, _MARGIN, None]
    yield
    contacts = np.stack(
        [square_waves(a, w[:, WAVES.threshold], o.stepping) for a, w, o in zip(angle, waves, options, strict=True)]
    )
    return Steps(trajectory, waves, angle, contacts)


def synthesize(networks: Networks, inputs: Array) -> Array:
    """Frames X (N, T, FRAME.size), physical units, of inputs [T F] (N, T, LOCOMOTION.size); T even."""
    return finished(synthesizing(networks, inputs))


def synthesizing(networks: Networks, inputs: Array) -> Stepwise[Array]:
    """`synthesize` in pieces."""
    hidden = yield from networks.locomotion.hiding(inputs)
    # Decoded as one sequence: neighbors reach DECODER_REACH frames into each other, which are margin.
    frames = yield from networks.autoencoder.decoding(hidden.reshape(-1, hidden.shape[-1]))
    return frames.reshape(*inputs.shape[:2], -1)


def pose(
    courses: Array, trajectory: Array, frames: Array, contacts: Array, sway: Array, ground: Heights | None = None
) -> tuple[Array, Array, Array]:
    """World poses of N characters on their courses.

    courses: (N, T, 3) x, y, facing angle. trajectory: (N, T + 2 REACH_FRAMES, 3) and frames: (N, the same,
    FRAME.size) with margins. contacts: (N, T, 4). sway: (N,) see Options. Returns places (N, T, J, 3), world
    rotations (N, T, J, 4) and root (N, T, 4).
    """
    return finished(posing(courses, trajectory, frames, contacts, sway, ground))


def posing(
    courses: Array, trajectory: Array, frames: Array, contacts: Array, sway: Array, ground: Heights | None = None
) -> Stepwise[tuple[Array, Array, Array]]:
    """`pose` in pieces."""
    count, length = courses.shape[:2]
    inner = slice(REACH_FRAMES, REACH_FRAMES + length)
    root = np.zeros((count, length, 4))
    root[..., [0, 1, 3]] = courses + sway[:, None, None] * _swaying(courses, trajectory, frames)[:, inner]
    yield
    if ground is not None:
        root[..., 2] = gaussian(ground(courses[..., :2]).T, _GROUND_SMOOTHING * FPS).T
    yield
    places = yield from by_frames(to_world_positions, frames[:, inner].reshape(-1, FRAME.size), root.reshape(-1, 4))
    found = yield from finding_rotations(places, motions=count)
    rotations = found.reshape(count, length, -1, 4)
    planted, rotations = yield from planting_feet(places[:, 0].reshape(count, length, 3), rotations, contacts, ground)
    return planted, rotations, root


def _swaying(courses: Array, trajectory: Array, frames: Array) -> Array:
    """Sway (N, T with margins, 3) of the root around the course with each step: x, y, angle."""
    error = frames[..., FRAME.root_velocity.start : FRAME.root_turn.stop].astype(np.float64) - trajectory
    before = courses[:, :1, 2] - np.arange(REACH_FRAMES, 0, -1) * trajectory[:, :1, 2] / FPS
    rest = frames.shape[1] - REACH_FRAMES - courses.shape[1]
    after = courses[:, -1:, 2] + np.arange(1, rest + 1) * trajectory[:, -1:, 2] / FPS
    angle = np.concatenate((before, courses[..., 2], after), axis=1)
    error[..., :2] = to_world(error[..., :2], angle)
    track = (np.cumsum(error, axis=1) / FPS).transpose(1, 0, 2)
    out: Array = (track - gaussian(track, _SWAY * FPS)).transpose(1, 0, 2)
    return out


def _motions(
    networks: Networks,
    shots: Sequence[Shot],
    courses: Sequence[Course],
    options: Sequence[Options],
    steps: Steps,
    frames: Array,
    ground: Heights | None,
) -> Stepwise[list[Motion]]:
    """The motions of characters that were made together."""
    longest = max(len(c.track) for c in courses)
    tracks = np.stack([np.pad(c.track, ((0, longest - len(c.track)), (0, 0)), mode="edge") for c in courses])
    contacts = steps.contacts[:, _MARGIN : _MARGIN + longest]
    trajectory = steps.trajectory[:, _MARGIN - REACH_FRAMES : REACH_FRAMES - _MARGIN]
    angle = steps.angle[:, _MARGIN : _MARGIN + longest]
    lift = steps.waves[:, _MARGIN : _MARGIN + longest, WAVES.threshold][..., 3]
    sway = np.array([o.sway for o in options])
    places, rotations, root = yield from posing(tracks, trajectory, frames, contacts, sway, ground)
    out = []
    for i, (shot, course) in enumerate(zip(shots, courses, strict=True)):
        yield
        # Scenes at 30 or 60 fps need no frames between frames.
        pace = round(FPS / shot.fps) if (FPS / shot.fps).is_integer() else 1
        own = slice(0, len(course.track), pace)
        motion = Motion(
            names=MODEL_SKELETON.names,
            parents=MODEL_SKELETON.parents,
            positions=places[i, own].astype(np.float32),
            rotations=make_continuous(rotations[i, own]).astype(np.float32),
            root=root[i, own].astype(np.float32),
            contacts=(contacts[i, own] > 0).astype(np.float32),
            contact_names=CONTACT_JOINTS,
            phase=_phase(angle[i, own], lift[i, own]),
            actions=_gaits(course.speed[::pace]),
            action_names=GAITS,
            fps=FPS / pace,
            meta={
                "model": "manifold",
                "weights": networks.locomotion.hash,
                "shot": shot.hash(),
                "seed": shot.seed,
                "name": shot.name,
            },
        )
        if len(motion) != shot.frames:
            yield
            motion = yield from motion.resampling(shot.fps, shot.frames)
        out.append(motion)
    return out


def _phase(angle: Array, threshold: Array) -> Array:
    """Phase (T,), 0 at the right strike: there sin(omega + pi) rises above the right toe's tau."""
    out: Array = ((angle + np.pi - np.arcsin(np.clip(threshold, -1, 1))) % (2 * np.pi)).astype(np.float32)
    return out


def _gaits(speed: Array) -> Array:
    """Weights (T, GAITS) of standing, walking and running at speeds (T,) in m/s."""
    out = np.zeros((len(speed), len(GAITS)), dtype=np.float32)
    stand = np.clip(2 - speed / STAND_SPEED, 0, 1)
    jog = np.clip((speed - JOG_SPEED) / 0.4 + 0.5, 0, 1)
    out[:, GAITS.index("stand")], out[:, GAITS.index("jog")] = stand, jog
    out[:, GAITS.index("walk")] = 1 - stand - jog
    return out


def _in_step(now: Steps, before: Steps, stepping: Stepping) -> Steps:
    """Steps that after a change of the curve fall on the same frames as before it.

    The difference that the change makes to omega is spread over the changed frames; otherwise all later steps would
    come at other times, and all of the motion would be new.
    """
    shared = min(now.waves.shape[1], before.waves.shape[1])
    changed = np.flatnonzero(np.abs(now.waves[0, :shared] - before.waves[0, :shared]).max(1) > _SAME)
    if not len(changed) or changed[-1] + 1 >= shared:
        return now
    start, stop = int(changed[0]), int(changed[-1]) + 1
    spread = max(_SHORTEST_SPREAD - (stop - start), 0) // 2
    start, stop = max(start - spread, 0), min(stop + spread, shared - 1)
    rise = smoothstep((np.arange(now.angle.shape[1]) - start) / max(stop - start, 1))
    angle = now.angle + (before.angle[0, start] - now.angle[0, start])
    angle += wrap_angle(before.angle[0, stop] - angle[0, stop]) * rise
    return Steps(now.trajectory, now.waves, angle, square_waves(angle, now.waves[..., WAVES.threshold], stepping))


def _changed(networks: Networks, inputs: Array, before: Array, frames: Array) -> Stepwise[Array]:
    """Frames of `inputs`, copied from the `frames` of the inputs `before` where nothing near has changed."""
    length = inputs.shape[1]
    shared = min(length, before.shape[1])
    fresh = np.ones(length, dtype=bool)
    fresh[:shared] = np.abs(inputs[0, :shared] - before[0, :shared]).max(1) > _SAME
    out = np.zeros((1, length, FRAME.size), dtype=np.float32)
    out[:, :shared] = frames[:, :shared]
    for start, stop in runs(highest_around(fresh, REACH_FRAMES)):
        begin, end = max(start - REACH_FRAMES, 0) // 2 * 2, min((stop + REACH_FRAMES + 1) // 2 * 2, length)
        made = yield from synthesizing(networks, inputs[:, begin:end])
        out[:, start:stop] = made[:, start - begin : stop - begin]
    return out


def _go_on(work: Iterator[None]) -> bool:
    """Do about `_TURN` seconds of the work. Returns whether some of it is left."""
    end = perf_counter() + _TURN
    return any(perf_counter() > end for _ in work)


def _course(shot: Shot, options: Options) -> Course:
    assert shot.path is not None
    count = math.ceil((shot.frames - 1) / shot.fps * FPS) + 1
    return course_of(shot.path, shot.fps, count, standing_start=options.standing_start)


def _check(shot: Shot) -> None:
    shot.validate()
    if shot.path is None:
        raise ShotError("The motion manifold needs a curve to walk along; choose one.")


def _even(sequences: Array) -> Array:
    """Sequences (N, T, d) with an even number of frames: the last frame is repeated if need be."""
    return np.pad(sequences, ((0, 0), (0, sequences.shape[1] % 2), (0, 0)), mode="edge")
