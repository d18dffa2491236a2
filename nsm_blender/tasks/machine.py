# SPDX-License-Identifier: GPL-3.0-or-later
"""The task machine: carries out the keys of a shot one after the other, whatever the actions and the network are."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from enum import Enum, auto
from typing import Any, Generic, TypeVar

import numpy as np

from ..cleanup.seating import Seating
from ..errors import RouteError
from ..geometry.roles import Handles
from ..models.nsm import FPS
from ..motion.rotations import Array, wrap_angle
from ..planning.path_planner import Leg, Planner
from ..planning.scene_planner import ScenePlanner, is_free, leg_from
from ..planning.speed_profile import Walker
from ..planning.takes import Take
from ..planning.trajectory import LEAST_STEP
from ..rollout.goal_spec import Reach
from ..shot.goals import ActionKey
from ..shot.shot import Shot
from .actor import Actor
from .clock import KeyClock
from .outcome import UNFINISHED, Outcome
from .protocol import SETTLED, Completion, Held, Posture, Task
from .registry import task_of
from .timing import Plan, plan

AT_HAND = 1.2
"""Meters from a goal within which no way to it is looked for, and within which the character goes straight back to
where a way ended, before a thing that was used or was to be."""
NEAR = 1.8
"""Meters of way left at which the goal itself is asked for: the network was trained on such approaches."""
HOVERS = 0.7
"""Seconds without getting nearer after which a character that is nearly there counts as arrived."""
GETS_ON = 0.1
"""Meters by which the character must come nearer to the end of the way to count as making progress."""
PATIENCE = 4.0
"""Seconds after which a stop or a turn is taken as it is, and a character without progress counts as stuck."""
LONGEST = 15.0
"""Seconds after which an action with a thing counts as failed."""
SECOND_TRIES = 1
"""Number of times that the character tries again after a failure: of four put-downs that fail without, two are done."""
PAUSE = 0.8
"""Seconds that the character stands before it tries again."""
WAITING = 1.5
"""Seconds that the character waits before something that moves until another way is looked for."""
REACHED = 0.1
"""Meters from the end of its way within which a character has arrived, for a key that says when: it has then come to a
stop but for the weight that settles."""
ENDING = 0.3
"""Meters of way left from which it is looked whether the character has arrived: a way may pass by its own end."""


class Stage(Enum):
    """What is done about the present key."""

    WAIT = auto()
    TURN = auto()
    GO = auto()
    DO = auto()
    SETTLE = auto()
    HOLD = auto()
    PAUSE = auto()


A = TypeVar("A", bound=Actor)


class TaskMachine(Generic[A]):
    """Drives an actor through the keys of a shot; `outcomes` tells, key by key, what became of them.

    seatings: what the clean-up is told of postures. clock: tells the time, which keys may warp that say when to arrive.
    """

    def __init__(self, shot: Shot, actor: A) -> None:
        self.actor = actor
        self.number = 0
        self.seatings: list[Seating] = []
        self.clock = KeyClock(shot.fps)
        self._posture: Posture | None = None
        self._left: Posture | None = None
        self._stage = Stage.WAIT
        self._since = self._still = self._waits_since = 0
        self._nearest, self._got_on = math.inf, 0
        self._tries = 0
        self._jumped = False
        self._foot: Array | None = None
        self._came: Array | None = None
        self._leg: Leg | None = None
        self._walker: Walker | None = None
        self._aim: Reach | None = None
        self._completion: Completion | None = None
        self.outcomes: list[Outcome] = []
        self._play(shot)

    def _play(self, shot: Shot) -> None:
        self._shot = shot
        self._planners, self._take = ScenePlanner(shot, self.actor.terrain), Take(shot.seed)
        self._things = {goal.name: goal.collider for goal in shot.goals}
        fresh = [Outcome(key.action, key.goal) for key in shot.keys]
        self.outcomes = [*self.outcomes[: self.number], *fresh[self.number :]]

    def fork(self, actor: A | None = None) -> TaskMachine[A]:
        """A copy of the machine that goes on from here on its own. actor: a copy of its actor, made here without."""
        out = copy.copy(self)
        out.actor = self.actor.fork() if actor is None else actor
        out.clock = copy.copy(self.clock)
        out.outcomes = [replace(outcome) for outcome in self.outcomes]
        out.seatings = list(self.seatings)
        return out

    def resumed(self, shot: Shot) -> TaskMachine[A]:
        """A copy of the machine that goes on from here with the keys of a shot that differs only in keys not begun."""
        out = self.fork()
        out._play(shot)
        return out

    def advance(self) -> None:
        """On to the next stage or key, in a frame in which it is time.

        A key begins a frame after the one before it was done: there a bake can be taken up again.
        """
        if self.number == len(self.outcomes):
            self._wait()
        self.clock.watch(self.number, self.actor.frame)
        while self.number < len(self.outcomes) and self._advance() and not self.between_keys:
            pass

    @property
    def between_keys(self) -> bool:
        """Whether the next key is not begun: from here a bake can be taken up again."""
        return self._stage is Stage.WAIT

    def report(self) -> list[dict[str, Any]]:
        """The outcomes as JSON's plain data, for a shot that ends here."""
        for number, outcome in enumerate(self.outcomes[self.number :]):
            if number == 0 and outcome.set_off is not None and outcome.error_cm is None and self._aim is None:
                self._measure()
            # A stay that the end of the shot cuts short was reached.
            if number or self._stage is not Stage.HOLD:
                outcome.trouble = outcome.trouble or UNFINISHED
        return [asdict(outcome) for outcome in self.outcomes]

    @property
    def _key(self) -> ActionKey:
        return self._shot.keys[self.number]

    @property
    def _task(self) -> Task:
        return task_of(self._key)

    @property
    def _outcome(self) -> Outcome:
        return self.outcomes[self.number]

    @property
    def _thing(self) -> str:
        """Name of the collider that the present key uses, ""."""
        return self._things.get(self._key.goal, "")

    @property
    def is_timed(self) -> bool:
        """Whether the present key says when to arrive."""
        return self.number < len(self.outcomes) and self._key.is_timed

    @property
    def _at(self) -> float:
        """The moment in frames of the shot."""
        return self.clock.shown(self.actor.frame)

    @property
    def _frame(self) -> int:
        """The moment as a frame of the shot."""
        return math.ceil(self._at - 1e-6)

    @property
    def _place(self) -> Array:
        return np.array(self.actor.root[:2])

    @property
    def _held(self) -> Held | None:
        return None if self.actor.hands is None else Held.of(self.actor.hands.holding, self.actor.scenery)

    def _passed(self, since: int) -> float:
        """Seconds since a frame of the rollout."""
        return (self.actor.frame - since) / FPS

    def _enter(self, stage: Stage) -> bool:
        now = self.actor.frame
        self._stage, self._since, self._still, self._waits_since = stage, now, now, now
        self._nearest, self._got_on = math.inf, now
        return True

    def _advance(self) -> bool:
        """Whether the present stage ended."""
        match self._stage:
            case Stage.WAIT:
                return self._set_off()
            case Stage.TURN:
                return self._turn()
            case Stage.GO:
                return self._go()
            case Stage.DO:
                return self._do()
            case Stage.SETTLE:
                return self._settle()
            case Stage.PAUSE:
                return self._passed(self._since) >= PAUSE and self._start()
            case Stage.HOLD:
                return self._passed(self._since) >= self._key.hold and self._finish()

    def _set_off(self) -> bool:
        key, clock = self._key, self.clock
        if key.is_timed and clock.plan is None and (key.start is None or self._at >= key.start - 1e-6):
            clock.begin(self._planned(), self.actor.frame)
        start = key.start if clock.plan is None else math.ceil(clock.plan.set_off - 1e-6)
        if start is not None and self._at < start - 1e-6:
            self._wait()
            return False
        clock.set_off(self.actor.frame)
        self._outcome.asked = None if clock.plan is None else round(clock.plan.arrive)
        self._outcome.set_off = self._frame
        self._outcome.late = 0 if key.start is None else self._frame - key.start
        self._tries, self._aim, self._jumped = 0, None, False
        self.actor.begin(key)
        return self._start() if self._task.has_way(self._key) else self._stay()

    def _planned(self) -> Plan | None:
        """When the present key sets off, how fast and in which gait it goes; None where there is no way."""
        key, task, actor = self._key, self._task, self.actor
        planners = self._planners.planners(actor.scenery, actor.frame, actor.load)
        try:
            leg = self._found(planners)
        except RouteError:
            return None
        rising = 0.0 if self._posture is None else self._posture.seconds
        facing = float(actor.root[3])
        return plan(planners[0], task, key, leg, facing, self._at, actor.limits, rising, self.clock.lead)

    def _found(self, planners: Sequence[Planner]) -> Leg:
        """The leg of the present key from where the character is. Raises RouteError."""
        key, task, place, at = self._key, self._task, self._place, self._at
        height = float(self.actor.root[2])
        return leg_from(place, self._starts(place), planners, lambda one: task.approach(one, key, at), key, at, height)

    def _walked(self, planner: Planner, leg: Leg) -> Walker:
        """The walker of a leg of the present key, in time where the key says when to arrive."""
        key, planned = self._key, self.clock.plan
        gait, speed = (self._task.gait(key), key.speed) if planned is None else (planned.gait, planned.speed)
        walker = planner.walker(leg.route, gait, speed, float(self.actor.root[3]))
        walker.tempo = self._take.tempo(self.number)
        self.clock.pace(walker, self.actor.limits)
        return walker

    def _is_there(self) -> bool:
        """Whether the character is at the end of its way."""
        place = None if self._task.jumps and not self._jumped else self._outcome.place
        return place is not None and math.hypot(*(self._place - place)) < REACHED

    def _reach(self, frame: int) -> None:
        """The character has arrived at a frame of the rollout."""
        reached = self.clock.reach(self.number, frame)
        if reached is not None:
            self._outcome.set_off, self._outcome.arrived = reached
            self.actor.scenery.warp = self.clock.warp

    def _finish(self, trouble: str = "") -> bool:
        if trouble:
            self.clock.lose(self.number)
        self.clock.finish()
        self._outcome.trouble = trouble
        self._outcome.done = self._frame
        self._came = None if trouble or self._leg is None else self._leg.place
        if trouble and self._posture is None:
            self.actor.stand(self._place, None)
        self.number += 1
        return self._enter(Stage.WAIT)

    def _stay(self) -> bool:
        """Without a way: in the posture that the character is in, or standing and turned as asked."""
        if self._posture is not None:
            self._outcome.arrived = self._frame
            return self._enter(Stage.HOLD)
        self._outcome.facing = self._task.facing(self._planners.still, self._key, self._place, self._at)
        self.actor.face(self._outcome.facing)
        return self._enter(Stage.SETTLE)

    def _rest(self) -> None:
        """Want no more of a thing that was used, but stay in its posture."""
        if self._posture is None:
            self.actor.rest()

    def _wait(self) -> None:
        """Nothing is asked for: stay in the posture, or stand."""
        if self._posture is None:
            self.actor.wait()

    def _start(self, again: bool = False) -> bool:
        """Find the way from where the character is, and go; a key without a way is done at once, with the reason.
        again: it waits on its way, and waits on where there is no other."""
        key, task, actor, place = self._key, self._task, self.actor, self._place
        if task.is_done(actor.hands, self._thing, actor.root, actor.scenery, actor.frame):
            self._outcome.arrived = self._frame
            self._rest()
            return self._enter(Stage.HOLD)
        planners = self._planners.planners(actor.scenery, actor.frame, actor.load)
        try:
            if task.interacts:
                if trouble := task.hands_trouble("" if actor.load is None else actor.load.name):
                    raise RouteError(trouble)
                aim = self._aimed(task.approach(planners[-1], key, self._at).sides[0][0].handles, place)
                near = np.linalg.norm(aim.place[:2] - place) < AT_HAND
                # A second try begins where the character stands before the thing.
                at_once = near and task.at_once and not self._tries and self._posture is None
                if at_once and task.in_sector(aim, place) and self._is_free(task.stand_before(aim)):
                    return self._approach()
            leg = self._found(planners)
            if task.interacts:
                # The character stands on another side than it came from, or the thing is taken from another.
                self._aimed(leg.handles, leg.place, from_stand=True)
        except RouteError as error:
            return not again and self._finish(str(error))
        self._leg = leg
        if self._aim is None:
            self._outcome.place, self._outcome.facing = leg.place.tolist(), leg.facing
        if leg.route.length < actor.near_end:
            return self._arrive() if self._aim is None else self._approach()
        self._leave()
        self._foot = self._foot if leg.foot is None else leg.foot
        self._walker = self._walked(planners[0], leg)
        if actor.turn_first(self._walker):
            return self._enter(Stage.TURN)
        self._set_out()
        return self._enter(Stage.GO)

    def _aimed(self, handles: Handles | None, place: Array, from_stand: bool = False) -> Reach:
        """What to ask the network for near the thing, of a character that comes from a place (2,) and uses it by these
        handles. from_stand: the place is where its way to the thing ends."""
        actor = self.actor
        thing = actor.scenery.collider(self._thing)
        pose, root = actor.scenery.pose(thing.name, actor.frame), np.array([*place, *actor.root[2:]])
        self._aim = self._task.aim(self._key, thing, pose, handles, root, self._held, from_stand)
        self._outcome.place, self._outcome.facing = self._aim.place[:2].tolist(), self._aim.facing
        return self._aim

    def _starts(self, place: Array) -> Sequence[Array]:
        """Places (2,) from which the way may lead, best first: where the character is, or to which it first goes from
        its posture, down from a height, or back from where there is no room."""
        ends = (self._came, None if self._leg is None else self._leg.place)
        came = [end for end in ends if end is not None and np.linalg.norm(end - place) < AT_HAND]
        if self._posture is not None:
            return [self._posture.exit, *came]
        if self.actor.is_high and self._foot is not None:
            return [self._foot]
        return [place, *came]

    def _leave(self) -> None:
        """Leave the posture that the character is in."""
        if self._posture is not None:
            self.seatings[-1] = replace(self.seatings[-1], left=self.actor.frame)
            self._left, self._posture = self._posture, None

    def _turn(self) -> bool:
        """Turning to the way first."""
        if not self.actor.has_turned() and self._passed(self._since) < PATIENCE:
            return False
        self._set_out()
        return self._enter(Stage.GO)

    def _set_out(self) -> None:
        """Walk, with what is in the hands."""
        assert self._walker is not None and self._leg is not None
        rises = bool(self.seatings) and self.seatings[-1].left == self.actor.frame
        left = self._left if rises else None
        planned = self.clock.plan
        runs = self._task.runs(self._key) if planned is None else planned.gait == "jog"
        self.actor.walk(self._walker, runs, left, self._leg.door)

    def _go(self) -> bool:
        """On the way: there, near enough to use the thing, held up, or stuck."""
        actor, left = self.actor, self.actor.walker.left
        self.clock.keep(actor.frame)
        if self._aim is None and left < ENDING and self._is_there():
            self._reach(actor.frame)
        if self._aim is None and (left <= actor.near_end or self.clock.has_reached(HOVERS, actor.frame)):
            return self._arrive()
        if not actor.waits():
            self._waits_since = actor.frame
        elif self._passed(self._waits_since) > WAITING and not self._key.route:
            self._waits_since = actor.frame
            return self._start(again=True)
        else:
            self._got_on = actor.frame
        if self._aim is not None and (left <= actor.near_end or (left <= NEAR and self._in_reach(self._aim))):
            return self._approach()
        if left < self._nearest - GETS_ON:
            self._nearest, self._got_on = left, actor.frame
        stands = self._passed(self._got_on)
        if stands > HOVERS and self._aim is None and left <= actor.nearly_there:
            return self._arrive()
        if stands > PATIENCE:
            what = f"{left:.1f} m short of '{self._thing or self._key.goal}'"
            return self._again(f"The character stopped {what}: something blocks the way. Move it, or draw a route.")
        return False

    def _in_reach(self, aim: Reach) -> bool:
        """Whether the network can be left to come to the thing of an aim from here."""
        assert self._leg is not None
        # A character that still looks away from the way there would go backwards in a wide bend.
        ahead = not self._tries and self.actor.looks_ahead()
        free = self._is_free(self._leg.place) and self._is_free(self._task.stand_before(aim))
        return ahead and free and self._task.in_sector(aim, self._place)

    def _is_free(self, end: Array) -> bool:
        """Whether nothing but what the hands are at is on the straight way to a place (2,)."""
        assert self._aim is not None
        return is_free(self.actor.root, end, self.actor.scenery, self.actor.frame, self._aim.thing)

    def _arrive(self) -> bool:
        """At the end of a way, where nothing but standing is asked for."""
        assert self._leg is not None
        if not self.clock.has_reached(0.0, self.actor.frame):
            self._outcome.arrived = self._frame
        if not self._task.stops:
            self._reach(self.actor.frame)
            if self._key.hold == 0:
                return self._finish()
        faces = self._task.turns or self._key.facing is not None
        self.actor.stand(self._leg.place, self._leg.facing if faces else None)
        return self._enter(Stage.SETTLE)

    def _approach(self) -> bool:
        """Near enough: the thing itself is asked for."""
        assert self._aim is not None
        self._leave()
        self.actor.use(self._aim)
        self._completion = self._task.begin(self.number, self._aim, self.actor.frame)
        return self._enter(Stage.DO)

    def _do(self) -> bool:
        """What is done with the thing; whether it is finished or has failed."""
        completion, actor = self._completion, self.actor
        assert completion is not None and self._aim is not None
        assert actor.character is not None and actor.hands is not None
        done = completion.done(actor.character, actor.hands)
        if completion.off is not None:
            self._outcome.note(100 * completion.off[0], completion.off[1])
        if done:
            return self._done(completion)
        if completion.released:
            self._rest()
        if not actor.is_still:
            self._got_on = actor.frame
        # With the thing taken or let go of, only the time of lifting is left to wait for.
        if completion.off is None and (self._passed(self._got_on) > PATIENCE or self._passed(self._since) > LONGEST):
            away = float(np.linalg.norm(actor.root[:2] - self._aim.place[:2]))
            what = f"The character could not {self._task.verb} '{self._thing}', {away:.1f} m from it"
            return self._again(f"{what}: make room before it, or set another approach side.")
        return False

    def _done(self, completion: Completion) -> bool:
        """The thing is used: stay so, or go on through it."""
        actor = self.actor
        assert self._aim is not None and actor.character is not None
        self._posture = completion.posture(actor.character, self._key)
        if self._posture is not None:
            self.seatings.append(self._posture.seating)
        self._outcome.arrived = self._frame
        if self._task.stops and completion.reached is not None:
            self._reach(completion.reached)
        if self._key.hold > 0:
            self._rest()
        leg = self._task.exit(self._aim, actor.root, actor.scenery)
        if leg is None:
            return self._enter(Stage.HOLD)
        self._leg, self._aim = leg, None
        self._outcome.place, self._outcome.facing = leg.place.tolist(), leg.facing
        planner = self._planners.planners(actor.scenery, actor.frame, actor.load)[0]
        self._walker = self._walked(planner, leg)
        self._set_out()
        return self._enter(Stage.GO)

    def _again(self, trouble: str) -> bool:
        """Stuck: look for another way, and give up the next time."""
        self._tries += 1
        if self._tries > SECOND_TRIES:
            return self._finish(trouble)
        self.actor.stand(self._place, None)
        return self._enter(Stage.PAUSE)

    def _settle(self) -> bool:
        """Standing still, turned as asked, or out of patience."""
        facing = self._outcome.facing
        turn = 0.0 if facing is None else float(wrap_angle(np.array(facing - self.actor.root[3])))
        jumps = self._task.jumps and not self._jumped
        # What is left of a turn before a jump is made in it.
        if not self.actor.is_still or abs(turn) > (LEAST_STEP if jumps else self.actor.turned):
            self._still = self.actor.frame
        if self._is_there():
            self._reach(self.actor.frame)
        if self._passed(self._still) < SETTLED and self._passed(self._since) < PATIENCE:
            return False
        if jumps:
            return self._jump()
        self._reach(self._since)
        if self._outcome.arrived is None:
            self._outcome.arrived = self._frame
        self._measure()
        return self._enter(Stage.HOLD)

    def _jump(self) -> bool:
        """Standing still: jump on the spot or to the goal, and stand there."""
        self._jumped, out = True, self._outcome
        landing = self._task.landing(self._planners.still, self._key, self._at)
        if landing is not None:
            out.place, out.facing = landing[0][:2].tolist(), landing[1]
            out.arrived, self._leg = None, None
        self.actor.jump(None if landing is None else landing[0], out.facing)
        return self._enter(Stage.SETTLE)

    def _measure(self) -> None:
        out, root = self._outcome, self.actor.root
        away = None if out.place is None else 100 * math.hypot(*(root[:2] - out.place))
        if away is not None and self._leg is not None and self.actor.terrain is not None:
            away = math.hypot(away, 100 * (self._leg.height - float(root[2])))
        self._outcome.note(away, None if out.facing is None else out.facing - root[3])
