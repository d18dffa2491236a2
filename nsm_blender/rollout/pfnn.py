# SPDX-License-Identifier: GPL-3.0-or-later
"""The PFNN's autoregressive rollout (PFNN 6): trajectory blending, one network step a frame."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np

from ..geometry.ground import Ground
from ..models.pfnn import CHARACTER_INPUT, CURRENT, FPS, FUTURE, INPUT, OUTPUT, SAMPLE_FRAMES, SAMPLES
from ..models.pfnn_kernels import PFNN
from ..motion.gait import GAITS
from ..motion.root import angle_of, direction
from ..motion.rotations import Array, conjugate, from_exponential_map, multiply, to_exponential_map
from ..motion.skeleton import MODEL_SKELETON
from ..planning.trajectory import AHEAD, MOVING, Airborne, Future, State
from .terrain import Terrain

GAIT_SMOOTHING = 0.3
"""Share of the way to the commanded gait that the trajectory's gait goes each frame."""
SLOW_WALK = 0.8
"""Meters a second below which walks, as to a stop and on stairs, are those of the weights' own performer: others were
not recorded walking slower, and stop short of where they are sent to."""
_LIKENESS_SHARE = 0.05
"""Share of the way from one performer to another that a character goes each frame, in a third of a second."""
_VELOCITY_SHARE = 0.08
"""Weight of a frame in the running mean of the velocity, which so spans about a step."""
_PHASE_SHARE = 0.2
"""Share of the way to a phase that is asked for by which a frame comes nearer to it."""
_PAST = (np.arange(CURRENT) - CURRENT) * SAMPLE_FRAMES
_AHEAD_SHARE = np.arange(1, FUTURE) / FUTURE
_STAND, _WALK, _CROUCH = (GAITS.index(name) for name in ("stand", "walk", "crouch"))
_CROUCHING = np.eye(len(GAITS))[_CROUCH]
_JOINT_HEIGHTS = np.r_[INPUT.joint_position][2::3]
_DT = 1.0 / FPS
_BALLS = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
DRIFT = 0.05
"""m/s: where no movement is asked for, slower ones are the network's error, and would carry the body off its feet
in half a minute; up to twice as fast they fade in."""
ASKED_CHANGE, ASKED_TURN = 12.0, 8.0
"""m/s^2 and rad/s: what is asked for from one frame to the next changes no faster. A trajectory that a key or the end
of a stage turns round at once is like none that was recorded, and the pose leaps."""
TURN_RATE = 8.0
"""rad/s: the facing asked for at a future sample is not turned further than this allows. People turn at up
to 3 rad/s while they walk; asking for more makes the network turn as fast as it has learned to."""
_REACHABLE_TURN = TURN_RATE * AHEAD


@dataclass(frozen=True, eq=False)
class Record:
    """What a rollout left: root (T, 4) x, y, z, facing angle; y (T, OUTPUT.size) network outputs in the
    root frame; phase (T,) radians; gait (T, 5) weights. seams: frames from which on another network predicts."""

    root: Array
    y: Array
    phase: Array
    gait: Array
    seams: tuple[int, ...] = ()


def blend_weights(bias: float) -> Array:
    """Weight (5,) of the command at the future samples: 1 - (1 - t)^tau.

    Eq. 9 prints t^tau, which gives the opposite trend to the paper's Table 2: there a larger bias
    follows the command more closely, as here.
    """
    out: Array = 1 - (1 - _AHEAD_SHARE) ** bias
    return out


def _within(wanted: Array, facing: Array, most: Array | float) -> Array:
    """Directions (5, 2) as near to the ones wanted as `most` radians from a facing (..., 2) allow."""
    across = facing[..., 0] * wanted[:, 1] - facing[..., 1] * wanted[:, 0]
    turn = np.arctan2(across, (wanted * facing).sum(-1))
    if (np.abs(turn) <= most).all():
        return wanted
    return direction(angle_of(facing) + np.clip(turn, -most, most))


@dataclass(frozen=True, eq=False)
class Performer:
    """A manner of moving. value: (7,) the proportions, in the order of `motion.proportions.PROPORTIONS`.
    knows: (5,) 1 for each of GAITS in which the performer was recorded; in the others, and in slow walks, the character
    moves like the weights' own performer, recorded in all of them."""

    value: Array
    knows: Array


class Locomotion:
    """A character walking: state, and `step` to advance one frame at 60 fps.

    start: x, y, z in meters and facing angle about +Z in radians. frames: how many steps to make room for. ground: what
    is walked on; without it, a level floor at the start's height. Weights that were trained on level ground alone feel
    nothing of it, and their root follows its height. performer: whose manner the character has, for weights that know
    several; the weights' own without. phase: radians of the gait cycle at which it begins. jumping: the network that
    takes over in jumps; its outputs are kept as the other's.
    """

    def __init__(
        self,
        network: PFNN,
        start: tuple[float, float, float, float],
        frames: int,
        bias_velocity: float = 0.5,
        bias_direction: float = 2.0,
        ground: Ground | None = None,
        performer: Performer | None = None,
        phase: float = 0.0,
        jumping: PFNN | None = None,
    ) -> None:
        self.network = self._walking = network
        self._jumping, self._performer = network if jumping is None else jumping, performer
        self._likeness = 1.0
        self._seams: tuple[int, ...] = ()
        self._wp = blend_weights(bias_velocity)[:, None]
        self._wd = blend_weights(bias_direction)[:, None]
        self.x, self.y, self.height, self.angle = start
        self.phase = phase
        self.frame = 0
        self._velocity = (0.0, 0.0)
        self._ball: tuple[float, float] | None = None
        self._down, self._stood = -1, np.zeros(2, dtype=bool)
        room = frames - _PAST[0]
        self._history = np.zeros((room, 2))
        self._facing = np.zeros((room, 2))
        self._gaits = np.zeros((room, len(GAITS)))
        self._history[: -_PAST[0]] = (self.x, self.y)
        self._facing[: -_PAST[0]] = direction(np.array(self.angle))
        self._gaits[: -_PAST[0], _STAND] = 1
        self._root = np.zeros((frames, 4), dtype=np.float64)
        self._output = np.zeros((frames, OUTPUT.size), dtype=np.float32)
        self._phases = np.zeros(frames, dtype=np.float32)
        self._feels, self._input = self._felt_by(network)
        self._terrain = None if ground is None else Terrain(ground, (self.x, self.y), self.height)
        if self._terrain is not None:
            self.height = self._terrain.height
        self._input[INPUT.joint_position] = network.y_mean[OUTPUT.joint_position]
        self._future_gait = np.tile(self._gaits[0], (FUTURE, 1))
        self._asked_velocity = np.zeros((FUTURE - 1, 2))
        self._asked_facing = np.tile(self._facing[0], (FUTURE - 1, 1))
        self._predicted = np.tile([self.x, self.y], (FUTURE, 1))
        self._predicted_direction = np.tile(self._facing[0], (FUTURE, 1))
        self._samples = np.empty((SAMPLES, 2))
        self._directions = np.empty((SAMPLES, 2))

    @property
    def state(self) -> State:
        """Where the character is now; time counts from the first step."""
        time = self.frame * _DT
        return State(self.x, self.y, self.angle, time, self._velocity, self.height, self._ball)

    @property
    def feels(self) -> bool:
        """Whether the network that walks feels the ground, so that its body makes up for how the root rises."""
        return self._walking.uses(INPUT.terrain_height)

    @property
    def foreseen(self) -> tuple[Array, Array]:
        """Places (FUTURE, 2) and facing angles (FUTURE,) that the network predicts, the first of them now."""
        return self._predicted, angle_of(self._predicted_direction)

    def step(self, future: Future) -> None:
        """Advance one frame toward the trajectory asked for."""
        wanted = self._jumping if future.leaps or future.airborne is not None else self._walking
        if wanted is not self.network:
            self._change_to(wanted)
        self._fill_input(future)
        if future.phase is not None:
            self.phase += _PHASE_SHARE * math.remainder(future.phase - self.phase, 2 * math.pi)
        y = self.network.predict(self._input, self.phase)
        self._record(y)
        if self._terrain is not None:
            self._follow_feet(y)
        stepping = future.gait[0, _WALK] > 0.5 or np.any(np.abs(future.velocity) > MOVING)
        self._advance(y, future, standing=not stepping)

    def fork(self) -> Locomotion:
        """A copy that goes on from here on its own."""
        out = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray) and name not in ("_wp", "_wd"):
                setattr(out, name, value.copy())
        out._terrain = copy.copy(self._terrain)
        return out

    def settle(self, future: Future, frames: int) -> None:
        """Run `frames` steps and come back to the start: an average pose becomes a standing one."""
        start = (self.x, self.y, self.angle)
        for _ in range(frames):
            self._fill_input(future)
            self._advance(self.network.predict(self._input, self.phase), future, standing=True)
            (self.x, self.y, self.angle), self.frame = start, 0
            self._predicted[:] = start[:2]
            self._predicted_direction[:] = self._facing[0]

    def go_on(
        self,
        frame: int,
        root: Array,
        places: Array,
        facings: Array,
        gaits: Array,
        velocity: Array,
        phase: float,
        joints: tuple[Array, Array],
        future: tuple[Array, Array],
    ) -> None:
        """Go on at a frame with a root (4,) from where something else has brought the character.

        places, facings: (N, 2) of the root in the frames before, and gaits: (N, 5). velocity: (2,) m/s. joints: places
        and velocities (J, 3) in the last root's frame. future: places and directions (FUTURE, 2) that are foreseen.
        """
        self.x, self.y, self.height, self.angle = (float(value) for value in root)
        self.frame, self.phase = frame, phase
        self._velocity = (float(velocity[0]), float(velocity[1]))
        now = frame - _PAST[0]
        back = np.minimum(np.arange(1 - _PAST[0])[::-1], len(places)) + 1
        for mine, those in ((self._history, places), (self._facing, facings), (self._gaits, gaits)):
            mine[now - len(back) : now] = those[np.maximum(len(those) - back, 0)]
        self._future_gait = np.tile(gaits[-1], (FUTURE, 1))
        self._predicted, self._predicted_direction = (part.copy() for part in future)
        self._asked_velocity = (self._predicted[1:] - (self.x, self.y)) / AHEAD[:, None]
        self._asked_facing = self._predicted_direction[1:].copy()
        self._input[INPUT.joint_position], self._input[INPUT.joint_velocity] = (part.ravel() for part in joints)
        if self._terrain is not None:
            self._terrain = Terrain(self._terrain.ground, (self.x, self.y), self.height)

    def _felt_by(self, network: PFNN) -> tuple[bool, Array]:
        """Whether a network feels the ground, and its input, which each frame fills."""
        values = np.zeros(network.input_size, dtype=np.float32)
        if network.character is not None:
            values[CHARACTER_INPUT.character] = network.character
        return network.uses(INPUT.terrain_height), values

    def _change_to(self, network: PFNN) -> None:
        """Go on by another network from the pose of the last frame."""
        before = self._input
        self._feels, self._input = self._felt_by(network)
        for part in (INPUT.joint_position, INPUT.joint_velocity):
            self._input[part] = before[part]
        self.network, self._seams = network, (*self._seams, self.frame)

    def last(self) -> Record:
        """The last step."""
        n = self.frame
        gait = self._gaits[n - 1 - _PAST[0] : n - _PAST[0]]
        return Record(self._root[n - 1 : n], self._output[n - 1 : n], self._phases[n - 1 : n], gait)

    def record(self) -> Record:
        """All steps so far."""
        n = self.frame
        return Record(
            self._root[:n], self._output[:n], self._phases[:n], self._gaits[-_PAST[0] : n - _PAST[0]], self._seams
        )

    def _fill_input(self, future: Future) -> None:
        now = self.frame - _PAST[0]
        self._history[now] = self.x, self.y
        self._facing[now] = math.sin(self.angle), -math.cos(self.angle)
        is_low = self._terrain is not None and self._terrain.is_low
        self._future_gait += GAIT_SMOOTHING * ((_CROUCHING if is_low else future.gait) - self._future_gait)
        self._gaits[now] = self._future_gait[0]
        past = now + _PAST

        self._ask(future)
        samples, directions = self._samples, self._directions
        samples[:CURRENT] = self._history[past]
        samples[CURRENT] = self.x, self.y
        samples[CURRENT + 1 :] = self._blend_positions(future)
        directions[:CURRENT] = self._facing[past]
        directions[CURRENT] = self._facing[now]
        directions[CURRENT + 1 :] = (1 - self._wd) * self._predicted_direction[1:] + self._wd * self._asked_facing
        ahead = directions[CURRENT + 1 :]
        ahead /= np.maximum(np.sqrt((ahead * ahead).sum(1, keepdims=True)), 1e-6)

        # World to root frame: rows times this matrix.
        c, s = math.cos(self.angle), math.sin(self.angle)
        to_local = np.array([[c, -s], [s, c]])
        x = self._input
        x[INPUT.trajectory_position] = ((samples - samples[CURRENT]) @ to_local).ravel()
        x[INPUT.trajectory_direction] = (directions @ to_local).ravel()
        if self._terrain is not None:
            self._feel(self._terrain, samples, directions, future.airborne)
        gait = x[INPUT.gait].reshape(SAMPLES, len(GAITS))
        gait[:CURRENT] = self._gaits[past]
        gait[CURRENT:] = self._future_gait
        own, performer = self.network.character, self._performer
        if performer is not None and own is not None:
            walks = future.gait[0, _WALK] > 0.5
            is_slow = walks and math.hypot(*future.velocity[0].tolist()) < SLOW_WALK
            likeness = 0.0 if is_slow else float(self._gaits[now] @ performer.knows)
            self._likeness += _LIKENESS_SHARE * (likeness - self._likeness)
            x[CHARACTER_INPUT.character] = own + self._likeness * (performer.value - own)

    def _feel(self, terrain: Terrain, samples: Array, directions: Array, airborne: Airborne | None) -> None:
        """Set the height of the root, and the inputs that depend on it."""
        before = self.height
        heights = terrain.feel(samples, directions) if airborne is None else terrain.jump(airborne)
        self.height = terrain.height
        if airborne is not None:
            # The body rises with its root.
            before = self.height
        if self._feels:
            self._input[INPUT.terrain_height] = (heights - self.height).ravel()
            # The joints are told above the present root: where it rises, they lie lower.
            self._input[_JOINT_HEIGHTS] += before - self.height

    def _ask(self, future: Future) -> None:
        """Come as near as ASKED_CHANGE and ASKED_TURN allow to the mean velocities (5, 2) in m/s until the future
        samples, and the facings (5, 2) there, that are asked for. A jump is asked for as it is."""
        velocity = future.velocity
        facing = _within(future.direction, direction(np.array(self.angle)), _REACHABLE_TURN)
        if future.position is not None:
            velocity = (future.position - (self.x, self.y)) / AHEAD[:, None]
        if not future.leaps and future.airborne is None:
            change = velocity - self._asked_velocity
            much = np.sqrt((change * change).sum(1, keepdims=True))
            velocity = self._asked_velocity + change * np.minimum(1.0, ASKED_CHANGE * _DT / np.maximum(much, 1e-9))
            facing = _within(facing, self._asked_facing, ASKED_TURN * _DT)
        self._asked_velocity, self._asked_facing = velocity, facing

    def _blend_positions(self, future: Future) -> Array:
        """Future samples (5, 2): the network's prediction and the command, by the bias (eq. 9)."""
        predicted, velocity, here = self._predicted, self._asked_velocity, np.array([self.x, self.y])
        if future.position is not None:
            blended: Array = (1 - self._wp) * predicted[1:] + self._wp * (here + velocity * AHEAD[:, None])
            return blended
        steps = (1 - self._wp) * (predicted[1:] - predicted[:-1]) + self._wp * velocity * (SAMPLE_FRAMES * _DT)
        out: Array = np.cumsum(steps, axis=0) + here
        return out

    def _record(self, y: Array) -> None:
        self._root[self.frame] = self.x, self.y, self.height, self.angle
        self._output[self.frame] = y
        if self.network is not self._walking:
            maps = y[OUTPUT.joint_rotation].reshape(-1, 3)
            mine, other = self.network.rotation_reference, self._walking.rotation_reference
            turned = multiply(conjugate(other), multiply(mine, from_exponential_map(maps)))
            turned = np.where(turned[:, :1] < 0, -turned, turned)
            self._output[self.frame, OUTPUT.joint_rotation] = to_exponential_map(turned).ravel()
        self._phases[self.frame] = self.phase

    def _follow_feet(self, y: Array) -> None:
        """Remember where the ball of the other foot comes down."""
        stands = y[OUTPUT.contact].reshape(2, 2).max(axis=1) > 0.5
        for side in np.flatnonzero(stands & ~self._stood):
            if side != self._down:
                left, back, _ = y[OUTPUT.joint_position].reshape(-1, 3)[_BALLS[side]].tolist()
                c, s = math.cos(self.angle), math.sin(self.angle)
                self._ball, self._down = (self.x + c * left - s * back, self.y + s * left + c * back), side
        self._stood = stands

    def _advance(self, y: Array, future: Future, standing: bool) -> None:
        c, s = math.cos(self.angle), math.sin(self.angle)
        vx, vy = y[OUTPUT.root_velocity].tolist()
        if standing:
            share = min(max((math.hypot(vx, vy) - DRIFT) / DRIFT, 0.0), 1.0)
            vx, vy = share * vx, share * vy
        world = c * vx - s * vy + future.pull[0], s * vx + c * vy + future.pull[1]
        if future.airborne is not None:
            led, (east, north) = future.airborne.led, future.airborne.velocity.tolist()
            world = world[0] + led * (east - world[0]), world[1] + led * (north - world[1])
        if future.berth is not None:
            crouching = bool(future.gait[0, _CROUCH] > 0.5)
            world = future.berth.allowed(self.x, self.y, world, crouching, future.sideways)
        self.x += world[0] * _DT
        self.y += world[1] * _DT
        mean = self._velocity
        self._velocity = (
            mean[0] + _VELOCITY_SHARE * (world[0] - mean[0]),
            mean[1] + _VELOCITY_SHARE * (world[1] - mean[1]),
        )
        self.angle += float(y[OUTPUT.root_turn][0]) * _DT
        self.phase = (self.phase + max(float(y[OUTPUT.phase_change][0]), 0.0) * _DT) % (2 * math.pi)
        c, s = math.cos(self.angle), math.sin(self.angle)
        to_world = np.array([[c, s], [-s, c]])
        self._predicted = y[OUTPUT.trajectory_position].reshape(FUTURE, 2) @ to_world + (self.x, self.y)
        self._predicted_direction = y[OUTPUT.trajectory_direction].reshape(FUTURE, 2) @ to_world
        self._input[INPUT.joint_position] = y[OUTPUT.joint_position]
        self._input[INPUT.joint_velocity] = y[OUTPUT.joint_velocity]
        self.frame += 1
