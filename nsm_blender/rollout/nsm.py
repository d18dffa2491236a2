# SPDX-License-Identifier: GPL-3.0-or-later
"""The NSM's autoregressive rollout (NSM 4): sensors, one network step a frame, bi-directional control."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..geometry.colliders import Surroundings
from ..geometry.scene_state import Scenery
from ..geometry.sensors import Environment
from ..models.nsm import ACTIONS, CONTACTS, CURRENT, DT, ENVIRONMENT, FPS, FRAME, FUTURE, JOINTS, OUTPUT, SAMPLE_FRAMES
from ..models.nsm_predictor import Predictor
from ..motion.easing import smoothstep
from ..motion.root import direction
from ..motion.rotations import Array, wrap_angle
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..stepwise import Stepwise, by_frames, finished
from . import feedback
from .action_label_filter import only_asked
from .collision_avoidance import CollisionAvoidance
from .door_passage import DoorPassage
from .feedback import future, next_positions, next_root, piece, velocities
from .goal_convergence import GoalConvergence
from .goal_input import GoalInput
from .goal_spec import GoalSpec, Reach, Samples, Stay
from .handover import Made, without_jumps
from .nsm_features import (
    WINDOW,
    axes_of,
    places_to_root,
    points_to_root,
    points_to_world,
    rotations_of,
    rotations_to_root,
    rotations_to_world,
    vectors_to_root,
)
from .progress_assist import ProgressAssist
from .root_filter import Proposal, RootFilter, RootMotion, RootState
from .root_limits import RootLimits
from .terrain import gliding

ROOT_FILTERS: Mapping[str, Callable[[], RootFilter]] = {
    "goal_convergence": GoalConvergence,
    "progress_assist": ProgressAssist,
    "root_limits": RootLimits,
    "door_passage": DoorPassage,
    "collision_avoidance": CollisionAvoidance,
}
"""The filters that change where the network proposes that the root goes, in their order."""
HANGING_ARMS = "hanging_arms"
"""Name of the part of the rollout that lets the arms of an idle character hang."""
ACTION_LABELS = "action_label_filter"
"""Name of the part of the rollout that keeps the action labels of a standing character to what is asked for."""
SEATED_PHASE = "seated_phase"
"""Name of the part of the rollout that lets the phase rest while the character sits."""
PARTS = (*ROOT_FILTERS, HANGING_ARMS, SEATED_PHASE, ACTION_LABELS)
"""Names of the parts of the rollout that may be left out."""
HANGING = 0.3
"""Share a frame by which the fed back arms of a character that idles come to hang as at the start of a rollout: fed its
own pose, the network that raised them once while idling holds them raised for as long as the character stands. The
share grows within the first second of staying: at once, hands that let go of a box would dart down at 6 m/s."""
STANDS = 0.1
"""Speed of the root in m/s below which the character stands, the more the slower."""
SITS = 0.5
"""Label of sitting, and of contact with the seat, above which the character sits."""
_PAST = -int(WINDOW[0])
_BELOW = 0.02
"""Meters over a top that things are put on by which what is still the top may rise."""
_IDLE, _SIT = ACTIONS.index("idle"), ACTIONS.index("sit")
_SEAT = CONTACTS.index("Hips")
_NO_STEPS = np.full(len(CONTACT_JOINTS), -1.0)
_ARMS = MODEL_SKELETON.indices([side + part for side in ("Left", "Right") for part in ("Arm", "ForeArm", "Hand")])


@dataclass
class Options:
    """The ablations of Table 3, and of our own. bidirectional: blend the goal-centric prediction in (4.2). interaction,
    environment: use that sensor. without: names of PARTS that are left out."""

    bidirectional: bool = True
    interaction: bool = True
    environment: bool = True
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class SceneRecord:
    """What a rollout left: root (T, 4); hips (T, 3) and joint places (T, J, 3) world, as the network has them;
    rotations (T, J, 4) world; actions (T, 7); contacts (T, 5); phase (T,); gates (T, K). steps: (T, 4) contact labels
    of CONTACT_JOINTS of the frames that locomotion made, below 0 in all others; None without any."""

    root: Array
    places: Array
    rotations: Array
    actions: Array
    contacts: Array
    phase: Array
    gates: Array
    steps: Array | None = None


class SceneCharacter:
    """A character that acts in a scene: `set_goal` what it shall do, `step` to advance a frame at 60 fps.

    start: (4,) x, y, z and facing angle. standing: (FRAME.size,) the frame input of a standing body. phase: radians
    of the cycle at which it begins.
    """

    def __init__(
        self,
        network: Predictor,
        standing: Array,
        start: Array,
        scenery: Surroundings | Scenery,
        goal: GoalSpec,
        options: Options | None = None,
        environment: Environment | None = None,
        phase: float = 0.0,
    ) -> None:
        self.network = network.begun()
        self.scenery = Scenery(scenery) if isinstance(scenery, Surroundings) else scenery
        self._options, self._environment = options or Options(), environment or Environment()
        self._goal = GoalInput(goal, self.scenery)
        unknown = self._options.without - {*PARTS}
        if unknown:
            raise ValueError(f"The rollout has no parts {sorted(unknown)}.")
        self._filters = [make() for name, make in ROOT_FILTERS.items() if name not in self._options.without]
        self.root = np.asarray(start, dtype=float).copy()
        self._floor = float(self.root[2])
        self.frame = 0
        self.phase = phase
        self._motion = RootMotion(np.zeros(2))
        self._standing = np.asarray(standing, dtype=np.float32)
        self._pose = self._standing.copy()
        idle = np.zeros(len(ACTIONS), dtype=np.float32)
        idle[_IDLE] = 1
        self._history = [self.root.copy() for _ in range(_PAST + 1)]
        self._actions = [idle.copy() for _ in range(_PAST + 1)]
        self._future_place = np.tile(self.root[:2], (FUTURE, 1))
        self._future_facing = np.full(FUTURE, self.root[3])
        self._future_action = np.tile(idle, (FUTURE, 1))
        self._stayed = round(FPS)
        self._records: list[tuple[Array, ...]] = []
        self._turned: tuple[tuple[Array, ...], Array] | None = None
        self._steps, self._seams = list[Array](), list[int]()
        self.glides = True
        """Whether the height of the root over ground is made smooth, and the body with it, where locomotion leads."""

    @property
    def action(self) -> Array:
        """Labels (7,) of the current frame."""
        return self._actions[-1]

    @property
    def goal(self) -> GoalSpec:
        """What it shall do now."""
        return self._goal.goal

    def set_goal(self, goal: GoalSpec) -> None:
        """Do something else from now on."""
        self._goal.change(goal, self.frame)

    def step(self) -> None:
        """Advance one frame."""
        goal, interaction = self._goal.values(self.root, self.frame)
        if not self._options.interaction:
            interaction[:] = 0
        around = self._sensed()
        y = self.network.predict(self._frame_input(), goal, interaction, around, self.phase)
        samples = self._goal.samples(self.root, self.frame)
        self._advance(y, samples)
        self.frame += 1
        self._record(y)

    def adopt(self, made: Made) -> None:
        """Keep a frame that locomotion made as the next one."""
        if not self._steps:
            self._steps = [_NO_STEPS] * self.frame
        axes = axes_of(rotations_to_root(made.rotations, made.root))
        self.root, self.phase = made.root, made.phase
        self._history.append(made.root)
        self._actions.append(made.action)
        self.frame += 1
        phase = np.array(made.phase)
        gates = np.zeros_like(self.network.omega)
        self._records.append((made.root, made.places, axes, made.action, made.contacts, phase, gates))
        self._steps.append(made.steps)

    def go_on(self, floor: float, goal: GoalSpec, places: Array, facings: Array) -> None:
        """Go on by itself from the last frame that locomotion made, over a level floor at a height in meters.

        places, facings: (FUTURE, 2) and (FUTURE,) where the root is expected to be. goal: what is done so far.
        """
        before, root = self._history[-2], self._history[-1].copy()
        root[2] = floor
        self.root = self._history[-1] = root
        self._floor = floor
        self._motion = RootMotion.between(before, root)
        self._filters = [make() for name, make in ROOT_FILTERS.items() if name not in self._options.without]
        self._goal = GoalInput(goal, self.scenery)
        last = self._records[-1]
        self._pose[FRAME.joint_position] = points_to_root(last[1], root).ravel()
        self._pose[FRAME.joint_rotation] = last[2].ravel()
        self._pose[FRAME.joint_velocity] = vectors_to_root(self.velocities, root).ravel()
        self._future_place, self._future_facing = places, facings
        self._future_action = np.tile(self.action, (FUTURE, 1))
        self._stayed = round(FPS)
        self.seam()

    def seam(self) -> None:
        """From the next frame on the other network predicts."""
        self._seams.append(self.frame)

    @property
    def seams(self) -> tuple[int, ...]:
        """Frames at which the other network took over."""
        return tuple(self._seams)

    @property
    def velocities(self) -> Array:
        """Velocities (J, 3) in m/s of the joints in the world in the last frame."""
        if len(self._records) < 2:
            return np.zeros((JOINTS, 3))
        out: Array = (self._records[-1][1] - self._records[-2][1]) * FPS
        return out

    @property
    def past(self) -> tuple[Array, Array]:
        """Roots (N, 4) and action labels (N, 7) of the last second and now, in order."""
        return np.array(self._history[-1 - _PAST :]), np.array(self._actions[-1 - _PAST :])

    @property
    def foreseen(self) -> tuple[Array, Array]:
        """Places (FUTURE, 2) and facing angles (FUTURE,) where the root is predicted to be."""
        return self._future_place, self._future_facing

    def fork(self) -> SceneCharacter:
        """A copy that goes on from here on its own; what was is shared."""
        out = copy.copy(self)
        out.network = self.network.fork()
        out.scenery = self.scenery.fork()
        out._goal = self._goal.fork(out.scenery)
        out._filters = [one.fork() for one in self._filters]
        out._pose = self._pose.copy()
        out._history, out._actions, out._records = list(self._history), list(self._actions), list(self._records)
        out._steps, out._seams = list(self._steps), list(self._seams)
        return out

    @property
    def places(self) -> Array:
        """Joint places (J, 3) in the world in the last frame."""
        return self._records[-1][1] if self._records else self._world_places()

    @property
    def rotations(self) -> Array:
        """World rotations (J, 4) in the last frame; there must be one."""
        if self._turned is None or self._turned[0] is not self._records[-1]:
            root, axes = self._records[-1][0], self._records[-1][2]
            self._turned = self._records[-1], rotations_to_world(rotations_of(axes), root)
        return self._turned[1]

    @property
    def contacts(self) -> Array:
        """Contact labels (5,) of models.nsm.CONTACTS in the last frame."""
        return self._records[-1][4] if self._records else np.zeros(len(CONTACTS))

    @property
    def speed(self) -> float:
        """m/s of the root over the ground, over the last sixth of a second."""
        span = min(SAMPLE_FRAMES, len(self._history) - 1)
        return float(np.linalg.norm(self.root[:2] - self._history[-1 - span][:2])) * FPS / span

    def _sensed(self) -> Array:
        sensor = self._environment
        if not self._options.environment:
            return np.zeros(ENVIRONMENT.size, dtype=np.float32)
        middle = self.root[:3] + np.array([0.0, 0.0, sensor.height / 2])
        reach = float(np.hypot(sensor.radius, sensor.height / 2)) + sensor.sphere
        near = self.scenery.near(self.frame, middle, reach)
        views = dict[tuple[tuple[str, float] | None, str], float]()
        for goal, _, share in self._goal.shares(self.frame):
            top = goal.top if isinstance(goal, Reach) else None
            view = top, goal.thing if goal.pose is not None else ""
            views[view] = views.get(view, 0.0) + share
        out = np.zeros(ENVIRONMENT.size, dtype=np.float32)
        for (top, held), share in views.items():
            # The network, which knows few shelves, takes their sides and the boards above for a place near the floor.
            seen = near if top is None else near.below(top[0], top[1] + _BELOW)
            # What is put down is thought of at its place. In the hands it would tell where these are: a network that
            # learned to follow it in recordings holds it where it is, once it goes with the hands.
            seen = seen.without([held]) if held else seen
            out += np.float32(share) * sensor.values(seen, self.root)
        return out

    def _world_places(self) -> Array:
        return points_to_world(self._pose[FRAME.joint_position].reshape(JOINTS, 3).astype(float), self.root)

    def _frame_input(self) -> Array:
        x = self._pose
        past = np.array([self._history[i] for i in WINDOW[:CURRENT] - 1])
        place = np.concatenate((past[:, :2], self.root[None, :2], self._future_place))
        facing = np.concatenate((past[:, 3], self.root[3:], self._future_facing))
        x[FRAME.trajectory_position] = places_to_root(place, self.root).ravel()
        x[FRAME.trajectory_direction] = direction(facing - self.root[3]).ravel()
        actions = np.array([self._actions[i] for i in WINDOW[: CURRENT + 1] - 1])
        x[FRAME.trajectory_action] = np.concatenate((actions, self._future_action)).ravel()
        return x

    def _advance(self, y: Array, samples: Samples) -> None:
        before = self.root
        proposal, pull, turn = predicted(y, before), np.zeros(2), 0.0
        if self._options.bidirectional:
            proposal, pull, turn = bidirectional(y, proposal, samples)
        state = RootState(self.frame, before, self._motion, self.goal, samples, self.scenery, pull, turn)
        for each in self._filters:
            proposal = each.apply(state, proposal)
        root = proposal.root
        root[2] = self.scenery.ground(self.frame, root[None, :2], self._floor)[0]
        self._motion = RootMotion.between(before, root)
        self.root, self._future_place, self._future_facing = root, proposal.places, proposal.facings
        actions = np.clip(y[OUTPUT.trajectory_action].reshape(FUTURE + 1, -1), 0, 1)
        if ACTION_LABELS not in self._options.without:
            actions = only_asked(actions, self.action, self.goal, root)
        self._future_action = actions[1:]
        self._history.append(root)
        self._actions.append(actions[0])
        self.phase = self._next_phase(y)
        self._set_pose(y, before)

    def _next_phase(self, y: Array) -> float:
        """The phase in radians after an output: in a seat it rests at 2 pi, at which sitting down has ended (5.1).

        There no foot strikes, and a phase that goes on is a clock by which the network plays its few recordings of
        people in seats again every second: the head rocks.
        """
        phase = self.phase + max(float(y[OUTPUT.phase_change][0]), 0.0) * DT
        if min(self.action[_SIT], y[OUTPUT.contact][_SEAT]) > SITS and SEATED_PHASE not in self._options.without:
            return min(phase, 2 * np.pi)
        return phase % (2 * np.pi)

    def _idles(self) -> float:
        """How far the character stands and idles: 0..1."""
        return float(self.action[_IDLE]) * max(1 - self.speed / STANDS, 0.0)

    def _set_pose(self, y: Array, before: Array) -> None:
        if self._options.bidirectional:
            speed = velocities(y, self.root, self._future_place[-1], self._future_facing[-1])
        else:
            speed = piece(y, "joint_velocity")
        last = self._pose[FRAME.joint_position].reshape(JOINTS, 3)
        self._pose[FRAME.joint_position] = next_positions(y, speed, last, before, self.root).ravel()
        self._pose[FRAME.joint_rotation] = y[OUTPUT.joint_rotation]
        self._stayed = self._stayed + 1 if isinstance(self.goal, Stay) and not self.goal.thing else 0
        if self._stayed and HANGING_ARMS not in self._options.without:
            share = HANGING * self._idles() * float(smoothstep(np.array(self._stayed / FPS)))
            for part in (FRAME.joint_position, FRAME.joint_rotation):
                pose, hanging = (values[part].reshape(JOINTS, -1) for values in (self._pose, self._standing))
                pose[_ARMS] += share * (hanging[_ARMS] - pose[_ARMS])
        self._pose[FRAME.joint_velocity] = speed.ravel()

    def _record(self, y: Array) -> None:
        places = self._world_places()
        axes = y[OUTPUT.joint_rotation].reshape(JOINTS, 2, 3).astype(float)
        contacts = np.clip(y[OUTPUT.contact], 0, 1)
        self._records.append((self.root, places, axes, self.action, contacts, np.array(self.phase), self.network.omega))
        if self._steps:
            self._steps.append(_NO_STEPS)

    def record(self) -> SceneRecord:
        """All steps so far."""
        return finished(self.recording())

    def recording(self) -> Stepwise[SceneRecord]:
        """`record` in pieces."""
        columns = []
        for column in zip(*self._records, strict=True):
            columns.append(np.array(column))
            yield
        root, places, axes, *others = columns
        rotations = yield from by_frames(lambda axes, root: rotations_to_world(rotations_of(axes), root), axes, root)
        if self._seams:
            yield
            if self.glides:
                # First, as the ground of the one network ends in a step at a seam.
                smooth = gliding(root)
                root, places = smooth, places + (smooth - root)[:, None, :3]
            places, rotations = without_jumps(root, places, rotations, self._seams)
        record = SceneRecord(root, places, rotations, *others)
        return replace(record, steps=np.array(self._steps)) if self._steps else record


def predicted(y: Array, root: Array) -> Proposal:
    """Where the network itself proposes that a root (4,) goes: its output (OUTPUT.size,) is in the root's frame."""
    new = next_root(y, root)
    return Proposal(new, *future(y, new))


def bidirectional(y: Array, proposal: Proposal, goal: Samples) -> tuple[Proposal, Array, float]:
    """The future trajectory blended with the one predicted in the goals' frames, see `feedback.bidirectional` (4.2).

    Returns the proposal, and by how much the blend moves the last place, (2,) meters, and facing, radians.
    """
    at, facing = goal.place[-FUTURE:, :2], goal.facing[-FUTURE:]
    places, facings = feedback.bidirectional(y, proposal.places, proposal.facings, at, facing)
    turn = float(wrap_angle(facings[-1] - proposal.facings[-1]))
    return Proposal(proposal.root, places, facings), places[-1] - proposal.places[-1], turn
